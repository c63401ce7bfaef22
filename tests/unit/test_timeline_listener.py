"""Whoever listens to the timeline hears of rows that are committed, and of no other."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import pytest
from fakes.gate_room import SESSION, GateRoom, open_room

from geode.errors import StoreError
from geode.store.database import Tx
from geode.store.timeline import AppendedEntry, TimelineEntry, append_entries


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[GateRoom]:
    async with open_room(tmp_path) as opened:
        yield opened


def append(kind: str) -> AppendedEntry:
    return AppendedEntry(SESSION, TimelineEntry(kind, {}))


async def test_listener_hears_each_committed_row_once(room: GateRoom) -> None:
    heard: list[AppendedEntry] = []
    room.store.writer.listener = heard.extend

    def two(tx: Tx) -> None:
        append_entries(tx, SESSION, [append("a").entry], 1)
        append_entries(tx, SESSION, [append("b").entry, append("c").entry], 2)

    await room.store.write("two", two)
    await room.store.write("none", lambda tx: None)

    assert heard == [append("a"), append("b"), append("c")]


async def test_listener_hears_nothing_of_a_unit_that_failed(room: GateRoom) -> None:
    heard: list[AppendedEntry] = []
    room.store.writer.listener = heard.extend

    def fail(tx: Tx) -> None:
        append_entries(tx, SESSION, [append("lost").entry], 1)
        raise StoreError("on purpose")

    def keep(tx: Tx) -> None:
        append_entries(tx, SESSION, [append("kept").entry], 1)

    with pytest.raises(StoreError):
        await room.store.write("alone", fail)
    results = await _write_together(room, [keep, fail, keep, fail, keep])

    assert [isinstance(each, StoreError) for each in results] == [False, True, False, True, False]
    assert heard == [append("kept")] * 3


async def _write_together(room: GateRoom, units: Sequence[Callable[[Tx], None]]) -> list[object]:
    """Every unit in as few commits as the writer takes."""
    held, go = threading.Event(), threading.Event()

    def hold(tx: Tx) -> None:
        del tx
        held.set()
        go.wait(5)

    first = asyncio.create_task(room.store.write("hold", hold))
    await asyncio.to_thread(held.wait, 5)
    writes = [asyncio.create_task(room.store.write("unit", unit)) for unit in units]
    await asyncio.sleep(0)
    go.set()
    await first
    return await asyncio.gather(*writes, return_exceptions=True)
