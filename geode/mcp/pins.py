"""Accepted definitions of other servers' tools: the first one seen, then what a person took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from geode.errors import ControlError
from geode.ports import Clock
from geode.store.database import Store
from geode.store.pinned_tools import Pin, Sighting, accept_offer, load_pins, record_sightings

BY_CONFIGURATION = "the configuration"
"""Who accepts the first definition of a tool: whoever listed it with an effect."""


class PinnedDefinitions:
    """The pins of all servers, in the store."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def record(self, server: str, seen: Sequence[Sighting]) -> Mapping[str, Pin]:
        """Pin what was never seen and note what differs; the server's pins by tool."""
        return await self._store.write(
            "mcp.pins",
            partial(
                record_sightings,
                server=server,
                seen=seen,
                accepted_by=BY_CONFIGURATION,
                now_us=self._clock.now_us(),
            ),
        )

    async def list_changed(self, server: str, tool: str = "") -> Sequence[Pin]:
        """Those of a server that it describes otherwise than they were accepted."""
        pins = await self._store.read(lambda tx: load_pins(tx, server))
        return [pin for pin in pins if pin.offered_digest and tool in {"", pin.tool}]

    async def accept(self, server: str, tool: str, digest: str, who: str) -> Pin:
        """Take the newer definition that has this digest; raises `ControlError` for another one."""
        changed = await self.list_changed(server, tool)
        offer = next((pin for pin in changed if pin.offered_digest == digest), None)
        now_us = self._clock.now_us()
        if offer is None or not await self._store.write(
            "mcp.accept", partial(accept_offer, pin=offer, who=who, now_us=now_us)
        ):
            raise ControlError(
                f"{tool[:80]} of the server {server[:40]} is not described like that any more; "
                f"look at it again."
            )
        pins = await self._store.read(lambda tx: load_pins(tx, server))
        return next(pin for pin in pins if pin.tool == tool)
