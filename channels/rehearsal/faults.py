"""Faults on request: what goes wrong, how often, and for which method."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from channels.fields import int_of, text_of
from geode.messages import JsonObject


class FaultKind(StrEnum):
    """What a stand-in can be told to do wrong."""

    DROP_RESPONSE = "drop_response"
    """Accept the call, then cut the connection without an answer."""
    DROP_REQUEST = "drop_request"
    """Cut the connection before the call does anything."""
    RATE_LIMITED = "rate_limited"
    """Answer 429 with `Retry-After`; the call does nothing."""
    SERVER_ERROR = "server_error"
    """Answer with an HTTP status from 500 up; the call does nothing."""
    ERROR = "error"
    """Answer with the platform's own error code; the call does nothing."""
    SLOW_RESPONSE = "slow_response"
    """Accept the call, then answer late."""
    REFUSE_UPGRADE = "refuse_upgrade"
    """Refuse a socket; its ticket is used up all the same."""
    NO_HELLO = "no_hello"
    """Open a socket and say nothing on it."""
    DEAF = "deaf"
    """Open a socket that answers pings and never delivers an event."""
    FROZEN = "frozen"
    """Open a socket that answers nothing at all, pings included."""
    IGNORE_ACK = "ignore_ack"
    """Treat an acknowledgement as lost, so that the event is delivered again."""
    OVERLOADED = "overloaded"
    """A model API that has no room now (529, or 503 at OpenAI)."""
    NO_QUOTA = "no_quota"
    """A model API whose account has no money left."""
    CONTEXT_OVERFLOW = "context_overflow"
    """A model API to which the request is too long."""
    REFUSAL = "refusal"
    """A model that declines to answer."""
    ERROR_EVENT = "error_event"
    """Begin a stream and end it with an error event."""
    CUT_STREAM = "cut_stream"
    """Begin a stream and cut the connection."""
    NO_START = "no_start"
    """Leave out the event that opens an answer."""


@dataclass(slots=True)
class Fault:
    """One fault in force; `times` counts down, zero means until cleared."""

    kind: FaultKind
    method: str = "*"
    times: int = 1
    retry_after_s: int = 1
    status: int = 503
    error: str = "internal_error"
    delay_s: float = 1.0
    contains: str = ""
    """Only calls whose text holds this are hit."""
    place: str = ""
    """Only calls about this chat are hit."""
    after: int = 2
    """Events of a stream before it goes wrong."""
    is_endless: bool = field(init=False)

    def __post_init__(self) -> None:
        self.is_endless = self.times == 0


class Faults:
    """The faults in force, taken in the order in which they were set."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []
        self.taken: dict[str, int] = {}

    def set(self, fault: Fault) -> None:
        """Put a fault in force."""
        self._faults.append(fault)

    def is_set(self, method: str) -> bool:
        """Whether something waits to go wrong with a method."""
        return any(fault.method == method for fault in self._faults)

    def clear(self) -> None:
        """Take every fault back."""
        self._faults.clear()

    def take(
        self, kind: FaultKind, method: str = "*", text: str = "", place: str = ""
    ) -> Fault | None:
        """Use one occurrence of a matching fault, or None when nothing is wrong."""
        for fault in self._faults:
            if fault.kind is not kind or fault.method not in ("*", method):
                continue
            if fault.contains and fault.contains not in text:
                continue
            if fault.place not in ("", place):
                continue
            self._use(fault)
            return fault
        return None

    def _use(self, fault: Fault) -> None:
        self.taken[fault.kind] = self.taken.get(fault.kind, 0) + 1
        if fault.is_endless:
            return
        fault.times -= 1
        if fault.times == 0:
            self._faults.remove(fault)


def fault_from_json(source: JsonObject) -> Fault:
    """A fault as the control interface spells it; raises `ValueError` on an unknown kind."""
    delay = source.get("delay_s")
    return Fault(
        kind=FaultKind(text_of(source, "kind")),
        method=text_of(source, "method") or "*",
        times=int_of(source, "times", 1),
        retry_after_s=int_of(source, "retry_after_s", 1),
        status=int_of(source, "status", 503),
        error=text_of(source, "error") or "internal_error",
        delay_s=float(delay) if isinstance(delay, int | float) else 1.0,
        contains=text_of(source, "contains"),
        place=text_of(source, "place"),
        after=int_of(source, "after", 2),
    )
