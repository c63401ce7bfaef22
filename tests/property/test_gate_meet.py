"""The meet of two policies is what both allow, in whatever order they are met."""

from __future__ import annotations

from collections.abc import Mapping

from fakes.gate_room import make_tool
from hypothesis import given
from hypothesis import strategies as st

from geode.delegation import DELEGATE_TASK
from geode.gate.meet import Share, meet, project_child, share_of, share_of_plan
from geode.gate.policy import ALWAYS_REMOVED, Allow, Deny, decide, project_plan
from geode.messages import UNATTENDED, Mode, SessionId, TurnId
from geode.settings import Profile
from geode.steps import BoundToolPlan, Effect, ToolContext

NAMES = [*sorted(ALWAYS_REMOVED[Mode.SCHEDULER]), "read_file", "write_file", "a", "b"]
names = st.frozensets(st.sampled_from(NAMES))
LEVELS = ("none", "ask", "by_effect", "granted")


@st.composite
def shares(draw: st.DrawFn) -> Share:
    grants_all = draw(st.booleans())
    known = LEVELS[1:] if grants_all else LEVELS
    levels = draw(st.dictionaries(st.sampled_from(NAMES), st.sampled_from(known)))
    return Share(
        tools=_at(levels, "granted"),
        ask=_at(levels, "ask"),
        # What a share grants by effect anyway is not named once more.
        by_effect=frozenset() if grants_all else _at(levels, "by_effect"),
        grants_all=grants_all,
        is_unattended=draw(st.booleans()),
        cost_micro_usd_max=draw(st.none() | st.integers(0, 9)),
    )


def _at(levels: Mapping[str, str], level: str) -> frozenset[str]:
    return frozenset(name for name, at in levels.items() if at == level)


def level(share: Share, name: str) -> int:
    if name in share.ask:
        return 1
    if name in share.tools:
        return 3
    return 2 if name in share.by_effect or share.grants_all else 0


catalogues = st.lists(
    st.builds(
        lambda name, effect, approval, modes: (
            make_tool(name, effect, approval=approval, modes=modes).tool
        ),
        st.sampled_from([*NAMES, "unnamed"]),
        st.sampled_from(Effect),
        st.sampled_from(["none", "ask"]),
        st.sets(st.sampled_from(Mode)),
    ),
    max_size=8,
)
profiles = st.builds(
    lambda granted, asking, everything: Profile("p", granted, asking - granted, everything),
    names,
    names,
    st.booleans(),
)


@given(shares(), shares())
def test_meet_does_not_depend_on_the_order(one: Share, other: Share) -> None:
    assert meet(one, other) == meet(other, one)


@given(shares(), shares(), shares())
def test_meet_of_three_does_not_depend_on_the_grouping(a: Share, b: Share, c: Share) -> None:
    assert meet(meet(a, b), c) == meet(a, meet(b, c))


@given(shares())
def test_meet_with_itself_changes_nothing(one: Share) -> None:
    assert meet(one, one) == one


@given(shares(), shares())
def test_meet_is_never_larger_than_either(one: Share, other: Share) -> None:
    both = meet(one, other)

    for name in [*NAMES, "unnamed"]:
        assert level(both, name) == min(level(one, name), level(other, name))
    for each in (one, other):
        assert both.is_unattended >= each.is_unattended
        cap, own = both.cost_micro_usd_max, each.cost_micro_usd_max
        assert own is None or (cap is not None and cap <= own)


def allowed(plan: BoundToolPlan) -> set[str]:
    context = ToolContext(SessionId("s"), TurnId("t"), 1, 0, 1, plan.mode, "b", "m")
    answers = {tool.name: decide(plan, tool, context) for tool in plan.tools}
    assert all(isinstance(answer, Allow | Deny) for answer in answers.values())
    return {name for name, answer in answers.items() if isinstance(answer, Allow)}


@given(catalogues, st.sampled_from([Mode.REPL, Mode.IPC]), profiles, profiles)
def test_child_never_has_a_tool_that_its_parent_or_its_own_policy_lacks(
    catalogue: list, mode: Mode, of_parent: Profile, own: Profile
) -> None:
    parent = project_plan(catalogue, mode, of_parent)
    child = project_child(parent, share_of(own, is_unattended=True), {DELEGATE_TASK})

    assert child.mode in UNATTENDED
    assert DELEGATE_TASK not in child.by_name
    assert set(child.by_name) <= set(parent.by_name) - ALWAYS_REMOVED[child.mode]
    for name, tool in child.by_name.items():
        assert tool is parent.by_name[name]
        assert own.grants_all or name in own.tools | own.ask
    free = share_of_plan(parent).tools
    assert allowed(child) <= free
    assert set(parent.removed).isdisjoint(child.by_name)
