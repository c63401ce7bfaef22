"""How a turn that gave no answer is told to the person: one sentence and what to do next; pure."""

from __future__ import annotations

from collections.abc import Mapping

from geode.messages import DELIVERABLE, TerminationReason

R = TerminationReason

_SENTENCES: Mapping[TerminationReason, tuple[str, str]] = {
    R.NATURAL: ("I finished.", "Ask on in this thread."),
    R.FORCED_TEXT: ("I answered in the last step I was allowed.", "Ask me to go on for more."),
    R.ACTIONABLE_PARTIAL: (
        "I stopped before a limit and said what is done and what is missing.",
        "Ask me to go on for the rest.",
    ),
    R.MAX_ROUNDS: (
        "I used all the steps one request may take and have no answer yet.",
        "Ask for a smaller part of it, or say “go on”.",
    ),
    R.TIME_BUDGET_EXPIRED: (
        "The time for this request ran out before I had an answer.",
        "Ask for a smaller part of it, or say “go on”.",
    ),
    R.SESSION_TIME_BUDGET_EXPIRED: (
        "The time budget of this conversation is used up.",
        "Start a new thread, or ask an operator for more time.",
    ),
    R.CONTEXT_EXHAUSTED: (
        "This conversation no longer fits into the model, also after shortening it.",
        "Begin afresh with `/new` (in a Slack thread: `!new`) and repeat what still matters.",
    ),
    R.COST_BUDGET_EXCEEDED: (
        "The cost limit is reached, so I stopped.",
        "Ask for less or tomorrow, or ask an operator to raise the limit.",
    ),
    R.BILLING_ERROR: (
        "The model provider does not accept the payment for my calls.",
        "An operator must look at the provider's account; then ask again.",
    ),
    R.PROVIDER_ERROR: (
        "The model did not give a usable answer.",
        "Try again in a while; if it stays so, tell an operator.",
    ),
    R.MODEL_REFUSAL: (
        "The model refused this request.",
        "Ask in another way or for something else.",
    ),
    R.MODEL_ACTION_REQUIRED: (
        "The model wanted to go on with an action it could not complete.",
        "Ask for a smaller part of it, or say “go on”.",
    ),
    R.REPEATED_ERRORS: (
        "The same steps failed again and again, so I stopped.",
        "Change the request, or ask an operator what is wrong with the tool.",
    ),
    R.REPEATED_SUCCESS_NO_PROGRESS: (
        "I repeated the same step without getting further, so I stopped.",
        "Say more exactly what you need, or ask for a smaller part of it.",
    ),
    R.INPUT_BLOCKED: (
        "A rule of this place does not let me work on that message.",
        "Ask in another way, or ask an operator about the rule.",
    ),
    R.USER_CANCELLED: ("Stopped, as asked.", "What was done before stays done; ask on."),
    R.INTERRUPTED: (
        "I was interrupted before I had an answer.",
        "Please ask again.",
    ),
    R.POISONED: (
        "I tried this several times and had to stop in the middle each time, so I gave it up.",
        "Ask in another way, or ask an operator to look at the log.",
    ),
    R.EXTERNAL_VERIFICATION_REQUIRED: (
        "My answer did not pass the check and waits for a person to review it.",
        "You will be told here what was decided.",
    ),
    R.UNKNOWN: (
        "I stopped without an answer, for a reason I do not know.",
        "Please ask again; if it happens twice, tell an operator.",
    ),
}


def describe_end(reason: TerminationReason, detail: str = "") -> str:
    """One plain sentence about the end and one about what to do next.

    `detail` is a whole sentence with the particulars and stands between the two; one that says
    itself what to do (after a semicolon, as every provider error does) stands alone.
    """
    said, next_step = _SENTENCES[reason]
    if ";" in detail:
        return f"I have no answer. {detail.strip()}"
    return " ".join(part for part in (said, detail.strip(), next_step) if part)


def is_deliverable(reason: TerminationReason) -> bool:
    """Whether the end carries a candidate answer, which then goes to verification."""
    return reason in DELIVERABLE
