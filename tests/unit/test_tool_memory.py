"""The memory tools: notes belong to a binding, any script is found (IN-03), a refusal is told."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes.tool_room import NotesInMemory, context

from geode.errors import StaleEpochError, StorageFullError
from geode.steps import Done, NotApplied
from geode.tools import memory_save, memory_search

ROWS = ("步2 重跑gen-itgc后50条悬空引用清零", "今天讨论了部署方案", 'C++ and "NEAR(" in ไทย テスト')


@pytest.mark.parametrize(
    "query", ["悬空", "部署", "部署方案", "itgc", "テスト", "C++", '"', "NEAR(", "ไทย"]
)
async def test_memory_search_finds_a_substring_of_any_script(query: str):
    notes = NotesInMemory()
    for position, row in enumerate(ROWS):
        await memory_save.build(notes).handler(context(position=position), {"text": row})

    ending = await memory_search.build(notes).handler(context(), {"query": query})

    assert isinstance(ending, Done)
    assert ending.text == "\n".join(f"- {row}" for row in reversed(ROWS) if query in row)
    assert not ending.names_urls


async def test_memory_search_sees_its_own_binding_only():
    notes = NotesInMemory()
    await memory_save.build(notes).handler(context(), {"text": "canary"})

    ending = await memory_search.build(notes).handler(
        replace(context(), binding="slack:T1/C2"), {"query": "canary"}
    )

    assert ending == Done("No note contains that.")


async def test_memory_save_with_a_full_disk_is_not_applied():
    notes = NotesInMemory()
    notes.refusal = StorageFullError("The disk refused the write.")

    ending = await memory_save.build(notes).handler(context(), {"text": "note"})

    assert ending == NotApplied("The note was not saved: The disk refused the write.")


async def test_memory_save_of_a_lost_lease_stops_the_worker():
    notes = NotesInMemory()
    notes.refusal = StaleEpochError("s1", 1)

    with pytest.raises(StaleEpochError):
        await memory_save.build(notes).handler(context(), {"text": "note"})


async def test_memory_save_of_blanks_is_not_applied():
    assert isinstance(
        await memory_save.build(NotesInMemory()).handler(context(), {"text": " \n"}), NotApplied
    )


async def test_memory_save_reconciles_by_its_own_operation():
    notes = NotesInMemory()
    tool = memory_save.build(notes)
    assert tool.reconcile is not None
    await tool.handler(context(position=1), {"text": "note"})

    assert await tool.reconcile(context(position=1), {"text": "note"}) is True
    assert await tool.reconcile(context(position=2), {"text": "note"}) is False


def test_memory_save_locks_the_memory_of_its_binding():
    tool = memory_save.build(NotesInMemory())
    assert tool.resources is not None

    assert tool.resources(context(), {"text": "x"}) == ("memory:slack:T1/C1",)
