"""The rooms that we keep ourselves: one copy, in order, and no change that a reader misses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from fakes.empty_database import lay_database

from geode.messages import OutboundFile, Person, Thread
from geode.ports import NoFailpoints, SystemClock
from geode.records.transcript import ROOMS, RoomTranscript
from geode.store.blobs import Blobs
from geode.store.database import Store
from geode.transcripts import RoomMessage

ROOM = Thread("web", "local", "room", "")
OTHER = Thread("web", "local", "other", "")
ANA = Person("ana", "Ana")


@pytest.fixture
async def kept(tmp_path: Path) -> AsyncIterator[RoomTranscript]:
    clock = SystemClock()
    lay_database(tmp_path / "geode.db")
    store = Store.open(tmp_path / "geode.db", clock, NoFailpoints())
    yield RoomTranscript(store, clock, Blobs(tmp_path / ROOMS))
    await store.close()


def saying(key: str, place: Thread = ROOM, **more: Any) -> RoomMessage:
    return RoomMessage(place, key, {"text": key}, **{"author": ANA, **more})


async def test_message_that_begins_a_thread_names_it(kept: RoomTranscript) -> None:
    first = await kept.put(saying("a"), begins_thread=True)
    reply = await kept.put(saying("b", first.thread, author=None))

    assert first.thread.thread == first.id
    assert list(await kept.read_thread(first.thread)) == [first, reply]
    assert first.id < reply.id
    assert (reply.author, first.author) == (None, ANA)


async def test_same_key_is_one_message_when_put_at_once(kept: RoomTranscript) -> None:
    puts = [kept.put(saying("once"), begins_thread=True) for _ in range(8)]

    found = await asyncio.gather(*puts)

    assert len({message.id for message in found}) == 1
    assert len(await kept.list_threads(ROOM, 10)) == 1


async def test_changed_message_is_seen_again_and_nothing_between_is_skipped(
    kept: RoomTranscript,
) -> None:
    first = await kept.put(saying("a"), begins_thread=True)
    second = await kept.put(saying("b", first.thread))
    seen = await kept.read_revision()

    changed = await kept.change(first.id, {"text": "new"})
    third = await kept.put(saying("c", first.thread))
    again = await kept.change(second.id, {"text": "newer"})

    assert list(await kept.read_changes("web", after=seen)) == [changed, third, again]
    assert [m.payload for m in await kept.read_thread(first.thread)] == [
        {"text": "new"},
        {"text": "newer"},
        {"text": "c"},
    ]


async def test_change_to_the_same_words_is_no_news(kept: RoomTranscript) -> None:
    first = await kept.put(saying("a"))
    seen = await kept.read_revision()

    assert await kept.change(first.id, {"text": "a"}) == first
    assert await kept.read_revision() == seen


@pytest.mark.parametrize("unknown", ["", "7", "٠" * 16, "0" * 16, "9" * 16, "-000000000000001"])
async def test_id_that_names_no_message_changes_and_finds_nothing(
    kept: RoomTranscript, unknown: str
) -> None:
    await kept.put(saying("a"))

    assert await kept.change(unknown, {"text": "x"}) is None
    assert await kept.read_message("web", unknown) is None


async def test_thread_is_read_page_by_page_from_its_end(kept: RoomTranscript) -> None:
    first = await kept.put(saying("0"), begins_thread=True)
    rest = [await kept.put(saying(str(n), first.thread)) for n in range(1, 7)]

    last = await kept.read_thread(first.thread, limit=3)
    before = await kept.read_thread(first.thread, before=last[0].id, limit=3)

    assert list(last) == rest[3:]
    assert list(before) == rest[:3]


async def test_people_of_a_room_are_read_back_without_the_agent_and_other_rooms(
    kept: RoomTranscript,
) -> None:
    first = await kept.put(saying("a"), begins_thread=True)
    await kept.put(saying("ours", first.thread, author=None))
    await kept.put(saying("elsewhere", OTHER), begins_thread=True)
    second = await kept.put(saying("b"), begins_thread=True)

    assert list(await kept.read_people(ROOM, after="")) == [first, second]
    assert list(await kept.read_people(ROOM, after=first.id)) == [second]
    late = second.said_at_us + 1
    assert list(await kept.read_people(ROOM, after="", since_us=late)) == []


async def test_private_answer_opens_no_thread_in_the_list(kept: RoomTranscript) -> None:
    quiet = await kept.put(saying("quiet", only_for="ana", author=None), begins_thread=True)
    older = await kept.put(saying("old"), begins_thread=True)
    newer = await kept.put(saying("new"), begins_thread=True)
    last = await kept.put(saying("again", older.thread))
    await kept.put(saying("whisper", newer.thread, only_for="ana", author=None))

    found = await kept.list_threads(ROOM, 10)

    assert [each.first for each in found] == [older, newer]
    assert found[0].last_at_us == last.said_at_us
    assert quiet in await kept.read_thread(quiet.thread)


async def test_what_was_answered_is_there_after_opening_again(tmp_path: Path) -> None:
    clock = SystemClock()
    store = Store.open(tmp_path / "geode.db", clock, NoFailpoints())
    before = RoomTranscript(store, clock, Blobs(tmp_path / ROOMS))
    sha256 = await before.put_file(b"words")
    file = OutboundFile("a.txt", "text/plain", 5, sha256)
    said = await before.put(saying("a", files=(file,)), begins_thread=True)
    await store.close()

    store = Store.open(tmp_path / "geode.db", clock, NoFailpoints())
    after = RoomTranscript(store, clock, Blobs(tmp_path / ROOMS))
    try:
        assert await after.find("web", "a") == said
        assert await after.get_file(sha256, 5) == b"words"
        assert await after.get_file(sha256, 4) is None
        assert await after.get_file("../../etc/passwd", 5) is None
    finally:
        await store.close()
