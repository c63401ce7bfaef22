"""The toy platform of the docs under the contract suite."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any, Self

from fakes.contract_platform import Where, Who
from fakes.contract_toy_server import ANA, BEN, LOBBY, OTHER, TOKEN, Said, ToyServer
from fakes.slack_world import NoRedactor

from channels.rehearsal.faults import Fault, FaultKind
from geode.messages import Place
from geode.ports import Channel, ChannelContext, NoFailpoints, SystemClock

TOY_FILE = Path(__file__).resolve().parents[2] / "docs" / "toy_channel.py"


def load_toy() -> ModuleType:
    """The example of the docs as a module."""
    if "toy_channel" not in sys.modules:
        spec = importlib.util.spec_from_file_location("toy_channel", TOY_FILE)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["toy_channel"] = module
        spec.loader.exec_module(module)
    return sys.modules["toy_channel"]


class ToyPlatform:
    """The chat server of the toy channel."""

    name = "toy"
    bindings = (
        {"channel": "toy", "where": f"town/{LOBBY}", "people": [ANA, BEN], "operators": [ANA]},
        {"channel": "toy", "where": f"town/{OTHER}", "people": [ANA, BEN], "operators": [ANA]},
        {"channel": "toy", "where": "town/dm", "people": [ANA], "operators": [ANA]},
    )

    def __init__(self) -> None:
        self.server = ToyServer()

    async def __aenter__(self) -> Self:
        await self.server.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.server.stop()

    def make_channel(self) -> Channel:
        """A channel configured for the server and not connected yet."""
        toy: Any = load_toy()
        context = ChannelContext(SystemClock(), NoRedactor(), NoFailpoints(), {"token": TOKEN})
        made: Channel = toy.ToyChannel(toy.ToySettings(url=self.server.url), context)
        return made

    async def begin(self, text: str, where: Where = "one", who: Who = "ana") -> str:
        """A person mentions the agent, or writes to it directly."""
        if where == "direct":
            return self.server.say(text, author=who, room="").id
        room = OTHER if where == "side" else LOBBY
        return self.server.say(f"@geode {text}", author=who, room=room).id

    async def follow(self, place: Place, text: str, who: Who = "ana") -> str:
        """A person goes on in that thread."""
        thread = place.thread
        said = self.server.say(text, author=who, room=thread.channel, thread=thread.thread)
        return said.id

    def shown(self, place: Place) -> list[str]:
        """What everybody sees of the bot there."""
        said = self.server.shown(place.thread.channel, place.thread.thread)
        return [each.text for each in said]

    async def make_noise(self, place: Place, message_id: str) -> None:
        """Nothing: the server knows messages and presses."""

    def _said(self, message_id: str) -> Said:
        return next(each for each in self.server.said if each.id == message_id)

    def labels(self, place: Place, message_id: str) -> list[str]:
        """The buttons that stand under a message now."""
        return [button["label"] for button in self._said(message_id).buttons]

    async def press(
        self, place: Place, message_id: str, label: str, who: Who = "ana", words: str = ""
    ) -> None:
        """A person presses a button, with words when it asks for some."""
        said = self._said(message_id)
        button = next(each for each in said.buttons if each["label"] == label)
        assert bool(button["asks"]) == bool(words)
        self.server.press(said, button["choice"], author=who, text=words)

    async def command(self, place: Place, verb: str, argument: str, who: Who = "ana") -> None:
        """A person writes a command in the thread."""
        await self.follow(place, f"!{verb} {argument}", who)

    def whispers(self, who: Who) -> list[str]:
        """What only that person was shown."""
        return [each.text for each in self.server.said if each.only_for == who]

    async def share(self, place: Place, name: str, content: bytes, who: Who = "ana") -> str:
        """The toy has no files."""
        raise LookupError("the toy has no files")

    def files(self, place: Place) -> list[tuple[str, bytes]]:
        """The toy has no files."""
        return []

    def lose_files(self) -> None:
        """The toy has no files."""

    def _fault(self, kind: FaultKind, method: str, **more: Any) -> None:
        self.server.faults.set(Fault(kind, method, **more))

    def drop_send_response(self) -> None:
        """The next new message arrives, and its answer is lost."""
        self._fault(FaultKind.DROP_RESPONSE, "say")

    def drop_edit_response(self) -> None:
        """The next edit arrives, and its answer is lost."""
        self._fault(FaultKind.DROP_RESPONSE, "edit")

    def limit_next_send(self, wait_s: int) -> None:
        """The next new message is refused for so many seconds."""
        self._fault(FaultKind.RATE_LIMITED, "say", retry_after_s=wait_s)

    def hold_sends(self, word: str, seconds: float) -> None:
        """Messages with that word are answered later."""
        self._fault(FaultKind.SLOW_RESPONSE, "say", contains=word, times=0, delay_s=seconds)

    def release(self) -> None:
        """No fault is in force any more."""
        self.server.faults.clear()

    def remove_side(self) -> None:
        """The room is gone."""
        self.server.rooms.discard(OTHER)

    async def cut_receiving(self) -> None:
        """The poll breaks."""
        self.server.disconnect()

    async def go_down(self) -> None:
        """Nobody listens."""
        await self.server.stop()

    async def come_back(self) -> None:
        """The server listens again."""
        await self.server.start()
