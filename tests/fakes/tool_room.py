"""Stand-ins for what the tools need of other rooms, and a context to call them with."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import replace

from geode.errors import StoreError
from geode.messages import JsonObject, Mode, SessionId, TurnId
from geode.steps import Done, Ending, NotApplied, Tool, ToolContext
from geode.tools.urls import find_urls

CONTEXT = ToolContext(
    session_id=SessionId("s1"),
    turn_id=TurnId("t1"),
    step=1,
    position=0,
    epoch=1,
    mode=Mode.DAEMON,
    binding="slack:T1/C1",
    model="rehearsal",
)


def context(session: str = "s1", *, position: int = 0) -> ToolContext:
    """A context of that session; another position is another operation."""
    return replace(CONTEXT, session_id=SessionId(session), position=position)


class SaidUrls:
    """A witness over texts: what a session's people and results said."""

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)

    async def is_named(self, context: ToolContext, url: str) -> bool:
        """Whether one of the texts names exactly that URL."""
        del context
        return any(url in find_urls(text) for text in self.texts)


class NotesInMemory:
    """A memory store without a disk, which refuses when told to."""

    def __init__(self) -> None:
        self.notes: dict[str, tuple[str, str]] = {}
        self.refusal: StoreError | None = None

    async def save(self, context: ToolContext, text: str) -> None:
        """Store one note under the operation."""
        if self.refusal is not None:
            raise self.refusal
        self.notes[context.operation_id] = (context.binding, text)

    async def search(self, binding: str, query: str, limit: int) -> Sequence[str]:
        """Notes of the binding that contain the query, newest first."""
        wanted = unicodedata.normalize("NFC", query)
        found = [
            text
            for owner, text in reversed(self.notes.values())
            if owner == binding and wanted in unicodedata.normalize("NFC", text)
        ]
        return found[:limit]

    async def has(self, context: ToolContext) -> bool:
        """Whether the operation's note is there."""
        return context.operation_id in self.notes


async def call(tool: Tool, position: int = 0, **arguments: object) -> Ending:
    """Call the tool's handler as the operation at that position."""
    return await tool.handler(context(position=position), arguments_of(arguments))


def arguments_of(arguments: dict[str, object]) -> JsonObject:
    """Arguments as the schema would let them pass."""
    return dict(arguments)  # pyright: ignore[reportReturnType]


def text_of(ending: Ending) -> str:
    """The text of a call that did what it says."""
    assert isinstance(ending, Done), ending
    return ending.text


def reason_of(ending: Ending) -> str:
    """The reason of a call of which nothing happened."""
    assert isinstance(ending, NotApplied), ending
    return ending.reason
