"""The lifecycle events by name, each with the fields of its body and the row that it is told of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from geode.messages import JsonObject
from geode.settings_hooks import LifecycleName
from geode.store.timeline import AppendedEntry

TURN_STARTED: Final = "turn_started"
TOOL_PROPOSED: Final = "tool_proposed"
TOOL_REFUSED: Final = "tool_refused"
TOOL_ENDED: Final = "tool_ended"
APPROVAL_ASKED: Final = "approval_asked"
APPROVAL_DECIDED: Final = "approval_decided"
VERIFICATION_DECIDED: Final = "verification_decided"
REVIEW_ASKED: Final = "review_asked"
REVIEW_DECIDED: Final = "review_decided"
TURN_ENDED: Final = "turn_ended"

BODY_FIELDS: Mapping[LifecycleName, tuple[str, ...]] = {
    TURN_STARTED: ("number", "model"),
    TOOL_PROPOSED: ("operation", "call_id", "tool", "effect", "rule"),
    TOOL_REFUSED: ("operation", "call_id", "tool", "rule", "reason"),
    TOOL_ENDED: ("operation", "call_id", "tool", "ending", "elapsed_ms"),
    APPROVAL_ASKED: ("operation", "tool", "state"),
    APPROVAL_DECIDED: ("operation", "tool", "state", "scope", "by"),
    VERIFICATION_DECIDED: ("action", "rule", "outcome", "structure", "attempt", "candidate"),
    REVIEW_ASKED: ("review", "candidate", "outcome", "rule", "state"),
    REVIEW_DECIDED: ("review", "candidate", "outcome", "rule", "state", "by"),
    TURN_ENDED: ("reason", "verification", "completed"),
}
"""Facts without content: what was said and done stands in the conversation and the timeline."""

_KINDS: Mapping[str, LifecycleName] = {
    "turn_started": TURN_STARTED,
    "tool_call": TOOL_PROPOSED,
    "tool_refused": TOOL_REFUSED,
    "tool_outcome": TOOL_ENDED,
    "approval_asked": APPROVAL_ASKED,
    "approval_ended": APPROVAL_DECIDED,
    "verification": VERIFICATION_DECIDED,
    "review_asked": REVIEW_ASKED,
    "review_decided": REVIEW_DECIDED,
    "turn_ended": TURN_ENDED,
}
"""Every event is a row of the timeline that is committed: what is told is on record."""


@dataclass(frozen=True, slots=True)
class LifecycleEvent:
    """One thing that happened; `body` is JSON without secrets."""

    name: LifecycleName
    body: JsonObject
    session_id: str = ""
    turn_id: str = ""


def event_of(appended: AppendedEntry) -> LifecycleEvent | None:
    """The event that a row of the timeline is, if it is one; its body is a copy."""
    entry = appended.entry
    name = _KINDS.get(entry.kind)
    if name is None:
        return None
    body = {key: entry.body[key] for key in BODY_FIELDS[name] if key in entry.body}
    return LifecycleEvent(name, body, appended.session_id, entry.turn_id)
