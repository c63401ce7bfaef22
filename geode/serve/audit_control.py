"""The verb behind `geode audit verify`: the same with and without a daemon."""

from __future__ import annotations

from collections.abc import Mapping

from geode.errors import ControlError
from geode.messages import JsonObject, JsonValue
from geode.records.timeline import SessionTimeline, Verified
from geode.serve.arguments import allow_only, read_optional
from geode.serve.ipc import Verb
from geode.store.database import Store
from geode.store.timeline_chain import count_pruned


class AuditControl:
    """Answers `geode audit`; it changes nothing."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._timeline = SessionTimeline(store)

    @property
    def verbs(self) -> Mapping[str, Verb]:
        """Every verb by the name it has on the socket."""
        return {"audit.verify": self._verify}

    async def _verify(self, arguments: JsonObject) -> JsonValue:
        """Some sessions behind `after`, or one; a caller asks again until `after` is empty."""
        allow_only(arguments, "after", "session")
        session_id = read_optional(arguments, "session")
        if not session_id:
            found = await self._timeline.verify_some(read_optional(arguments, "after"))
        else:
            one = await self._timeline.verify(session_id)
            if one is None:
                raise ControlError(f"There is no session {session_id[:80]!r}.")
            found = one
        pruned = await self._store.read(count_pruned)
        return {**_describe(found), "pruned": pruned}


def _describe(found: Verified) -> JsonObject:
    faults: list[JsonValue] = [
        {
            "session": each.session_id,
            "seq": each.seq,
            "fault": each.fault,
            "kind": each.kind,
            "at_us": each.at_us,
        }
        for each in found.faults
    ]
    return {
        "sessions": found.sessions,
        "rows": found.rows,
        "faults": faults,
        "after": found.after,
    }
