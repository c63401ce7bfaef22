"""Why an answer was not simply accepted, in words: one sentence for each rule; pure."""

from __future__ import annotations

from collections.abc import Mapping

RULES: Mapping[str, str] = {
    "skipped": "Its asker wanted no check.",
    "passed": "It passed its check.",
    "failed": "It failed its check, and another attempt would not help.",
    "failed_retryable": "It failed its check and is tried again.",
    "verification_error": "Nobody could judge it.",
    "hook_failed": "A hook that must look at it failed.",
    "escalate_budget_exhausted": "It did not pass, and there is no attempt or no time left.",
    "escalate_unsettled_effect": (
        "It did not pass, and it is not tried again while nobody knows whether an action of this "
        "turn happened."
    ),
    "accepted_though_failed": "A hook would accept it, but it failed its check.",
    "post_verify_escalated": "A hook asks for a person.",
    "post_verify_failed": "A hook that decides about it failed.",
    "post_verify_revised": "A hook asks for another version.",
    "stop_failed": "A hook that decides whether the turn may end failed.",
    "stop_continued": "A hook asks the agent to go on.",
    "empty_turn": "It was empty and is asked for again.",
    "empty_turn_budget_exhausted": "It was empty, and there is no attempt or no time left.",
    "model_action_required": "It still proposes a call that has no result.",
}


def describe_rule(rule: str) -> str:
    """The sentence about a rule of the verification; a rule of another version is named."""
    return RULES.get(rule, f"Its rule is {rule}.")
