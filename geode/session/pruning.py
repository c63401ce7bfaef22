"""What is kept for a while only: dropped every hour, once it cannot be needed any more."""

from __future__ import annotations

import asyncio
from functools import partial

from geode.errors import StoreError
from geode.log import get_logger
from geode.ports import Clock
from geode.session.retention import Retention
from geode.settings_load import Loaded
from geode.store import inbox
from geode.store.blobs import Blobs
from geode.store.database import Store
from geode.store.file_json import list_open_hashes

log = get_logger(__name__)

PRUNE_INTERVAL_S = 3600.0
DEDUPE_KEPT_US = 30 * 86_400_000_000
OUTGOING_KEPT_S = 3600.0
"""Longer than a turn tries to store the answer that names a file."""


class Pruning:
    """Drops keys that nobody repeats, copies of files that no row names, and what is too old."""

    def __init__(self, store: Store, clock: Clock, outgoing: Blobs, retention: Retention) -> None:
        self._store = store
        self._clock = clock
        self._outgoing = outgoing
        self._retention = retention

    async def run(self) -> None:
        """Prune now and every hour until cancelled; what fails is tried again then."""
        while True:
            before_us = self._clock.now_us() - DEDUPE_KEPT_US
            try:
                await self._store.write("prune", partial(inbox.forget_events, before_us=before_us))
                await self._prune_outgoing()
                await self._retention.prune()
            except StoreError as error:
                log.warning("not_pruned", reason=str(error))
            await self._clock.sleep(PRUNE_INTERVAL_S)

    async def _prune_outgoing(self) -> None:
        # A copy is put before the row that names it, so the newest ones may have none yet.
        before_s = self._clock.now_us() / 1_000_000 - OUTGOING_KEPT_S
        named = await self._store.read(list_open_hashes)
        await asyncio.to_thread(self._outgoing.prune, named, before_s)


def open_pruning(store: Store, clock: Clock, outgoing: Blobs, loaded: Loaded) -> Pruning:
    """What the settings that were loaded want pruned."""
    retention = Retention(store, clock, loaded.state_folder, loaded.settings.retention)
    return Pruning(store, clock, outgoing, retention)
