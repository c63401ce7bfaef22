"""Over the whole product: nothing makes a success of anything but a pass that nobody objects to."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from fakes.hook_room import HookRoom
from fakes.loop_fakes import HandClock
from fakes.verify_product import (
    ACCEPT,
    ERRORS,
    JUDGES,
    POSTS,
    PRES,
    STOPS,
    STRUCTURES,
    Cell,
    choose_slice,
    expect,
    list_cells,
)

from geode.hooks.candidates import (
    Accept,
    Continue,
    Escalate,
    PostVerify,
    Revise,
    Stop,
    Strengthen,
)
from geode.hooks.decisions import Proceed
from geode.hooks.registry import HOOK_FAILED, HookRegistry
from geode.llm.errors import Overloaded
from geode.messages import Mode, SessionId, TerminationReason, TurnId
from geode.reply.verdicts import RULES
from geode.store.reviews import hash_candidate
from geode.verify import turn_check
from geode.verify.decide import (
    Decision,
    Room,
    add_misses,
    apply_post_verify,
    apply_stop,
    policy_action,
)
from geode.verify.judge import Judgement, JudgeOutcome, JudgeTerms
from geode.verify.structure import Candidate, CandidateTurn, check_structure
from geode.verify.turn_check import VerifyBudget, VerifyParts, verify_turn_async

REASON = TerminationReason.NATURAL
CANDIDATES = {
    "sound": Candidate("what is up", "all is well", REASON),
    "empty": Candidate("what is up", " \n", REASON),
    "action required": Candidate("what is up", "let me look", REASON, has_open_calls=True),
}
ERROR = JudgeOutcome.VERIFICATION_ERROR
JUDGEMENTS = {
    "pass": Judgement(JudgeOutcome.PASSED),
    "fail retryable": Judgement(JudgeOutcome.FAILED, ("no source",), "Name it.", True),
    "fail final": Judgement(JudgeOutcome.FAILED, ("no source",), "Name it."),
    "timeout": Judgement(ERROR, ("judge_timed_out",)),
    "garbage": Judgement(ERROR, ("judge_malformed",)),
    "unreachable": Judgement(ERROR, ("judge_failed",)),
    "personal data": Judgement(ERROR, ("personal_data_omitted",)),
}
ADDED: dict[str, tuple[Strengthen, ...]] = {
    "nothing": (),
    "requirement": (Strengthen("1", ("Name a source.",)),),
    "miss": (Strengthen("1", misses=("no_source_link",)),),
    "fails": (Strengthen("1", misses=(HOOK_FAILED,), has_failed=True),),
}
SAID: dict[str, PostVerify] = {
    "none": Proceed(),
    "accept": Accept(),
    "revise": Revise("1", "more"),
    "escalate": Escalate("1", "a person must look"),
    "fails": Escalate("1", "it failed", has_failed=True),
}
ASKED: dict[str, Stop] = {
    "none": Proceed(),
    "continue": Continue("1", "more"),
    "fails": Escalate("1", "it failed", has_failed=True),
}


def decide(cell: Cell) -> tuple[Decision, str]:
    """The decision of the pure rules in their order, and the outcome of the turn's row."""
    structure = check_structure(CANDIDATES[cell.structure])
    room = Room(cell.attempts, cell.has_time, not cell.is_settled)
    added = ADDED[cell.pre]
    has_failed = any(each.has_failed for each in added)
    if not structure.is_sound:
        decision = policy_action(structure, None, room, has_failed_hook=has_failed)
        return decision, structure.code.value
    judgement = add_misses(JUDGEMENTS[cell.judge], added)
    decision = policy_action(structure, judgement, room, has_failed_hook=has_failed)
    decision = apply_post_verify(decision, SAID[cell.post], room)
    return apply_stop(decision, ASKED[cell.stop], room), judgement.outcome.value


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("judge", JUDGES)
def test_rules_do_what_the_design_says_in_every_cell(structure: str, judge: str) -> None:
    cells = [each for each in list_cells() if (each.structure, each.judge) == (structure, judge)]
    wrong: list[str] = []
    for cell in cells:
        decision, outcome = decide(cell)
        expected = expect(cell)
        if (decision.action.value, outcome) != (expected.action, expected.outcome):
            wrong.append(f"{cell}: {decision}, {outcome}, expected {expected}")
        if expected.is_exhausted != _is_exhausted(decision, cell):
            wrong.append(f"{cell}: {decision} does not say why there is no other attempt")

    assert len(cells) == 4 * 5 * 3 * 3 * 2 * 2
    assert wrong == []


def _is_exhausted(decision: Decision, cell: Cell) -> bool:
    return decision.rule == (
        "escalate_budget_exhausted" if cell.is_settled else "escalate_unsettled_effect"
    )


def test_only_a_pass_that_nobody_objects_to_is_a_success() -> None:
    succeeded = {cell for cell in list_cells() if decide(cell)[0].action.value == ACCEPT}

    assert {(each.structure, each.judge) for each in succeeded} == {("sound", "pass")}
    assert {each.pre for each in succeeded} == {"nothing", "requirement"}
    assert {each.post for each in succeeded} == {"none", "accept"}
    assert {each.stop for each in succeeded} == {"none"}


