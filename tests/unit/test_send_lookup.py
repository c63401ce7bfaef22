"""A platform that finds by words: what is found must not be another part's message."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.spine_room import THREAD, SpineRoom, open_room

from geode.messages import SessionId
from geode.store.outbox import NewOutbox, add_outbox
from geode.store.tables import outbox_parts


async def put(room: SpineRoom, session_id: SessionId, *texts: str) -> None:
    for number, text in enumerate(texts):
        new = NewOutbox("notice", f"{number} {text}", text)
        await room.store.write(
            "put", lambda tx, new=new: add_outbox(tx, session_id, new, room.clock.now_us())
        )


async def outcomes(room: SpineRoom) -> list[tuple[str, str]]:
    return await room.rows(
        outbox_parts.c.state, outbox_parts.c.error, order=outbox_parts.c.outbox_id
    )


@pytest.mark.parametrize(
    ("faults", "shown"),
    [
        pytest.param(["", "unsent"], ["same", "same"], id="second was lost"),
        pytest.param(["", "dropped"], ["same", "same", "same"], id="second arrived"),
    ],
)
async def test_equal_message_of_another_part_does_not_count_as_this_one(
    tmp_path: Path, faults: list[str], shown: list[str]
) -> None:
    async with open_room(tmp_path) as room:
        await room.say("begin")
        session_id = await room.session_id()
        room.platform.finds_by_words = True
        room.platform.faults = faults
        await put(room, session_id, "same", "same")

        await room.worker().deliver(session_id)

        assert room.platform.texts(THREAD) == shown
        assert await outcomes(room) == [("committed", ""), ("committed", "possibly doubled")]


async def test_message_found_by_its_words_counts_when_no_other_part_is_it(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        await room.say("begin")
        session_id = await room.session_id()
        room.platform.finds_by_words = True
        room.platform.faults = ["", "dropped"]
        await put(room, session_id, "one", "two")

        await room.worker().deliver(session_id)

        assert room.platform.texts(THREAD) == ["one", "two"]
        assert [state for state, _ in await outcomes(room)] == ["committed", "reconciled"]
