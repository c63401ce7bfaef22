"""One process that presses a button of a card when it is told to go, and writes what came of it."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import orjson
from fakes.approval_room import make_ask_settings
from fakes.spine_room import NoWakes, RoomClock

from geode.intake.inbox import Inbox
from geode.messages import ButtonPress, Person, Thread
from geode.ports import NoFailpoints
from geode.store.database import Store

GO_S = 20.0


async def main(database: Path, told: dict[str, str]) -> list[str]:
    """Get ready, wait for the others, press; what came of it."""
    clock = RoomClock()
    store = Store.open(database, clock, NoFailpoints())
    door = Inbox(store, clock, make_ask_settings(), NoWakes())
    press = ButtonPress(
        Thread("loop", "T1", "C1", told["thread"]),
        told["message"],
        Person(told["who"]),
        told["nonce"],
        told["key"],
    )
    Path(told["end"]).with_suffix(".ready").touch()
    async with asyncio.timeout(GO_S):
        while not Path(told["go"]).exists():  # noqa: ASYNC110, ASYNC240
            await asyncio.sleep(0)
    accepted = await door.accept(press)
    await store.close()
    return [accepted.outcome, accepted.reason]


if __name__ == "__main__":
    orders = orjson.loads(sys.argv[2])
    told_back = asyncio.run(main(Path(sys.argv[1]), orders))
    Path(orders["end"]).write_bytes(orjson.dumps(told_back))