def test_nothing_is_repaired_without_room_or_after_an_unusable_verdict() -> None:
    repaired = {cell for cell in list_cells() if decide(cell)[0].action.value == "revise"}

    assert all(each.attempts and each.has_time and each.is_settled for each in repaired)
    assert not [each for each in repaired if each.structure == "sound" and each.judge in ERRORS]
    assert not [each for each in repaired if each.structure == "sound" and each.pre == "fails"]


def test_every_rule_has_its_sentence_and_none_is_left_over() -> None:
    used = {decide(cell)[0].rule for cell in list_cells()}

    assert used | {"skipped"} == set(RULES)


@dataclass
class CellJudge:
    """The judge of a cell, as the runtime meets it."""

    name: str
    seen: list[Candidate]

    async def judge(self, candidate: Candidate, terms: JudgeTerms) -> Judgement:
        self.seen.append(candidate)
        if self.name == "timeout":
            await asyncio.Event().wait()
        if self.name == "unreachable":
            raise Overloaded
        if self.name == "garbage":
            raise ValueError("what the judge said is no verdict")
        return JUDGEMENTS[self.name]


WORDS: dict[str, dict[str, str]] = {
    "PreVerify": {
        "nothing": '{"decision": "proceed"}',
        "requirement": '{"decision": "require", "requirements": ["Name a source."]}',
        "miss": '{"decision": "require", "misses": ["no_source_link"], "reason": "Where?"}',
        "fails": "nonsense",
    },
    "PostVerify": {
        "none": '{"decision": "proceed"}',
        "accept": '{"decision": "accept"}',
        "revise": '{"decision": "revise", "reason": "Say more."}',
        "escalate": '{"decision": "escalate", "reason": "A person must look."}',
        "fails": '{"decision": "pass"}',
    },
    "Stop": {
        "none": '{"decision": "stop"}',
        "continue": '{"decision": "continue", "reason": "Look again."}',
        "fails": '{"decision": "stop"',
    },
}


async def build_registry(folder: Path, cell: Cell) -> HookRegistry:
    """The hooks of a cell as real commands."""
    room = HookRoom(folder)
    for event, said in (("PreVerify", cell.pre), ("PostVerify", cell.post), ("Stop", cell.stop)):
        room.configure(event, room.answering(WORDS[event][said]))
    return (await room.build()).registry


@pytest.fixture(autouse=True)
def short_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn_check, "JUDGE_S_MAX", 0.2)


REACHING_STOP = [
    Cell("sound", "pass", "nothing", post, stop, 1, has_time=True)
    for post in POSTS
    for stop in STOPS
]
SLICE = [*dict.fromkeys((*choose_slice(list(list_cells())), *REACHING_STOP))]


@pytest.mark.parametrize("cell", SLICE, ids=str)
async def test_real_hooks_and_a_judge_that_may_break_come_to_the_same(
    tmp_path: Path, cell: Cell
) -> None:
    judge, clock = CellJudge(cell.judge, []), HandClock()
    turn = CandidateTurn(SessionId("s1"), TurnId("t1"), Mode.DAEMON, attempt=2 - cell.attempts)
    candidate = replace(CANDIDATES[cell.structure], turn=turn, has_uncertain=not cell.is_settled)
    deadline = clock.monotonic() + (600.0 if cell.has_time else 4.0)

    end = await verify_turn_async(
        candidate,
        VerifyParts(judge, clock, await build_registry(tmp_path, cell)),
        VerifyBudget(cell.attempts, deadline),
    )

    expected = expect(cell)
    assert (end.action.value, end.outcome) == (expected.action, expected.outcome)
    assert end.rule == decide(cell)[0].rule
    assert end.text == candidate.text
    assert len(judge.seen) == (cell.structure == "sound")
    required = ("Name a source.",) if cell.pre == "requirement" else ()
    assert all(each == replace(candidate, requirements=required) for each in judge.seen)
    kinds = ["verification", "verification_evidence"]
    assert [row.kind for row in end.entries] == [
        *kinds,
        *(["verification_pending"] if expected.action == "escalate" else []),
    ]
    digest = hash_candidate(candidate.text, candidate.reason.value)
    assert all(row.turn_id == "t1" and row.body["candidate"] == digest for row in end.entries)
    assert end.entries[0].body["action"] == expected.action
    assert bool(end.note) == (expected.action == "revise")
    is_person = expected.action == "escalate"
    is_external = end.reason is TerminationReason.EXTERNAL_VERIFICATION_REQUIRED
    assert is_external == is_person


def test_slice_meets_every_value() -> None:
    assert {each.judge for each in SLICE} == set(JUDGES)
    assert {each.pre for each in SLICE} == set(PRES)
    assert {each.post for each in SLICE} == set(POSTS)
    assert {each.stop for each in SLICE} == set(STOPS)
    assert len(SLICE) < 200
