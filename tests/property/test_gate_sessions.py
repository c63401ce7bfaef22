"""However a session begins, and whatever reloads and other servers' tools come first.

It has no more than its mode, its profile and its parent left it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from fakes.empty_database import lay_database
from fakes.gate_room import make_tool
from fakes.scripted_model import ScriptedModel
from fakes.spine_room import BINDING
from hypothesis import given, settings
from hypothesis import strategies as st

from geode.delegation import DELEGATE_TASK
from geode.gate.meet import project_child, share_of
from geode.gate.policy import ALWAYS_REMOVED, Allow, Ask, Deny, decide, find_tool
from geode.llm.routes import ModelRoute
from geode.messages import UNATTENDED, Mode, SessionId, TurnId
from geode.ports import NoFailpoints, SystemClock
from geode.session.assembly import build_services
from geode.session.services import SharedServices
from geode.settings import Binding, ProfileSettings, Settings
from geode.settings_load import Loaded
from geode.steps import Absence, BoundToolPlan, Effect, Tool, ToolContext
from geode.store.database import Store

SERVER = ["db__list", "db__drop", "db__admin"]
NAMES = ["read_file", "write_file", "run_bash", "web_fetch", "memory_save", DELEGATE_TASK, *SERVER]
GONE = Absence("mcp.down", "The server is away.")

server_tools = st.lists(
    st.builds(
        lambda name, effect, approval, modes: (
            make_tool(name, effect, approval=approval, modes=modes).tool
        ),
        st.sampled_from([*SERVER, "write_file"]),
        st.sampled_from(Effect),
        st.sampled_from(["none", "ask"]),
        st.sets(st.sampled_from(Mode)),
    ),
    max_size=4,
)
grants = st.frozensets(st.sampled_from(NAMES))


@dataclass
class ComingAndGoing:
    """A source like that of other servers: its tools change while the process runs."""

    tools: tuple[Tool, ...] = ()
    generation: int = 0
    absences: Mapping[str, Absence] = field(default_factory=dict)

    @property
    def names(self) -> Collection[str]:
        """All that it may ever offer."""
        return SERVER

    def offer(self, tools: Sequence[Tool]) -> None:
        """Other tools from now on; the rest is absent."""
        there = {tool.name for tool in tools}
        self.tools = tuple(tools)
        self.absences = {name: GONE for name in SERVER if name not in there}
        self.generation += 1


def settings_with(granted: frozenset[str], asking: frozenset[str]) -> Settings:
    """A configuration whose one profile grants that."""
    profile = ProfileSettings(tools=tuple(granted), ask=tuple(asking - granted))
    return Settings(
        bindings=(Binding.model_validate({**BINDING, "profile": "p"}),), profiles={"p": profile}
    )


def answers(plan: BoundToolPlan, approvers: Collection[str] = ()) -> dict[str, Allow | Ask | Deny]:
    """What each name comes to under a plan, of a tool that it has and of one that it lacks."""
    context = ToolContext(SessionId("s"), TurnId("t"), 1, 0, 1, plan.mode, "b", "m")
    found: dict[str, Allow | Ask | Deny] = {}
    for name in [*NAMES, "computer", "schedule_job"]:
        tool = find_tool(plan, name)
        found[name] = tool if isinstance(tool, Deny) else decide(plan, tool, context, approvers)
    return found


def assert_within(plan: BoundToolPlan, policy: Settings) -> None:
    """The plan holds nothing that its mode removes or its profile does not name."""
    profile = policy.profile("p")
    for name, answer in answers(plan).items():
        if isinstance(answer, Deny):
            continue
        tool = plan.by_name[name]
        assert name in profile.tools | profile.ask
        assert name not in ALWAYS_REMOVED[plan.mode]
        assert plan.mode in tool.policy.modes
        if plan.mode in UNATTENDED:
            assert isinstance(answer, Allow)
            assert name in profile.tools
            assert tool.policy.approval == "none"
            assert tool.policy.effect is not Effect.ADMINISTRATIVE
    asked = {name for name, answer in answers(plan, ["U1"]).items() if isinstance(answer, Ask)}
    assert asked.isdisjoint(ALWAYS_REMOVED[plan.mode])


def assert_child_within(services: SharedServices, parent: BoundToolPlan) -> None:
    """A child of a step with that plan, and what a child of it would have, only shrink."""
    share = share_of(services.settings.profile("p"), is_unattended=True)
    child = project_child(parent, share, {DELEGATE_TASK})
    grandchild = project_child(child, share, {DELEGATE_TASK})
    of_parent, of_child = answers(parent, ["U1"]), answers(child)
    for name, answer in of_child.items():
        if isinstance(answer, Allow):
            assert isinstance(of_parent[name], Allow)
            assert child.by_name[name] is parent.by_name[name]
    assert set(grandchild.by_name) <= set(child.by_name)
    assert DELEGATE_TASK not in child.by_name


async def start_sessions(
    folder: Path, steps: Sequence[tuple[frozenset[str], frozenset[str], Sequence[Tool] | None]]
) -> None:
    """Reload and change sources as the steps say, and begin every kind of session after each."""
    source = ComingAndGoing()
    source.offer(())
    lay_database(folder / "geode.db")
    store = Store.open(folder / "geode.db", SystemClock(), NoFailpoints())
    try:
        first = settings_with(frozenset(), frozenset())
        loaded = Loaded(first, {}, None, folder)
        route = ModelRoute(ScriptedModel(), "scripted/model", "model", 10_000, 1_000)
        services = build_services(store, loaded, route, NoFailpoints(), (source,))
        for granted, asking, offered in steps:
            services.follow(settings_with(granted, asking))
            if offered is not None:
                source.offer(offered)
            for mode in Mode:
                plan = services.plan_for(mode, services.settings.bindings[0])
                assert services.plan_for(mode, services.settings.bindings[0]) is plan
                assert_within(plan, services.settings)
                assert_child_within(services, plan)
                assert services.plan_for(mode, None).by_name == {}
                twice = "write_file" in {tool.name for tool in source.tools}
                assert not twice or "write_file" not in plan.by_name
    finally:
        await store.close()


@settings(max_examples=25)
@given(st.lists(st.tuples(grants, grants, st.none() | server_tools), min_size=1, max_size=4))
def test_no_session_has_more_than_its_mode_its_profile_and_its_parent_leave_it(
    steps: list[tuple[frozenset[str], frozenset[str], list[Tool] | None]],
) -> None:
    with TemporaryDirectory() as folder:
        asyncio.run(start_sessions(Path(folder), steps))
