"""The policy is deny by default, total, and names the rule of every answer."""

from __future__ import annotations

import pytest
from fakes.gate_room import Counted, make_tool

from geode.gate.policy import Allow, Ask, Deny, decide, find_tool, project_plan
from geode.messages import UNATTENDED, Mode, SessionId, TurnId
from geode.settings import BUILTIN_PROFILES, Profile
from geode.steps import Absence, BoundToolPlan, Effect, Tool, ToolContext

READ = make_tool("read_file")
WRITE = make_tool("write_file", Effect.MUTATE)
BASH = make_tool("run_bash", Effect.EXECUTE)
JOB = make_tool("schedule_job", Effect.MUTATE)
ADMIN = make_tool("admin_tool", Effect.ADMINISTRATIVE)
CATALOGUE = [counted.tool for counted in (READ, WRITE, BASH, JOB, ADMIN)]
EVERYTHING = Profile("everything", frozenset(tool.name for tool in CATALOGUE))
TERMINAL = BUILTIN_PROFILES["terminal"]


def context_in(mode: Mode) -> ToolContext:
    return ToolContext(SessionId("s"), TurnId("t"), 1, 0, 1, mode, "b", "m")


def names(plan: BoundToolPlan) -> list[str]:
    return [tool.name for tool in plan.tools]


@pytest.mark.parametrize(
    ("mode", "kept"),
    [
        (Mode.DAEMON, ["read_file", "write_file", "schedule_job"]),
        (Mode.SCHEDULER, ["read_file", "write_file"]),
        (Mode.HEADLESS, ["read_file", "write_file"]),
        (Mode.REPL, ["read_file", "write_file", "run_bash", "schedule_job", "admin_tool"]),
        (Mode.IPC, ["read_file", "write_file", "run_bash", "schedule_job", "admin_tool"]),
    ],
)
def test_plan_keeps_what_the_mode_leaves_even_when_everything_is_granted(
    mode: Mode, kept: list[str]
) -> None:
    plan = project_plan(CATALOGUE, mode, EVERYTHING)

    assert names(plan) == kept
    assert set(plan.removed) == {tool.name for tool in CATALOGUE} - set(kept)
    assert set(plan.removed.values()) <= {"mode.removed"}


REMOVED = {
    Mode.REPL: set[str](),
    Mode.IPC: set[str](),
    Mode.DAEMON: {"run_bash", "delegate_task", "computer"},
    Mode.SCHEDULER: {"run_bash", "delegate_task", "computer", "schedule_job"},
    Mode.HEADLESS: {"run_bash", "delegate_task", "computer", "schedule_job"},
}


@pytest.mark.parametrize("mode", sorted(Mode))
def test_each_mode_takes_out_its_tools_by_name_whatever_is_granted(mode: Mode) -> None:
    names_of_all = ("run_bash", "delegate_task", "computer", "schedule_job", "read_file")
    tools = [make_tool(name).tool for name in names_of_all]

    plan = project_plan(tools, mode, Profile("p", frozenset(names_of_all)))

    assert plan.removed == dict.fromkeys(REMOVED[mode], "mode.removed")
    assert set(names(plan)) == set(names_of_all) - REMOVED[mode]


@pytest.mark.parametrize("mode", sorted(Mode))
def test_plan_is_empty_without_a_profile(mode: Mode) -> None:
    plan = project_plan(CATALOGUE, mode, None)

    assert plan.tools == ()
    assert plan.removed["read_file"] == "policy.missing"


@pytest.mark.parametrize("mode", sorted(UNATTENDED))
def test_plan_is_empty_in_unattended_modes_when_the_profile_names_nothing(mode: Mode) -> None:
    assert project_plan(CATALOGUE, mode, TERMINAL).tools == ()


def test_default_profile_grants_reads_only() -> None:
    plan = project_plan(CATALOGUE, Mode.DAEMON, BUILTIN_PROFILES["default"])

    assert names(plan) == ["read_file"]
    assert plan.removed["write_file"] == "profile.not_granted"


def test_terminal_profile_asks_for_every_effect_and_for_no_read() -> None:
    plan = project_plan(CATALOGUE, Mode.REPL, TERMINAL)

    assert plan.asks == {"write_file", "run_bash", "schedule_job", "admin_tool"}


def test_tool_is_removed_when_its_own_policy_does_not_know_the_mode() -> None:
    lone = make_tool("read_file", modes=[Mode.REPL])

    plan = project_plan([lone.tool], Mode.DAEMON, EVERYTHING)

    assert plan.removed == {"read_file": "mode.unavailable"}


