"""Slack under the contract suite: the strict local Slack and the real channel."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from fakes.contract_platform import Where, Who
from fakes.slack_world import TEAM, make_channel

from channels.rehearsal.slack import RehearsalSlack
from channels.rehearsal.slack_state import Room
from geode.messages import Place
from geode.ports import Channel

GENERAL, SIDE = "C0GENERAL", "C0SIDE"
ANA, BEN = "U0ANA", "U0BEN"
PEOPLE: dict[Who, str] = {"ana": ANA, "ben": BEN, "stranger": "U0STRANGER"}


class SlackPlatform:
    """One Slack workspace."""

    name = "slack"
    bindings = (
        {"channel": name, "where": f"{TEAM}/{GENERAL}", "people": [ANA, BEN], "operators": [ANA]},
        {"channel": name, "where": f"{TEAM}/{SIDE}", "people": [ANA, BEN], "operators": [ANA]},
        {"channel": name, "where": f"{TEAM}/dm", "people": [ANA], "operators": [ANA]},
    )

    def __init__(self) -> None:
        self.slack = RehearsalSlack(ack_deadline_s=0.5)
        members = {"UBOT", *PEOPLE.values()}
        self.slack.workspace.add_room(Room(SIDE, "side", members))

    async def __aenter__(self) -> Self:
        await self.slack.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.slack.stop()

    def make_channel(self) -> Channel:
        """A channel configured for the workspace and not connected yet."""
        return make_channel(self.slack)

    async def begin(self, text: str, where: Where = "one", who: Who = "ana") -> str:
        """A person mentions the agent in a new message, or writes to it directly."""
        if where == "direct":
            return (await self.slack.say(text, user=PEOPLE[who], channel="")).ts
        room = SIDE if where == "side" else GENERAL
        post = await self.slack.say(f"<@UBOT> {text}", user=PEOPLE[who], channel=room)
        return post.ts

    async def follow(self, place: Place, text: str, who: Who = "ana") -> str:
        """A person goes on in that thread."""
        thread = place.thread
        post = await self.slack.say(
            text, user=PEOPLE[who], channel=thread.channel, thread_ts=thread.thread
        )
        return post.ts

    def shown(self, place: Place) -> list[str]:
        """What stands in the thread from the bot."""
        root = place.thread.thread or None
        return [post.text for post in self.slack.bot_posts(place.thread.channel, root)]

    async def make_noise(self, place: Place, message_id: str) -> None:
        """Previews, reactions, arrivals, and a shape that nobody knows yet."""
        await self.slack.unfurl(place.thread.channel, message_id)
        for kind in ("reaction_added", "app_home_opened", "member_joined_channel", "tomorrow"):
            await self.slack.send_event({"type": kind, "user": ANA, "channel": GENERAL})
        await self.slack.send_event({"type": "message", "subtype": "tomorrow", "channel": GENERAL})

    def labels(self, place: Place, message_id: str) -> list[str]:
        """The buttons that stand under a message now."""
        raise LookupError("no button is looked for here yet")

    async def press(
        self, place: Place, message_id: str, label: str, who: Who = "ana", words: str = ""
    ) -> None:
        """A person presses a button."""
        raise LookupError("no button is pressed here yet")

    async def command(self, place: Place, verb: str, argument: str, who: Who = "ana") -> None:
        """A person uses a command."""
        raise LookupError("no command is used here yet")

    def whispers(self, who: Who) -> list[str]:
        """What that person was told."""
        raise LookupError("nobody is told anything here yet")

    def drop_send_response(self) -> None:
        """The next post arrives, and its answer is lost."""
        self.slack.fault("drop_response", method="chat.postMessage")

    def drop_edit_response(self) -> None:
        """The next edit arrives, and its answer is lost."""
        self.slack.fault("drop_response", method="chat.update")

    def limit_next_send(self, wait_s: int) -> None:
        """The next post is refused for so many seconds."""
        self.slack.fault("rate_limited", method="chat.postMessage", retry_after_s=wait_s)

    def hold_sends(self, word: str, seconds: float) -> None:
        """Posts with that word are answered later."""
        self.slack.fault(
            "slow_response", method="chat.postMessage", contains=word, times=0, delay_s=seconds
        )

    def release(self) -> None:
        """No fault is in force any more."""
        self.slack.faults.clear()

    def remove_side(self) -> None:
        """The channel is archived."""
        self.slack.workspace.rooms[SIDE].is_archived = True

    async def cut_receiving(self) -> None:
        """Every socket breaks."""
        await self.slack.hub.close()

    async def go_down(self) -> None:
        """Nobody listens."""
        await self.slack.stop()

    async def come_back(self) -> None:
        """Slack listens again, on the port of before."""
        await self.slack.start()
