"""Reminds reviewers once a day of answers that wait for them; it never decides one."""

from __future__ import annotations

from collections.abc import Callable

from geode.errors import StoreError
from geode.log import get_logger
from geode.messages import SessionId
from geode.ports import Clock
from geode.records.reviewing import remind_reviewers
from geode.reply.review_cards import DAY_US
from geode.store.database import Store
from geode.store.reviews import find_unreminded

log = get_logger(__name__)

LOOK_INTERVAL_S = 30.0
ROWS_MAX = 100


class Reminders:
    """Looks every half minute for reviews that wait for a day or more; a restart loses none."""

    def __init__(self, store: Store, clock: Clock, on_told: Callable[[SessionId], None]) -> None:
        self._store = store
        self._clock = clock
        self._on_told = on_told

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            try:
                await self.look()
            except StoreError as error:
                log.warning("reviewers_not_reminded", reason=str(error))
            await self._clock.sleep(LOOK_INTERVAL_S)

    async def look(self) -> None:
        """Remind of what is due now."""
        now_us = self._clock.now_us()
        if not await self._store.read(lambda tx: find_unreminded(tx, now_us - DAY_US, 1)):
            return
        told = await self._store.write(
            "reviews.remind", lambda tx: remind_reviewers(tx, now_us, ROWS_MAX)
        )
        for session_id in told:
            self._on_told(session_id)
