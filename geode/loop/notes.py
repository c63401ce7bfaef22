"""What the runtime tells the model and what it answers to calls that did not run; texts only."""

from __future__ import annotations

from collections.abc import Sequence

from geode.loop.limits import RoundChoice, RoundKind
from geode.messages import Message, TerminationReason, ToolCall, ToolResult

NUDGE = "Your last answer was empty. Answer the request in text, or call a tool."
GO_ON = (
    "Your last answer was cut at the output limit. Go on exactly where it stops, "
    "without repeating anything of it."
)
CALL_CUT = (
    "Your last answer was cut before it was complete, so none of its calls ran. "
    "Do it in smaller pieces."
)
NOT_RUN_CUT = "Not run: the answer with this call was cut before it was complete."
NOT_RUN_LAST = "Not run: no more tool calls are possible in this turn."
NOT_RUN_ENDED = "Not run: the runtime ended this turn, as it went in circles."
NOT_RUN_MANY = (
    "Not run: too many calls in one answer; at most {calls_max} run. Ask again for these."
)
CUT_MARK = "\n\n*(This answer is cut: the model reached its output limit.)*"
CUT_DETAIL = "Its answer was cut at the output limit each time, in the middle of a tool call."
WINDOW_DETAIL = "The model's answer was cut each time because its window was full."
SILENT_DETAIL = "The model provider did not answer in time."
PAUSE_DETAIL = "The model paused again and again without coming to an end."
EMPTY_DETAIL = "The model's answer was empty, also when it was asked again."

_WRAP_UP = (
    "{limit} is nearly used up. Answer now, without tool calls: say what is done, what you found, "
    "and what is missing."
)
_LAST = "This is the last step of this turn. Answer now, without tool calls, with what you have."
_LIMIT_NAMES = {
    TerminationReason.TIME_BUDGET_EXPIRED: "The time for this request",
    TerminationReason.COST_BUDGET_EXCEEDED: "The cost limit for this request",
}


def tell_round(choice: RoundChoice) -> str:
    """What the model is told before a round in which it must answer; empty for an open one."""
    if choice.kind is RoundKind.OPEN:
        return ""
    if choice.kind is RoundKind.WRAP_UP:
        return _WRAP_UP.format(limit=_LIMIT_NAMES.get(choice.limit, "The limit"))
    return _LAST


def refuse_all(calls: Sequence[ToolCall], text: str) -> Message:
    """One error result per call; nothing of any of them has begun."""
    return Message("tool", tuple(ToolResult(c.call_id, text, is_error=True) for c in calls))
