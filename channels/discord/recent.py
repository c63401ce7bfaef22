"""What was said lately: who wrote a message and how it began; bounded, and only a convenience."""

from __future__ import annotations

from collections import OrderedDict

from geode.messages import InboundMessage

REMEMBERED_MAX = 5_000
TITLE_CHARS_MAX = 80
NO_TITLE = "Conversation"


class RecentMessages:
    """Forgets the oldest; after a restart it knows nothing, and nothing depends on it."""

    def __init__(self) -> None:
        self._messages: OrderedDict[str, tuple[str, str]] = OrderedDict()

    def remember(self, message: InboundMessage) -> None:
        """Keep the author and the beginning of a message."""
        self._messages[message.message_id] = (message.sender.id, title_of(message.text))
        if len(self._messages) > REMEMBERED_MAX:
            self._messages.popitem(last=False)

    def author_of(self, message_id: str) -> str:
        """Who wrote it, or nothing when it is not remembered."""
        return self._messages.get(message_id, ("", ""))[0]

    def title_of(self, message_id: str) -> str:
        """A name for the thread that is opened from it."""
        return self._messages.get(message_id, ("", NO_TITLE))[1]


def title_of(text: str) -> str:
    """The first words of a text, as a thread's name."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    if len(line) <= TITLE_CHARS_MAX:
        return line or NO_TITLE
    return line[: TITLE_CHARS_MAX - 1].rstrip() + "…"
