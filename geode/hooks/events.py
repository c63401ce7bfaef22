"""The lifecycle events by name, each with the fields of its body: the one place that lists them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from geode.messages import JsonObject
from geode.settings_hooks import LifecycleName

TURN_STARTED: Final = "turn_started"
TOOL_PROPOSED: Final = "tool_proposed"
TOOL_REFUSED: Final = "tool_refused"
TOOL_ENDED: Final = "tool_ended"
APPROVAL_ASKED: Final = "approval_asked"
APPROVAL_DECIDED: Final = "approval_decided"
TURN_ENDED: Final = "turn_ended"

BODY_FIELDS: Mapping[LifecycleName, tuple[str, ...]] = {
    TURN_STARTED: ("binding", "mode", "requesters"),
    TOOL_PROPOSED: ("tool", "call_id", "step", "position"),
    TOOL_REFUSED: ("tool", "call_id", "step", "position", "rule", "reason"),
    TOOL_ENDED: ("tool", "call_id", "step", "position", "ending", "elapsed_ms"),
    APPROVAL_ASKED: ("approval_id", "tool", "call_id", "rule"),
    APPROVAL_DECIDED: ("approval_id", "tool", "call_id", "decision", "decided_by"),
    TURN_ENDED: ("binding", "reason", "steps"),
}
"""Facts without content: what was said and done stands in the conversation and the timeline."""


@dataclass(frozen=True, slots=True)
class LifecycleEvent:
    """One thing that happened; `body` is JSON without secrets."""

    name: LifecycleName
    body: JsonObject
    session_id: str = ""
    turn_id: str = ""
