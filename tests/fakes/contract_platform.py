"""What the contract suite asks of a platform: people who act, a view of the place, and faults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, Protocol, Self

from geode.messages import Place
from geode.ports import Channel

Where = Literal["one", "two", "side", "direct"]
"""Two threads of one served channel, a served channel apart from it, and ana's direct messages."""
Who = Literal["ana", "ben", "stranger"]
"""Ana is served everywhere, Ben in the channels, the stranger nowhere."""


class ContractPlatform(Protocol):
    """A strict local server of one platform: what survives when its channel goes and comes.

    Entering it starts the server; leaving it stops the server.
    """

    name: str
    bindings: Sequence[Mapping[str, Any]]
    """One for the channel, one for the side channel, one for direct messages."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def make_channel(self) -> Channel:
        """A channel configured for the server and not connected yet; short time-outs."""
        ...

    async def begin(self, text: str, where: Where = "one", who: Who = "ana") -> str:
        """A person addresses the agent in a thread of that name; returns the message's id."""
        ...

    async def follow(self, place: Place, text: str, who: Who = "ana") -> str:
        """A person goes on in that thread, without a mention; returns the message's id."""
        ...

    def shown(self, place: Place) -> list[str]:
        """What stands there from the bot, oldest first, as everybody reads it now."""
        ...

    async def make_noise(self, place: Place, message_id: str) -> None:
        """What else happens around a person's message: nothing of it is a message or a press."""
        ...

    def labels(self, place: Place, message_id: str) -> list[str]:
        """The buttons that stand under a message of the bot now, by their words."""
        ...

    async def press(
        self, place: Place, message_id: str, label: str, who: Who = "ana", words: str = ""
    ) -> None:
        """A person presses a button of a message and, when it asks, answers with words."""
        ...

    async def command(self, place: Place, verb: str, argument: str, who: Who = "ana") -> None:
        """A person uses a command in the platform's own form."""
        ...

    def whispers(self, who: Who) -> list[str]:
        """What that person was told, alone where the platform can, oldest first."""
        ...

    async def share(self, place: Place, name: str, content: bytes, who: Who = "ana") -> str:
        """A person sends a file in that thread; returns the message's id."""
        ...

    def files(self, place: Place) -> list[tuple[str, bytes]]:
        """The bot's files that stand there, oldest first."""
        ...

    def lose_files(self) -> None:
        """What people sent is gone from the platform."""
        ...

    def drop_send_response(self) -> None:
        """The next new message arrives, and its answer is lost."""
        ...

    def drop_edit_response(self) -> None:
        """The next edit arrives, and its answer is lost."""
        ...

    def limit_next_send(self, wait_s: int) -> None:
        """The next new message is refused for so many seconds."""
        ...

    def hold_sends(self, word: str, seconds: float) -> None:
        """Every new message with that word is answered so much later, until `release`."""
        ...

    def release(self) -> None:
        """No fault is in force any more."""
        ...

    def remove_side(self) -> None:
        """The bot can reach the side channel no more, for good."""
        ...

    async def cut_receiving(self) -> None:
        """The connection on which the channel hears what is said breaks."""
        ...

    async def go_down(self) -> None:
        """The server cannot be reached."""
        ...

    async def come_back(self) -> None:
        """The server can be reached again, under the same address."""
        ...
