"""A read sees what is committed, whatever became of the reads before it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from fakes.spine_room import THREAD, SpineRoom, open_room
from sqlalchemy import Connection, func, select, text

from geode.store.tables import inbox

COUNT = select(func.count()).select_from(inbox)
SLOW = text(
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000) "
    "SELECT (SELECT count(*) FROM inbox), (SELECT count(*) FROM n)"
)


async def cancel_a_read(room: SpineRoom, after_s: float) -> asyncio.Task[Any]:
    """A read that was cancelled while its statement ran, or had rows to give."""
    begun = asyncio.Event()

    def look(tx: Connection) -> None:
        begun.set()
        driver: Any = tx.connection.dbapi_connection
        driver.execute(str(SLOW))

    reading = asyncio.create_task(room.store.read(look))
    await begun.wait()
    await asyncio.sleep(after_s)
    reading.cancel()
    await asyncio.wait((reading,))
    return reading


async def test_cancelled_read_leaves_no_reader_behind_the_times(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        # Kept, as a traceback keeps it: then nothing else ends the statement.
        kept = list[asyncio.Task[Any]]()
        for number in range(8):
            kept.append(await cancel_a_read(room, 0.002 * number))
            await room.door.accept(room.platform.message(THREAD, f"message {number}"))

            seen = {
                await room.store.read(lambda tx: tx.execute(COUNT).scalar_one()) for _ in range(12)
            }

            assert seen == {number + 1}
        assert any(reading.cancelled() for reading in kept)
