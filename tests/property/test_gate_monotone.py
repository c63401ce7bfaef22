"""Whatever is granted: a plan can only shrink with its grants, and a mode's removals are final."""

from __future__ import annotations

from fakes.gate_room import make_tool
from hypothesis import given
from hypothesis import strategies as st

from geode.gate.policy import ALWAYS_REMOVED, Allow, decide, project_plan
from geode.messages import UNATTENDED, Mode, SessionId, TurnId
from geode.settings import Profile
from geode.steps import Effect, Tool, ToolContext

NAMES = [
    "read_file",
    "write_file",
    "run_bash",
    "delegate_task",
    "computer",
    "schedule_job",
    "a",
    "b",
]

tools = st.lists(
    st.builds(
        lambda name, effect, approval, modes: (
            make_tool(name, effect, approval=approval, modes=modes).tool
        ),
        st.sampled_from(NAMES),
        st.sampled_from(Effect),
        st.sampled_from(["none", "ask"]),
        st.sets(st.sampled_from(Mode)),
    ),
    max_size=8,
)
names = st.frozensets(st.sampled_from(NAMES))
profiles = st.builds(
    lambda granted, asking, everything: Profile("p", granted, asking - granted, everything),
    names,
    names,
    st.booleans(),
)


def shrink(profile: Profile, kept: frozenset[str]) -> Profile:
    return Profile("smaller", profile.tools & kept, profile.ask & kept)


def allowed(catalogue: list[Tool], mode: Mode, profile: Profile | None) -> set[str]:
    plan = project_plan(catalogue, mode, profile)
    context = ToolContext(SessionId("s"), TurnId("t"), 1, 0, 1, mode, "b", "m")
    return {t.name for t in plan.tools if isinstance(decide(plan, t, context), Allow)}


@given(tools, st.sampled_from(Mode), profiles, names)
def test_smaller_profile_never_gives_a_larger_plan(
    catalogue: list[Tool], mode: Mode, profile: Profile, kept: frozenset[str]
) -> None:
    larger = project_plan(catalogue, mode, profile)
    smaller = project_plan(catalogue, mode, shrink(profile, kept))

    assert set(smaller.by_name) <= set(larger.by_name)
    assert allowed(catalogue, mode, shrink(profile, kept)) <= allowed(catalogue, mode, profile)


@given(tools, st.sampled_from(sorted(UNATTENDED)), profiles)
def test_unattended_plan_holds_only_what_is_named_and_nothing_the_mode_removes(
    catalogue: list[Tool], mode: Mode, profile: Profile
) -> None:
    plan = project_plan(catalogue, mode, profile)

    for tool in plan.tools:
        assert tool.name in profile.tools | profile.ask
        assert tool.name not in ALWAYS_REMOVED[mode]
        assert tool.policy.effect is not Effect.ADMINISTRATIVE
        assert mode in tool.policy.modes
    assert allowed(catalogue, mode, profile) <= profile.tools


@given(tools, st.sampled_from(Mode), profiles)
def test_every_tool_is_either_in_the_plan_or_removed_by_a_rule(
    catalogue: list[Tool], mode: Mode, profile: Profile
) -> None:
    plan = project_plan(catalogue, mode, profile)

    assert set(plan.by_name) | set(plan.removed) == {tool.name for tool in catalogue}
    assert not set(plan.by_name) & set(plan.removed)
    assert all(plan.removed.values())


@given(tools, st.sampled_from(Mode))
def test_missing_profile_allows_nothing(catalogue: list[Tool], mode: Mode) -> None:
    assert allowed(catalogue, mode, None) == set()


@given(tools, profiles)
def test_scheduler_and_headless_never_hold_more_than_the_chat_thread_of_equal_tools(
    catalogue: list[Tool], profile: Profile
) -> None:
    everywhere = [
        make_tool(tool.name, tool.policy.effect, approval=tool.policy.approval).tool
        for tool in catalogue
    ]
    daemon = set(project_plan(everywhere, Mode.DAEMON, profile).by_name)

    for mode in (Mode.SCHEDULER, Mode.HEADLESS):
        assert set(project_plan(everywhere, mode, profile).by_name) <= daemon
