"""Every way in which a turn ends has its words, and only three of them carry an answer."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest

from geode.cli.chat_ask import ANSWERED, FAILED, conclude
from geode.loop.termination import describe_end, is_deliverable
from geode.messages import DELIVERABLE, TerminationReason
from geode.store.talks import Asking

R = TerminationReason
CLOSED_SET = {
    *("natural", "forced_text", "actionable_partial"),
    *("max_rounds", "time_budget_expired", "session_time_budget_expired", "context_exhausted"),
    *("cost_budget_exceeded", "billing_error", "provider_error", "model_refusal"),
    *("model_action_required", "repeated_errors", "repeated_success_no_progress"),
    *("input_blocked", "user_cancelled", "interrupted", "poisoned"),
    *("external_verification_required", "unknown"),
}
each_reason = pytest.mark.parametrize("reason", R, ids=str)


def row(text: str) -> dict[str, Any]:
    return {"id": "m1", "kind": "answer", "markdown": text, "card": None, "files": []}


def asking_of(reason: TerminationReason) -> dict[str, Any]:
    """What a client of the socket is told of a message whose turn ended so."""
    asking = Asking("answered", reason.value, ("m1",))
    told = {name: getattr(asking, name) for name in ("state", "reason", "verification", "review")}
    return {**told, "termination": asking.termination, "message_ids": list(asking.message_ids)}


def test_reasons_are_a_closed_set() -> None:
    assert {each.value for each in R} == CLOSED_SET
    assert {each for each in R if is_deliverable(each)} == DELIVERABLE
    assert len(DELIVERABLE) == 3


@each_reason
def test_ending_is_one_plain_sentence_and_what_to_do_next(reason: TerminationReason) -> None:
    said = describe_end(reason)

    sentences = re.split(r"(?<=[.?]) ", said)
    assert len(sentences) == 2
    assert all(each[0].isupper() and each.endswith(".") for each in sentences)
    assert len(said) <= 200
    assert reason.value not in said or reason is R.INTERRUPTED
    assert "_" not in said


def test_no_two_endings_say_the_same() -> None:
    assert max(Counter(describe_end(each) for each in R).values()) == 1


@each_reason
def test_particulars_stand_between_or_alone(reason: TerminationReason) -> None:
    plain = describe_end(reason)
    first, _, following = plain.partition(". ")

    assert describe_end(reason, "It was the disk.") == f"{first}. It was the disk. {following}"
    alone = "The key is wrong; ask an operator."
    assert describe_end(reason, alone) == f"I have no answer. {alone}"


@each_reason
def test_terminal_is_told_the_reason_its_mark_and_the_words(reason: TerminationReason) -> None:
    outcome = conclude({"m1": row(describe_end(reason))}, asking_of(reason))

    assert outcome.code == (ANSWERED if reason in DELIVERABLE else FAILED)
    assert (outcome.reason, outcome.termination) == (reason.value, reason.name)
    assert outcome.text == describe_end(reason)


@pytest.mark.parametrize("state", ["removed", "skipped"])
def test_message_that_no_turn_took_is_told_in_words(state: str) -> None:
    asking = Asking("answered", state)
    told = {"state": "answered", "reason": state, "verification": "", "review": ""}

    outcome = conclude({}, {**told, "termination": asking.termination, "message_ids": []})

    assert (outcome.code, outcome.termination) == (FAILED, "")
    assert outcome.text.endswith(".")