@pytest.mark.parametrize(
    ("tools", "rule"),
    [
        ([make_tool("a b")], "catalogue.invalid_name"),
        ([make_tool("reаd_file")], "catalogue.invalid_name"),
        ([make_tool("x"), make_tool("x")], "catalogue.name_twice"),
        ([make_tool("x", Effect.MUTATE, resources=None)], "catalogue.no_resources"),
    ],
    ids=["space", "confusable", "twice", "effect without resources"],
)
def test_wrongly_declared_tool_does_not_register(tools: list[Counted], rule: str) -> None:
    granted = Profile("all", frozenset(t.tool.name for t in tools))

    plan = project_plan([t.tool for t in tools], Mode.REPL, granted)

    assert plan.tools == ()
    assert plan.removed == {tools[0].tool.name: rule}


def test_granted_call_is_allowed() -> None:
    plan = project_plan(CATALOGUE, Mode.DAEMON, EVERYTHING)

    assert decide(plan, WRITE.tool, context_in(Mode.DAEMON)) == Allow("profile.granted")


@pytest.mark.parametrize("mode", sorted(UNATTENDED))
def test_ask_is_denied_at_once_where_nobody_can_answer(mode: Mode) -> None:
    plan = project_plan(CATALOGUE, mode, Profile("p", frozenset(), frozenset({"write_file"})))

    verdict = decide(plan, WRITE.tool, context_in(mode))

    assert isinstance(verdict, Deny)
    assert verdict.rule == "ask.no_approver"


def test_ask_stays_a_question_when_approvers_are_named_or_a_person_sits_there() -> None:
    asking = Profile("p", frozenset(), frozenset({"write_file"}))
    daemon = project_plan(CATALOGUE, Mode.DAEMON, asking)
    terminal = project_plan(CATALOGUE, Mode.REPL, TERMINAL)

    assert decide(daemon, WRITE.tool, context_in(Mode.DAEMON), ("U1",)) == Ask("policy.ask")
    assert decide(terminal, WRITE.tool, context_in(Mode.REPL)) == Ask("policy.ask")


def test_tool_that_asks_by_its_own_policy_is_never_just_allowed() -> None:
    asking = make_tool("read_file", approval="ask")
    plan = project_plan([asking.tool], Mode.DAEMON, EVERYTHING)

    assert isinstance(decide(plan, asking.tool, context_in(Mode.DAEMON)), Deny)


def test_plan_of_another_mode_is_denied() -> None:
    plan = project_plan(CATALOGUE, Mode.REPL, EVERYTHING)

    verdict = decide(plan, BASH.tool, context_in(Mode.DAEMON))

    assert isinstance(verdict, Deny)
    assert verdict.rule == "policy.mode_mismatch"


def test_tool_object_from_outside_the_plan_is_denied() -> None:
    plan = project_plan(CATALOGUE, Mode.DAEMON, EVERYTHING)
    lookalike: Tool = make_tool("read_file").tool

    verdict = decide(plan, lookalike, context_in(Mode.DAEMON))

    assert isinstance(verdict, Deny)
    assert verdict.rule == "policy.not_in_plan"


@pytest.mark.parametrize("name", ["READ_FILE", "read_file ", "read-file", "", "read_file\u200b"])
def test_only_the_exact_name_finds_a_tool(name: str) -> None:
    plan = project_plan(CATALOGUE, Mode.DAEMON, EVERYTHING)

    found = find_tool(plan, name)

    assert isinstance(found, Deny)
    assert found.rule == "scope.unknown_tool"
    assert "read_file" in found.sentence


def test_removed_tool_is_explained_in_words_a_person_understands() -> None:
    plan = project_plan(CATALOGUE, Mode.DAEMON, EVERYTHING)

    found = find_tool(plan, "run_bash")

    assert isinstance(found, Deny)
    assert found.rule == "mode.removed"
    assert "run_bash is not available in a chat thread" in found.sentence
    assert "no setting grants it" in found.sentence


def test_unknown_name_with_a_lone_surrogate_gives_a_sentence_that_can_be_stored() -> None:
    found = find_tool(project_plan(CATALOGUE, Mode.DAEMON, EVERYTHING), "\ud800")

    assert isinstance(found, Deny)
    assert found.sentence.encode()


def test_offered_tool_is_found_itself() -> None:
    plan = project_plan(CATALOGUE, Mode.DAEMON, EVERYTHING)

    assert find_tool(plan, "write_file") is WRITE.tool


def test_plan_carries_its_generation() -> None:
    assert project_plan(CATALOGUE, Mode.DAEMON, EVERYTHING).generation == 0
    assert project_plan(CATALOGUE, Mode.DAEMON, EVERYTHING, generation=7).generation == 7


AWAY = Absence("mcp.not_connected", "The server of db__read is away.")
ABSENT = {
    "granted": (Mode.DAEMON, Profile("p", frozenset({"db__read"})), AWAY.rule, AWAY.sentence),
    "not-granted": (
        Mode.DAEMON,
        Profile("p", frozenset()),
        "profile.not_granted",
        "db__read is not granted in a chat thread; an operator can name it in the profile's tools.",
    ),
    "no-profile": (
        Mode.DAEMON,
        None,
        "policy.missing",
        "db__read is not granted: there is no valid profile, so nothing is.",
    ),
    "everything-of-the-terminal": (
        Mode.DAEMON,
        TERMINAL,
        "profile.not_granted",
        "db__read is not granted in a chat thread; an operator can name it in the profile's tools.",
    ),
    "at-the-terminal": (Mode.REPL, TERMINAL, AWAY.rule, AWAY.sentence),
}


