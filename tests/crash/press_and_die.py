"""One process that takes a press of a card, or a word on the command line, and dies at a point."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

import orjson
from fakes.crash_points import Point, Trap
from fakes.spine_room import NoWakes, RoomClock, make_settings

from geode.intake.inbox import Inbox
from geode.messages import ButtonPress, Person, Thread
from geode.records.receipts import EffectReceiptStore
from geode.store.database import Store


async def main(database: Path, point: str, told: dict[str, str]) -> None:
    """Do what is told with a store that kills this process at the point."""
    clock, settings = RoomClock(), make_settings()
    store = Store.open(database, clock, Trap(Point(point, 1), signal.SIGKILL))
    if "settle" in told:
        receipts = EffectReceiptStore(store, clock)
        await receipts.settle_by_operator(told["settle"], happened=True, who="ada")
    else:
        door = Inbox(store, clock, settings, NoWakes())
        await door.accept(
            ButtonPress(
                Thread("loop", "T1", "C1", told["thread"]),
                told["message"],
                Person("U1"),
                told["nonce"],
                told["key"],
            )
        )
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], orjson.loads(sys.argv[3])))
