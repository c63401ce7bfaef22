"""The verbs without a daemon: take the state's lock, open the store, answer, and let go."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

from geode.errors import ControlError
from geode.loop.prompt import day_start_us
from geode.mcp.manager import MCPServerManager
from geode.messages import JsonObject, JsonValue
from geode.ports import NoFailpoints, SystemClock
from geode.records.evidence import EvidenceLedger
from geode.reply.redaction import Redactor
from geode.serve.audit_control import AuditControl
from geode.serve.control import Control
from geode.serve.ipc import redact_value
from geode.serve.review_control import ReviewControl
from geode.serve.server_control import ServerControl
from geode.serve.why import WhyGround
from geode.settings_load import Loaded, load_settings
from geode.store.database import Store
from geode.store.lock import StateLock
from geode.store.views import count_all

NOT_RUNNING = "not running"
MAKES_STATE = frozenset({"trust.record"})
"""Verbs that have something to keep; the others make no state."""


class StoredView:
    """What can be said of the state while no daemon runs."""

    def __init__(self, store: Store, loaded: Loaded) -> None:
        self._store = store
        self._loaded = loaded

    async def status(self) -> dict[str, object]:
        """Counts of what is stored."""
        zone = self._loaded.settings.agent.timezone
        since_us = day_start_us(self._store.clock.now_us(), zone)
        counts = await self._store.read(lambda tx: count_all(tx, since_us))
        return {"state": NOT_RUNNING, "database": str(self._loaded.database_path), **counts}


async def answer_offline(verb: str, arguments: dict[str, Any], config: Path | None) -> JsonValue:
    """One verb's answer from the store; a state that does not exist yet is not made."""
    loaded = load_settings(config)
    if not loaded.database_path.exists() and verb not in MAKES_STATE:
        return _answer_empty(verb, arguments, loaded)
    clock = SystemClock()
    with StateLock.acquire(
        loaded.state_folder,
        clock,
        command=f"geode {verb.replace('.', ' ')}",
        database=loaded.database_path,
    ):
        store = Store.open(loaded.database_path, clock, NoFailpoints())
        evidence = EvidenceLedger(loaded.state_folder, Redactor())
        store.writer.listener = evidence.record
        try:
            ground = WhyGround(lambda: loaded.settings)
            control = Control(StoredView(store, loaded), store, clock, ground)
            mcp = await MCPServerManager.open(loaded, store, Redactor(), os.environ)
            servers = ServerControl(mcp, store, is_running=False)
            verbs = {**control.verbs, **servers.verbs, **ReviewControl(store).verbs}
            verbs |= AuditControl(store).verbs
            answer = await verbs[verb](arguments)
        finally:
            await store.close()
            await asyncio.to_thread(evidence.close)
    return redact_value(answer, Redactor())


def _answer_empty(verb: str, arguments: dict[str, Any], loaded: Loaded) -> JsonObject:
    if verb == "status":
        return {"state": NOT_RUNNING, "database": f"{loaded.database_path} (not made yet)"}
    if verb == "sessions.list":
        return {"sessions": []}
    if verb.startswith("mcp."):
        raise ControlError("No server was ever started here; start one with: geode serve")
    if verb == "effects.list":
        return {"effects": [], "replies": []}
    if verb == "audit.verify" and not arguments.get("session"):
        return {"sessions": 0, "rows": 0, "faults": [], "after": "", "pruned": 0}
    if verb == "reviews.list":
        return {"reviews": []}
    kinds = {"sessions": "session", "reviews": "review", "audit": "session"}
    kind = kinds.get(verb.partition(".")[0], "effect")
    wanted = str(arguments.get("id") or arguments.get("session") or "")
    raise ControlError(f"There is no {kind} {wanted[:80]!r}.")
