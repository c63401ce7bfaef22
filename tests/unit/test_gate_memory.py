"""Memory belongs to a binding, is saved once, and is found in any script (IN-03)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.gate_room import GateRoom, open_room

from geode.errors import StaleEpochError
from geode.ports import SystemClock
from geode.records.memories import PAGE_NOTES, BindingMemory

BINDING = "slack:T1/C1"


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[GateRoom]:
    async with open_room(tmp_path) as opened:
        yield opened


@pytest.fixture
def memory(room: GateRoom) -> BindingMemory:
    return BindingMemory(room.store, SystemClock())


async def test_notes_come_back_newest_first_and_only_as_many_as_wanted(
    room: GateRoom, memory: BindingMemory
) -> None:
    for position in range(4):
        await memory.save(room.context(position), f"note {position}")

    assert await memory.search(BINDING, "note", 3) == ["note 3", "note 2", "note 1"]


async def test_same_call_is_stored_once(room: GateRoom, memory: BindingMemory) -> None:
    assert not await memory.has(room.context())

    await memory.save(room.context(), "first")
    await memory.save(room.context(), "second")

    assert await memory.search(BINDING, "", 10) == ["first"]
    assert await memory.has(room.context())


async def test_another_binding_sees_nothing(room: GateRoom, memory: BindingMemory) -> None:
    await memory.save(replace(room.context(), binding="slack:T1/C2"), "secret plan")

    assert await memory.search(BINDING, "secret", 10) == []
    assert await memory.search("slack:T1/C2", "secret", 10) == ["secret plan"]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Meeting on MONDAY", "monday"),
        ("会議は月曜日です", "月曜"),
        ("Straße gesperrt", "STRASSE"),
        ("ПРИВЕТ мир", "привет"),
        ("café", "cafe\u0301"),
        ("100% sure_thing", "% sure_"),
        ("a\\b'c\"d", "\\b'c\""),
        ("🦊 den", "🦊"),
    ],
)
async def test_note_is_found_by_any_part_of_its_text(
    room: GateRoom, memory: BindingMemory, text: str, query: str
) -> None:
    await memory.save(room.context(), text)

    assert await memory.search(BINDING, query, 10) == [text]


@pytest.mark.parametrize("query", ["%", "_", "x%y", "wild*"])
async def test_wildcards_are_plain_characters(
    room: GateRoom, memory: BindingMemory, query: str
) -> None:
    await memory.save(room.context(), "wild card xy")

    assert await memory.search(BINDING, query, 10) == []


async def test_note_behind_many_newer_ones_is_found(room: GateRoom, memory: BindingMemory) -> None:
    await memory.save(room.context(0), "the needle")
    hay = (memory.save(room.context(position), "hay") for position in range(1, PAGE_NOTES + 2))
    await asyncio.gather(*hay)

    assert await memory.search(BINDING, "needle", 5) == ["the needle"]


async def test_fenced_worker_saves_nothing(room: GateRoom, memory: BindingMemory) -> None:
    room.take_over_now()

    with pytest.raises(StaleEpochError):
        await memory.save(room.context(), "late")

    assert await memory.search(BINDING, "", 10) == []
