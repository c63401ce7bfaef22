"""Ends questions that nobody answered in time or nobody can, and lets their turns go on."""

from __future__ import annotations

from collections.abc import Callable, Collection

from geode.errors import StoreError
from geode.log import get_logger
from geode.messages import SessionId
from geode.ports import Clock
from geode.records.asking import RUNTIME, end_question, expire_questions
from geode.settings import Binding
from geode.store.approvals import UNDELIVERABLE, Word, has_due, list_waiting
from geode.store.database import Store, Tx

log = get_logger(__name__)

LOOK_INTERVAL_S = 5.0
ROWS_MAX = 100
NOBODY = Word(UNDELIVERABLE, RUNTIME, "Nobody is left here who may answer it.")


class Expiries:
    """Looks every few seconds for questions whose time is over; a restart loses none."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        on_ended: Callable[[SessionId], None],
        find_binding: Callable[[str], Binding | None],
    ) -> None:
        self._store = store
        self._clock = clock
        self._on_ended = on_ended
        self._find_binding = find_binding

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            try:
                await self.look()
            except StoreError as error:
                log.warning("approvals_not_expired", reason=str(error))
            await self._clock.sleep(LOOK_INTERVAL_S)

    async def look(self) -> None:
        """End what is due now, and what nobody is left to answer by the settings of now."""
        now_us = self._clock.now_us()
        left = [
            approval
            for key, approval in await self._store.read(lambda tx: list_waiting(tx, ROWS_MAX))
            if not can_answer(self._find_binding(key), approval.requesters)
        ]
        if not left and not await self._store.read(lambda tx: has_due(tx, now_us)):
            return

        def unit(tx: Tx) -> list[SessionId]:
            ended = [each.session_id for each in left if end_question(tx, each.id, NOBODY, now_us)]
            return [*ended, *expire_questions(tx, now_us, ROWS_MAX)]

        for session_id in dict.fromkeys(await self._store.write("approvals.expire", unit)):
            self._on_ended(session_id)


def can_answer(binding: Binding | None, requesters: Collection[str]) -> bool:
    """Whether anybody may still decide on a call that was asked for by these people."""
    if binding is None:
        return False
    asked = set(requesters) if binding.two_person else set[str]()
    return bool(set(binding.approvers) - asked)
