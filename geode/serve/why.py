"""What the control socket tells of a session's calls: the last ones, or why one was answered so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from geode.errors import ControlError
from geode.gate.why import DecideNow, call_to_json, place_of, tell_call, told_to_json
from geode.messages import JsonObject, JsonValue, Mode, SessionId
from geode.settings import Settings
from geode.store import calls, sessions
from geode.store.calls import ALLOWED, REFUSED
from geode.store.database import Tx


@dataclass(frozen=True, slots=True)
class WhyGround:
    """What a call is explained with: the settings of now, and the daemon's decision if one runs."""

    read_settings: Callable[[], Settings] = Settings
    decide_now: DecideNow | None = None


@dataclass(frozen=True, slots=True)
class WhyAsked:
    """Which calls are meant."""

    session_id: str
    call: str
    """Empty: the last ones."""
    limit: int


def explain_calls(tx: Tx, asked: WhyAsked, ground: WhyGround) -> JsonObject:
    """The session's last calls, or all about one; raises `ControlError` when there is none."""
    session_id = SessionId(asked.session_id)
    row = sessions.read_session(tx, session_id)
    if row is None:
        raise ControlError(f"There is no session {asked.session_id[:80]!r}.")
    if not asked.call:
        found = calls.list_calls(tx, session_id, (ALLOWED, REFUSED), asked.limit)
        return {"calls": list[JsonValue](call_to_json(call) for call in found)}
    call = calls.find_call(tx, session_id, asked.call)
    if call is None:
        raise ControlError(f"The session {session_id} has no call {asked.call[:80]!r}.")
    own = sessions.read_session(tx, call.session_id)
    place = place_of(ground.read_settings(), own.binding, Mode(own.mode), is_child=bool(own.parent))
    return {"call": told_to_json(tell_call(call, place, ground.decide_now))}
