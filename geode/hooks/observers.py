"""Observation of what happens: recorded, never asked."""

from __future__ import annotations

from dataclasses import dataclass

from geode.log import get_logger
from geode.messages import JsonObject

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class LifecycleEvent:
    """One thing that happened, by name; `body` is JSON without secrets."""

    name: str
    body: JsonObject
    session_id: str = ""
    turn_id: str = ""


class HookSystem:
    """Receives events and hands them to observers; it decides nothing, its failure nothing."""

    def emit(self, event: LifecycleEvent) -> None:
        """Take the event and return at once; never raises."""
        log.debug("event", name=event.name, session=event.session_id, turn=event.turn_id)
