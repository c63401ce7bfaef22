"""A binding's memory: notes that outlive sessions, found by any part of their text."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from geode.ports import Clock
from geode.steps import ToolContext
from geode.store.database import Store
from geode.store.memories import NewMemory, has_memory, insert_memory, page_memories

PAGE_NOTES = 500
PAGES_MAX = 40
"""A search looks at the newest 20,000 notes of a binding."""


class BindingMemory:
    """The notes of every binding; none is visible from another binding."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def save(self, context: ToolContext, text: str) -> None:
        """Store one note under the call's operation id; raises `StaleEpochError` when fenced."""
        new = NewMemory(
            context.binding, context.session_id, context.epoch, context.operation_id, text
        )
        now_us = self._clock.now_us()
        await self._store.write("memory.save", lambda tx: insert_memory(tx, new, now_us))

    async def search(self, binding: str, query: str, limit: int) -> Sequence[str]:
        """Notes that contain the query, whatever its case or script, newest first."""
        wanted = _fold(query)
        found: list[str] = []
        before_id: int | None = None
        for _ in range(PAGES_MAX):
            page = await self._read_page(binding, before_id)
            # Compared here and not in SQL: databases fold the case of Latin letters at most.
            found += [text for _, text in page if wanted in _fold(text)]
            if len(found) >= limit or len(page) < PAGE_NOTES:
                break
            before_id = page[-1][0]
        return found[:limit]

    async def has(self, context: ToolContext) -> bool:
        """Whether the call's note is stored."""
        return await self._store.read(lambda tx: has_memory(tx, context.operation_id))

    async def _read_page(self, binding: str, before_id: int | None) -> Sequence[tuple[int, str]]:
        return await self._store.read(
            lambda tx: page_memories(tx, binding, before_id=before_id, limit=PAGE_NOTES)
        )


def _fold(text: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
