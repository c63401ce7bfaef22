"""The verbs of the control socket: what each asks of the running daemon or of its store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from geode.errors import ControlError
from geode.messages import JsonObject, JsonValue
from geode.oversight import StatusView
from geode.ports import Clock
from geode.records.receipts import EffectReceiptStore
from geode.serve.arguments import allow_only, read_limit, read_optional, read_text
from geode.serve.ipc import Verb
from geode.serve.terminal import find_owner
from geode.serve.why import WhyAsked, WhyGround, explain_calls
from geode.store import views
from geode.store.database import Store

OUTCOMES = {"happened": True, "did-not": False}
"""The words an operator settles an effect with."""


class Control:
    """Answers the verbs; the same with and without a daemon."""

    def __init__(
        self, view: StatusView, store: Store, clock: Clock, ground: WhyGround | None = None
    ) -> None:
        self._view = view
        self._store = store
        self._ground = ground or WhyGround()
        self._receipts = EffectReceiptStore(store, clock)

    @property
    def verbs(self) -> Mapping[str, Verb]:
        """Every verb by the name it has on the socket."""
        return {
            "status": self._status,
            "sessions.list": self._list_sessions,
            "sessions.show": self._show_session,
            "sessions.why": self._explain_call,
            "effects.list": self._list_effects,
            "effects.settle": self._settle_effect,
        }

    async def _status(self, arguments: JsonObject) -> JsonValue:
        allow_only(arguments)
        return cast("JsonObject", await self._view.status())

    async def _list_sessions(self, arguments: JsonObject) -> JsonValue:
        allow_only(arguments, "limit")
        limit = read_limit(arguments)
        rows = await self._store.read(lambda tx: views.list_sessions(tx, limit))
        return {"sessions": list[JsonValue](rows)}

    async def _show_session(self, arguments: JsonObject) -> JsonValue:
        allow_only(arguments, "id", "limit")
        session_id, limit = read_text(arguments, "id"), read_limit(arguments)
        shown = await self._store.read(lambda tx: views.show_session(tx, session_id, limit))
        if shown is None:
            raise ControlError(f"There is no session {session_id[:80]!r}.")
        return shown

    async def _explain_call(self, arguments: JsonObject) -> JsonValue:
        allow_only(arguments, "id", "call", "limit")
        asked = WhyAsked(
            read_text(arguments, "id"),
            read_optional(arguments, "call"),
            read_limit(arguments),
        )
        return await self._store.read(lambda tx: explain_calls(tx, asked, self._ground))

    async def _list_effects(self, arguments: JsonObject) -> JsonValue:
        allow_only(arguments, "limit")
        limit = read_limit(arguments)
        effects = await self._store.read(lambda tx: views.list_effects(tx, limit))
        replies = await self._store.read(lambda tx: views.list_replies(tx, limit))
        return {"effects": list[JsonValue](effects), "replies": list[JsonValue](replies)}

    async def _settle_effect(self, arguments: JsonObject) -> JsonValue:
        allow_only(arguments, "id", "outcome")
        receipt_id, outcome = read_text(arguments, "id"), read_text(arguments, "outcome")
        if outcome not in OUTCOMES:
            raise ControlError(
                f"An effect is settled as happened or did-not, not {outcome[:40]!r}."
            )
        if receipt_id[:1] == "o" and receipt_id[1:].isdecimal():
            raise ControlError(
                f"{receipt_id} is a chat reply; delivery looks for it and settles it by itself."
            )
        settled = await self._receipts.settle_by_operator(
            receipt_id, happened=OUTCOMES[outcome], who=find_owner().name
        )
        return {"id": settled.id, "tool": settled.tool, "state": settled.state, "outcome": outcome}