@pytest.mark.parametrize(("mode", "profile", "rule", "words"), ABSENT.values(), ids=ABSENT)
def test_tool_that_cannot_be_had_now_is_refused_by_the_first_rule_that_takes_it_out(
    mode: Mode, profile: Profile | None, rule: str, words: str
) -> None:
    plan = project_plan(CATALOGUE, mode, profile, absences={"db__read": AWAY})

    assert plan.removed["db__read"] == rule
    assert find_tool(plan, "db__read") == Deny(rule, words)


def test_mode_takes_out_also_what_cannot_be_had() -> None:
    plan = project_plan([], Mode.DAEMON, EVERYTHING, absences={"run_bash": AWAY})

    assert plan.removed == {"run_bash": "mode.removed"}


def test_offered_tool_is_never_absent() -> None:
    plan = project_plan(CATALOGUE, Mode.DAEMON, EVERYTHING, absences={"read_file": AWAY})

    assert find_tool(plan, "read_file") is READ.tool
    assert plan.absences == {}
    assert "read_file" not in plan.removed


def test_absence_stands_in_the_plan() -> None:
    assert project_plan([], Mode.REPL, TERMINAL, absences={"x": AWAY}).absences == {"x": AWAY}


REFUSED = {
    "mode_mismatch": (
        Mode.REPL,
        BASH.tool,
        "policy.mode_mismatch",
        "run_bash was offered for another mode than this one.",
    ),
    "lookalike": (
        Mode.DAEMON,
        make_tool("read_file").tool,
        "policy.not_in_plan",
        "read_file does not belong to this step.",
    ),
}


@pytest.mark.parametrize(("mode", "tool", "rule", "words"), REFUSED.values(), ids=REFUSED)
def test_inconsistent_call_is_denied_in_words(
    mode: Mode, tool: Tool, rule: str, words: str
) -> None:
    plan = project_plan(CATALOGUE, mode, EVERYTHING)

    assert decide(plan, tool, context_in(Mode.DAEMON)) == Deny(rule, words)


def test_call_that_nobody_can_approve_is_denied_in_words() -> None:
    plan = project_plan(CATALOGUE, Mode.DAEMON, Profile("p", frozenset(), frozenset({"read_file"})))

    assert decide(plan, READ.tool, context_in(Mode.DAEMON)) == Deny(
        "ask.no_approver",
        "read_file needs a person's approval for each call, and nobody is named who could give it.",
    )


LONE = make_tool("lone", modes=[Mode.REPL]).tool
TWICE = make_tool("twice").tool
EXPLAINED = {
    "mode": (
        Mode.DAEMON,
        "run_bash",
        "run_bash is not available in a chat thread: nobody sits beside it to check what it would "
        "do, so it is always taken out and no setting grants it.",
    ),
    "job": (Mode.SCHEDULER, "lone", "lone is not made for use in a scheduled job."),
    "headless": (
        Mode.HEADLESS,
        "other",
        "other is not granted where no person takes part; an operator can name it in the "
        "profile's tools.",
    ),
    "unknown": (
        Mode.REPL,
        "nope",
        "There is no tool named 'nope' in this step; available: read_file, run_bash, lone.",
    ),
    "wrong": (
        Mode.IPC,
        "twice",
        "twice is declared wrongly and was left out (catalogue.name_twice).",
    ),
}


@pytest.mark.parametrize(("mode", "name", "words"), EXPLAINED.values(), ids=EXPLAINED)
def test_each_absence_has_its_words(mode: Mode, name: str, words: str) -> None:
    other = make_tool("other").tool
    catalogue = [READ.tool, BASH.tool, LONE, TWICE, TWICE]
    granted = Profile("p", frozenset(tool.name for tool in catalogue))
    offered = catalogue if mode is Mode.REPL else [*catalogue, other]

    found = find_tool(project_plan(offered, mode, granted), name)

    assert isinstance(found, Deny)
    assert found.sentence == words


def test_words_about_an_empty_plan_and_a_long_name_are_bounded() -> None:
    empty = find_tool(project_plan([], Mode.REPL, EVERYTHING), "x" * 200)
    many = [make_tool(f"tool_{number:03d}").tool for number in range(100)]
    full = find_tool(
        project_plan(many, Mode.REPL, Profile("p", frozenset(tool.name for tool in many))), "x"
    )

    assert isinstance(empty, Deny)
    assert empty.sentence == f"There is no tool named '{'x' * 100}' in this step; available: none."
    assert isinstance(full, Deny)
    known = ", ".join(tool.name for tool in many)[:400]
    assert full.sentence == f"There is no tool named 'x' in this step; available: {known}."
