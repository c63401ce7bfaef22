"""Knows which addresses a person or the outside world named in a session."""

from __future__ import annotations

from collections.abc import Callable, Collection
from urllib.parse import urlsplit

from geode.messages import Message, Text, ToolResult
from geode.steps import ToolContext
from geode.store.database import Store
from geode.store.urls import find_mentions

FindUrls = Callable[[str], Collection[str]]
NormaliseUrl = Callable[[str], str | None]


class SessionUrls:
    """Answers from the stored conversation; what the model itself wrote names nothing."""

    def __init__(self, store: Store, find_urls: FindUrls, normalise_url: NormaliseUrl) -> None:
        self._store = store
        self._find_urls = find_urls
        self._normalise_url = normalise_url

    async def is_named(self, context: ToolContext, url: str) -> bool:
        """Whether exactly this URL, in its normal form, stands in a message that may name one."""
        wanted = self._normalise_url(url)
        if wanted is None:
            return False
        fragment = _searchable_part(wanted)
        found = await self._store.read(lambda tx: find_mentions(tx, context.session_id, fragment))
        return any(
            wanted in self._find_urls(text) for message in found for text in _outside_texts(message)
        )


def _outside_texts(message: Message) -> list[str]:
    if message.is_note:
        # The runtime may repeat what the model called a tool.
        return []
    if message.role == "user":
        return [block.text for block in message.blocks if isinstance(block, Text)]
    return [
        block.text for block in message.blocks if isinstance(block, ToolResult) and block.names_urls
    ]


def _searchable_part(url: str) -> str:
    """The longest part of the host that is written the same in every spelling of the URL."""
    labels = (urlsplit(url).hostname or "").split(".")
    plain = [label for label in labels if not label.startswith("xn--")]
    return max(plain, key=len, default="")
