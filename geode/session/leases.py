"""The leases this worker holds: renewed together, and noticed at once when one is lost."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from geode.errors import StoreError
from geode.log import get_logger
from geode.messages import SessionId, TurnId
from geode.ports import Clock
from geode.store.database import Store
from geode.store.leases import renew_leases
from geode.store.turns import find_stopped

log = get_logger(__name__)

NO_TURN = TurnId("")
STOP_LOOK_S = 1.0
"""How often the store is asked whether a turn that runs here is to be stopped."""


@dataclass(slots=True)
class Lease:
    """One session's lease; `is_held` is the cheap check, the store's epoch the certain one."""

    session_id: SessionId
    epoch: int
    until: float
    """Monotonic seconds up to which the lease certainly holds."""
    clock: Clock
    turn_id: TurnId = NO_TURN
    is_lost: bool = False
    holder: asyncio.Task[None] | None = field(default=None, repr=False)
    stop: asyncio.Event = field(default_factory=asyncio.Event, repr=False)
    """Set once a person wants the turn to end without an answer."""

    def is_held(self) -> bool:
        """Whether the lease still holds, without asking the store."""
        return not self.is_lost and self.clock.monotonic() < self.until


class Leases:
    """Keeps every lease of this worker alive until it is dropped."""

    def __init__(self, store: Store, clock: Clock, owner: str, lease_s: float) -> None:
        self._store = store
        self._clock = clock
        self._held: dict[SessionId, Lease] = {}
        self.owner = owner
        self.lease_s = lease_s

    @property
    def lease_us(self) -> int:
        """How long one renewal lasts."""
        return int(self.lease_s * 1_000_000)

    def hold(
        self, session_id: SessionId, epoch: int, since: float, turn_id: TurnId = NO_TURN
    ) -> Lease:
        """Start keeping a lease that the running task took; `since`: monotonic, before its claim.

        The store counts from within the claim, so a commit that was slow leaves less than it seems.
        """
        until = since + self.lease_s
        holder = asyncio.current_task()
        lease = Lease(session_id, epoch, until, self._clock, turn_id, holder=holder)
        self._held[session_id] = lease
        return lease

    def drop(self, lease: Lease) -> None:
        """Stop keeping the lease."""
        lease.is_lost = True
        if self._held.get(lease.session_id) is lease:
            del self._held[lease.session_id]

    async def keep(self) -> None:
        """Renew what is held, three times per lease, until cancelled."""
        while True:
            await self._clock.sleep(self.lease_s / 3)
            if self._held:
                await self._renew(dict(self._held))

    def stop(self, session_id: SessionId, turn_id: TurnId) -> None:
        """End the turn without an answer, if it is this one that runs here."""
        lease = self._held.get(session_id)
        if lease is not None and lease.turn_id == turn_id:
            lease.stop.set()

    async def watch_stops(self) -> None:
        """See within a second what another process, or a lost wake, wants stopped."""
        while True:
            await self._clock.sleep(STOP_LOOK_S)
            if not self._held:
                continue
            held = tuple(self._held)
            try:
                stopped = await self._store.read(lambda tx, ids=held: find_stopped(tx, ids))
            except StoreError as error:
                log.warning("stops_not_read", reason=str(error))
                continue
            for session_id, turn_id in stopped.items():
                self.stop(session_id, turn_id)

    async def _renew(self, held: dict[SessionId, Lease]) -> None:
        epochs = {session_id: lease.epoch for session_id, lease in held.items()}
        started = self._clock.monotonic()
        until_us = self._clock.now_us() + self.lease_us
        try:
            renewed = await self._store.write(
                "lease.renew", lambda tx: renew_leases(tx, epochs, until_us)
            )
        except StoreError as error:
            log.warning("lease_not_renewed", reason=str(error))
            return
        for session_id, lease in held.items():
            if session_id in renewed:
                lease.until = started + self.lease_s
            elif not lease.is_lost:
                self._lose(lease)

    def _lose(self, lease: Lease) -> None:
        lease.is_lost = True
        log.warning("lease_lost", session=lease.session_id, epoch=lease.epoch)
        if lease.holder is not None:
            lease.holder.cancel("the lease was taken over")
