"""Ends questions that nobody answered in time, and lets their turns go on."""

from __future__ import annotations

from collections.abc import Callable

from geode.errors import StoreError
from geode.log import get_logger
from geode.messages import SessionId
from geode.ports import Clock
from geode.records.asking import expire_questions
from geode.store.approvals import has_due
from geode.store.database import Store

log = get_logger(__name__)

LOOK_INTERVAL_S = 5.0
ROWS_MAX = 100


class Expiries:
    """Looks every few seconds for questions whose time is over; a restart loses none."""

    def __init__(self, store: Store, clock: Clock, on_ended: Callable[[SessionId], None]) -> None:
        self._store = store
        self._clock = clock
        self._on_ended = on_ended

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            try:
                await self.look()
            except StoreError as error:
                log.warning("approvals_not_expired", reason=str(error))
            await self._clock.sleep(LOOK_INTERVAL_S)

    async def look(self) -> None:
        """End what is due now."""
        now_us = self._clock.now_us()
        if not await self._store.read(lambda tx: has_due(tx, now_us)):
            return
        ended = await self._store.write(
            "approvals.expire", lambda tx: expire_questions(tx, now_us, ROWS_MAX)
        )
        for session_id in ended:
            self._on_ended(session_id)
