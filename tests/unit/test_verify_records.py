"""What a verification tells: hooks before, the next attempt behind it, and the record for good."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from fakes.loop_fakes import HandClock
from fakes.scripted_judge import FAILED, PASSED, RETRY, SPEND, ScriptedJudge, Verdict

from geode.errors import ModelError
from geode.hooks.asking import RegisteredHook
from geode.hooks.candidates import (
    Accept,
    Continue,
    Escalate,
    JudgedCandidate,
    Revise,
    ShownCandidate,
    ShownObservation,
    Strengthen,
)
from geode.hooks.code import PythonCode, Question
from geode.hooks.decisions import Proceed
from geode.hooks.registry import HookRegistry
from geode.llm.errors import Overloaded
from geode.messages import Mode, SessionId, TerminationReason, TurnId
from geode.reply.sentences import NOT_VERIFIED
from geode.settings_hooks import DecisionEvent
from geode.steps import Spend, Usage
from geode.store.reviews import hash_candidate
from geode.verify.decide import Action
from geode.verify.facts import CheckFacts, tell_check
from geode.verify.judge import Judgement, JudgeOutcome, JudgeTerms
from geode.verify.skipping import skip_verification
from geode.verify.structure import Candidate, CandidateTurn, Observation
from geode.verify.turn_check import JUDGE_S_MAX, VerifyBudget, VerifyParts, verify_turn_async
from geode.verify.verdict import VerifiedEnd

R = TerminationReason
TURN = CandidateTurn(SessionId("s1"), TurnId("t1"), Mode.DAEMON, "b", ("slack:T1:U1",), 1)
CANDIDATE = Candidate(
    "what is \ud800 up",
    "all is well",
    R.FORCED_TEXT,
    (Observation("look", "a"), Observation("peek", "b\ud800", is_error=True, is_personal=True)),
    turn=TURN,
)
SHOWN = ShownCandidate(
    "what is \ud800 up",
    "all is well",
    "forced_text",
    (ShownObservation("look", "a"), ShownObservation("peek", "b\ud800", True, True)),
    attempt=1,
    session_id="s1",
    turn_id="t1",
    mode=Mode.DAEMON,
    binding="b",
    requesters=("slack:T1:U1",),
)


def hooks_of(
    *said: tuple[DecisionEvent, object], asked: list[Question] | None = None
) -> HookRegistry:
    """One hook for each event that is named; they remember what they were shown."""

    def code_of(answer: object) -> Callable[[Question], Awaitable[object]]:
        async def hook(question: Question) -> object:
            if asked is not None:
                asked.append(question)
            return answer

        return hook

    return HookRegistry(
        {
            event: [RegisteredHook(f"{event}[1]", PythonCode(code_of(answer)))]
            for event, answer in said
        }
    )


async def verify(
    verdict: Verdict,
    *said: tuple[DecisionEvent, object],
    candidate: Candidate = CANDIDATE,
    left: int = 2,
    asked: list[Question] | None = None,
) -> VerifiedEnd:
    return await verify_turn_async(
        candidate,
        VerifyParts(ScriptedJudge([verdict]), HandClock(), hooks_of(*said, asked=asked)),
        VerifyBudget(left, 2_000.0),
    )


def sha(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()


async def test_hooks_are_shown_the_candidate_and_what_was_found() -> None:
    asked: list[Question] = []

    await verify(
        replace(PASSED, misses=("slow",), reflection="fine", is_retry_worthwhile=True),
        ("PreVerify", Proceed()),
        ("PostVerify", Proceed()),
        ("Stop", Proceed()),
        asked=asked,
    )

    judged = JudgedCandidate(SHOWN, "passed", ("slow",), "fine", True, "accept")
    assert asked == [SHOWN, judged, judged]


async def test_hooks_are_shown_an_unsettled_effect_and_nobodys_candidate() -> None:
    asked: list[Question] = []
    lone = replace(CANDIDATE, has_uncertain=True, turn=None)

    end = await verify(RETRY, ("PreVerify", Proceed()), candidate=lone, asked=asked)

    assert asked == [
        ShownCandidate(SHOWN.request, SHOWN.text, SHOWN.reason, SHOWN.observations, True)
    ]
    assert all(row.turn_id == "" and row.body["attempt"] == 0 for row in end.entries)


async def test_post_verify_is_shown_the_misses_of_other_hooks() -> None:
    asked: list[Question] = []
    added = Strengthen("x", misses=("no_source_link",), reason="Where from?")

    end = await verify(RETRY, ("PreVerify", added), ("PostVerify", Proceed()), asked=asked)

    judged = JudgedCandidate(
        SHOWN,
        "failed",
        ("names no source", "no_source_link"),
        "Name it. Where from?",
        True,
        "revise",
    )
    assert asked[-1] == judged
    assert end.misses == ("names no source", "no_source_link")
    assert end.reflection == "Name it. Where from?"
    assert end.spend == SPEND
    assert end.note == (
        "Your answer was not accepted: names no source; no_source_link. Name it. Where from?"
    )


NOTES: dict[str, tuple[Verdict, tuple[DecisionEvent, object], str]] = {
    "miss-without-words": (
        Judgement(JudgeOutcome.FAILED, is_retry_worthwhile=True),
        ("Stop", Proceed()),
        "Your answer was not accepted: the answer does not meet the request.",
    ),
    "revise": (
        PASSED,
        ("PostVerify", Revise("x", "Say more.")),
        "A check of this place asks for another version of your answer: Say more.",
    ),
    "revise-of-a-failure": (
        FAILED,
        ("PostVerify", Revise("x", "Say more.")),
        "Your answer was not accepted: names no source. Name it.\n"
        "A check of this place asks for another version of your answer: Say more.",
    ),
    "continue": (
        PASSED,
        ("Stop", Continue("x", "Look again.")),
        "A check of this place asks you to go on before you end: Look again.",
    ),
}


@pytest.mark.parametrize(("verdict", "said", "note"), NOTES.values(), ids=NOTES)
async def test_next_attempt_is_told_why(
    verdict: Verdict, said: tuple[DecisionEvent, object], note: str
) -> None:
    end = await verify(verdict, said)

    assert (end.action, end.note, end.detail) == (Action.REVISE, note, "")


ENDS: dict[str, tuple[Verdict, tuple[DecisionEvent, object], str, str, str, tuple[str, ...]]] = {
    "accept": (PASSED, ("PostVerify", Accept()), "passed", "accept", "proceed", ()),
    "revise": (
        PASSED,
        ("PostVerify", Revise("x", "more")),
        "post_verify_revised",
        "revise PostVerify[1]",
        "proceed",
        ("PostVerify[1]: more",),
    ),
    "escalate": (
        PASSED,
        ("PostVerify", Escalate("x", "look")),
        "post_verify_escalated",
        "escalate PostVerify[1]",
        "proceed",
        ("PostVerify[1]: look",),
    ),
    "post-fails": (
        PASSED,
        ("PostVerify", None),
        "post_verify_failed",
        "failed PostVerify[1]",
        "proceed",
        (
            "PostVerify[1]: The hook failed: it answered with something that is no decision of "
            "PostVerify.",
        ),
    ),
    "continue": (
        PASSED,
        ("Stop", Continue("x", "again")),
        "stop_continued",
        "proceed",
        "continue Stop[1]",
        ("Stop[1]: again",),
    ),
    "stop-fails": (
        PASSED,
        ("Stop", None),
        "stop_failed",
        "proceed",
        "failed Stop[1]",
        ("Stop[1]: The hook failed: it answered with something that is no decision of Stop.",),
    ),
}


@pytest.mark.parametrize(
    ("verdict", "said", "rule", "post", "stop", "misses"), ENDS.values(), ids=ENDS
)
async def test_record_of_a_decision_holds_facts_and_hashes(
    verdict: Verdict,
    said: tuple[DecisionEvent, object],
    rule: str,
    post: str,
    stop: str,
    misses: tuple[str, ...],
) -> None:
    end = await verify(verdict, said)

    assert (end.misses, end.rule, end.outcome, end.reflection) == (misses, rule, "passed", "")
    assert end.entries[0].body == {
        "candidate": hash_candidate("all is well", "forced_text"),
        "attempt": 1,
        "action": end.action.value,
        "rule": rule,
        "outcome": "passed",
        "structure": "sound",
        "miss_count": len(misses),
        "misses_hash": sha(*misses),
        "codes": [],
        "post_verify": post,
        "stop": stop,
    }


async def test_record_of_the_evidence_and_of_what_is_pending() -> None:
    added = Strengthen("x", ("Name a source.",), ("no_source", "no_date"))
    digest = hash_candidate("all is well", "forced_text")

    end = await verify(FAILED, ("PreVerify", added))

    decided, evidence, pending = end.entries
    assert decided.body["codes"] == ["no_source", "no_date"]
    assert evidence.body == {
        "candidate": digest,
        "attempt": 1,
        "request_hash": sha("what is \ud800 up"),
        "observations": 2,
        "observations_hash": sha("look\0a", "peek\0b\ud800"),
        "is_personal": True,
        "has_uncertain": False,
        "requirements": 1,
        "requirements_hash": sha("Name a source."),
    }
    assert pending.body == {
        "candidate": digest,
        "attempt": 1,
        "rule": "failed",
        "reason": "forced_text",
        "chars": 11,
    }
    assert {row.turn_id for row in end.entries} == {"t1"}


async def test_unsound_candidate_is_recorded_by_its_structure() -> None:
    end = await verify(PASSED, candidate=replace(CANDIDATE, text=""), left=0)

    assert (end.outcome, end.misses, end.reflection, end.spend) == (
        "empty_turn",
        ("empty_turn",),
        "",
        Spend(),
    )
    assert end.entries[0].body["structure"] == "empty_turn"
    assert end.detail == "Its answer was empty, and there can be no other attempt."


HANGING: dict[DecisionEvent, str] = {
    "PreVerify": "hook_failed",
    "PostVerify": "post_verify_failed",
    "Stop": "stop_failed",
}


@pytest.mark.parametrize(("event", "rule"), HANGING.items())
async def test_hook_is_given_no_more_than_what_is_left_of_the_turn(
    event: DecisionEvent, rule: str
) -> None:
    async def hang(_question: Question) -> object:
        await asyncio.Event().wait()
        return Proceed()

    hooks = HookRegistry({event: [RegisteredHook("slow", PythonCode(hang), timeout_s=5.0)]})
    clock = HandClock()

    end = await verify_turn_async(
        CANDIDATE,
        VerifyParts(ScriptedJudge(), clock, hooks),
        VerifyBudget(2, clock.monotonic() + 0.05),
    )

    assert end.rule == rule
    assert "no answer within 0.05" in f"{end.misses} {end.reflection}"


class Asked:
    """A judge that remembers what it may use, and fails as told."""

    def __init__(self, error: Exception | None = None) -> None:
        self.terms: list[JudgeTerms] = []
        self.error = error

    async def judge(self, candidate: Candidate, terms: JudgeTerms) -> Judgement:
        self.terms.append(terms)
        if self.error is not None:
            raise self.error
        return PASSED


@pytest.mark.parametrize(("left_s", "given_s"), [(30.0, 30.0), (600.0, JUDGE_S_MAX)])
async def test_judge_is_told_its_deadline(left_s: float, given_s: float) -> None:
    judge, clock = Asked(), HandClock()

    await verify_turn_async(
        CANDIDATE, VerifyParts(judge, clock), VerifyBudget(2, clock.monotonic() + left_s)
    )

    assert judge.terms == [JudgeTerms(clock.monotonic() + given_s)]
    assert JUDGE_S_MAX == 120


@pytest.mark.parametrize("error", [Overloaded(), ValueError("private words")])
async def test_judge_that_fails_in_any_way_gives_no_verdict(error: Exception) -> None:
    clock = HandClock()

    end = await verify_turn_async(
        CANDIDATE, VerifyParts(Asked(error), clock), VerifyBudget(2, 2_000.0)
    )

    assert (end.outcome, end.misses) == ("verification_error", ("judge_failed",))
    assert end.reflection == (str(error) if isinstance(error, ModelError) else "")
    assert end.action is Action.ESCALATE


@pytest.mark.parametrize(("left_s", "action"), [(5.0, Action.REVISE), (4.9, Action.ESCALATE)])
async def test_another_attempt_needs_five_seconds(left_s: float, action: Action) -> None:
    clock = HandClock()

    end = await verify_turn_async(
        CANDIDATE,
        VerifyParts(ScriptedJudge([RETRY]), clock),
        VerifyBudget(1, clock.monotonic() + left_s),
    )

    assert end.action is action


async def test_time_that_a_hook_takes_is_missing_for_a_repair() -> None:
    clock = HandClock()

    async def wait(_question: Question) -> object:
        clock.now_s += 10
        return Proceed()

    hooks = HookRegistry({"PostVerify": [RegisteredHook("slow", PythonCode(wait))]})
    end = await verify_turn_async(
        CANDIDATE,
        VerifyParts(ScriptedJudge([RETRY]), clock, hooks),
        VerifyBudget(2, clock.monotonic() + 12),
    )

    assert end.rule == "escalate_budget_exhausted"


def test_skipped_check_is_said_and_recorded() -> None:
    end = skip_verification(CANDIDATE)
    lone = skip_verification(replace(CANDIDATE, turn=None))

    assert end is not None
    assert (end.action, end.reason, end.outcome, end.rule) == (
        *(Action.ACCEPT, R.FORCED_TEXT),
        *("skipped", "skipped"),
    )
    assert end.text == f"all is well\n\n{NOT_VERIFIED}"
    (row,) = end.entries
    assert (row.kind, row.turn_id) == ("verification", "t1")
    assert row.body == {
        "action": "accept",
        "rule": "skipped",
        "outcome": "skipped",
        "structure": "sound",
        "attempt": 1,
        "misses": [],
        "by": ["slack:T1:U1"],
    }
    told = tell_check(CANDIDATE, end, CheckFacts("scripted/judge", 0.0))
    assert told.entries[0].body["candidate"] == hash_candidate("all is well", "forced_text")
    assert lone is not None
    assert (lone.entries[0].turn_id, lone.entries[0].body["by"]) == ("", [])
    assert lone.entries[0].body["attempt"] == 0


@pytest.mark.parametrize("broken", [{"text": " "}, {"has_open_calls": True}])
def test_check_of_the_structure_is_never_skipped(broken: dict[str, object]) -> None:
    assert skip_verification(replace(CANDIDATE, **broken)) is None  # type: ignore[arg-type]


async def test_what_a_check_took_stands_beside_what_it_found() -> None:
    spend = Spend(2, Usage(100, 10, 5, 7), 9)
    verdict = replace(FAILED, misses=("no_source", "No date!"), spend=spend)
    end = await verify(verdict)

    told = tell_check(CANDIDATE, end, CheckFacts("scripted/judge", 1.2345))

    found = {
        "candidate": hash_candidate("all is well", "forced_text"),
        "request_hash": sha("what is \ud800 up"),
        "miss_codes": ["no_source"],
        "judge_model": "scripted/judge",
        "judge_calls": 2,
        "judge_input_tokens": 112,
        "judge_output_tokens": 10,
        "judge_cost_micro_usd": 9,
        "elapsed_ms": 1234,
    }
    assert told.entries[0].body == {**found, **end.entries[0].body}
    assert told.entries[1:] == end.entries[1:]
    unjudged = tell_check(
        CANDIDATE, replace(end, spend=Spend()), CheckFacts("scripted/judge", -1.0)
    )
    assert unjudged.entries[0].body["judge_model"] == ""
    assert unjudged.entries[0].body["elapsed_ms"] == 0
