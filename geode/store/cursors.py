"""How far each place was read: what a catch-up after a gap starts from.

A cursor's floor, below which nothing is missing, is where the channel's last confirmed reading
ended. Live messages do not move it.
"""

from __future__ import annotations

from sqlalchemy import Connection, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from geode.messages import Thread
from geode.ports import CatchUpRoot, CatchUpThread
from geode.store.statements import Statement
from geode.store.tables import cursors, sessions, threads

_OPEN = Statement(
    upsert(cursors).on_conflict_do_nothing(),
    ("platform", "workspace", "channel", "thread", "floor_key", "floor_id", "at_us"),
)


def open_cursor(
    tx: Connection, thread: Thread, order_key: str, message_id: str, *, is_begun: bool = True
) -> None:
    """Know a place from the first message on that is stored of it.

    Nothing before that message is missing, unless the place was served before without having a row
    (`is_begun`).
    """
    row = {
        "platform": thread.platform,
        "workspace": thread.workspace,
        "channel": thread.channel,
        "thread": thread.thread,
        "floor_key": order_key if is_begun else "",
        "floor_id": message_id if is_begun else "",
        "at_us": 0,
    }
    _OPEN.run(tx, row)


def begin_cursor(tx: Connection, place: Thread, now_us: int) -> None:
    """A place is served from now on: nothing older is ever read back."""
    made = upsert(cursors).values(
        platform=place.platform,
        workspace=place.workspace,
        channel=place.channel,
        thread=place.thread,
        floor_key="",
        floor_id="",
        at_us=now_us,
    )
    tx.execute(made.on_conflict_do_nothing())


def raise_floor(tx: Connection, place: Thread, order_key: str, message_id: str) -> None:
    """Nothing of a known place is missing up to this message; a floor never sinks."""
    tx.execute(
        update(cursors)
        .where(
            cursors.c.platform == place.platform,
            cursors.c.workspace == place.workspace,
            cursors.c.channel == place.channel,
            cursors.c.thread == place.thread,
            cursors.c.floor_key < order_key,
        )
        .values(floor_key=order_key, floor_id=message_id)
    )


def list_roots(tx: Connection, platform: str) -> tuple[CatchUpRoot, ...]:
    """Every place whose roots are read back, direct messages included."""
    rows = tx.execute(
        select(cursors.c.workspace, cursors.c.channel, cursors.c.floor_id, cursors.c.at_us)
        .where(cursors.c.platform == platform, cursors.c.thread == "")
        .order_by(cursors.c.workspace, cursors.c.channel)
    )
    return tuple(CatchUpRoot(*row) for row in rows)


def list_threads(
    tx: Connection, platform: str, active_since_us: int, limit: int
) -> tuple[CatchUpThread, ...]:
    """Threads people used lately, the latest first, with the floor of each."""
    rows = tx.execute(
        select(cursors)
        .join(
            threads,
            (threads.c.platform == cursors.c.platform)
            & (threads.c.workspace == cursors.c.workspace)
            & (threads.c.channel == cursors.c.channel)
            & (threads.c.thread == cursors.c.thread),
        )
        .join(sessions, sessions.c.id == threads.c.session_id)
        .where(
            cursors.c.platform == platform,
            cursors.c.thread != "",
            sessions.c.active_at_us >= active_since_us,
        )
        .order_by(sessions.c.active_at_us.desc())
        .limit(limit)
    )
    return tuple(
        CatchUpThread(Thread(row.platform, row.workspace, row.channel, row.thread), row.floor_id)
        for row in rows
    )
