"""Slack under the contract suite: the strict local Slack and the real channel."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from fakes.contract_platform import Where, Who
from fakes.slack_world import TEAM, make_channel

from channels.fields import object_of, objects_of, text_of, to_object
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
        """The buttons of a message's blocks, by their words."""
        post = self.slack.workspace.find_post(place.thread.channel, message_id)
        assert post is not None
        blocks = [to_object(block) for block in post.blocks]
        buttons = [each for block in blocks for each in objects_of(block, "elements")]
        return [text_of(object_of(each, "text"), "text") for each in buttons]

    async def press(
        self, place: Place, message_id: str, label: str, who: Who = "ana", words: str = ""
    ) -> None:
        """A person presses a button, and fills in the form that it opens."""
        known = set(self.slack.interactions.views)
        await self.slack.press(place.thread.channel, message_id, label, PEOPLE[who])
        if words:
            views = self.slack.interactions.views
            await self.slack.wait_for(lambda: set(views) - known)
            (view_id,) = set(views) - known
            await self.slack.interactions.submit(view_id, words)

    async def command(self, place: Place, verb: str, argument: str, who: Who = "ana") -> None:
        """A person writes a command: Slack takes no slash command in a thread."""
        await self.follow(place, f"!{verb} {argument}", who)

    def whispers(self, who: Who) -> list[str]:
        """What only that person was shown."""
        shown = self.slack.workspace.ephemerals
        return [text_of(each, "text") for each in shown if text_of(each, "user") == PEOPLE[who]]

    async def share(self, place: Place, name: str, content: bytes, who: Who = "ana") -> str:
        """A person sends a file in that thread."""
        thread = place.thread
        spot = {"user": PEOPLE[who], "channel": thread.channel}
        post = await self.slack.share(name, content, thread_ts=thread.thread, **spot)
        return post.ts

    def files(self, place: Place) -> list[tuple[str, bytes]]:
        """The bot's files of the thread."""
        kept = self.slack.files.kept
        posts = self.slack.bot_posts(place.thread.channel, place.thread.thread or None)
        shown = [kept[text_of(file, "id")] for post in posts for file in post.files]
        return [(file.name, file.content or b"") for file in shown]

    def lose_files(self) -> None:
        """The bytes are deleted."""
        for file in self.slack.files.kept.values():
            file.content = None

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
