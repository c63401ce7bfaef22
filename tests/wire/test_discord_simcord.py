"""Our Discord code on simcord, a Discord that this project did not write.

simcord stands in for discord.py's HTTP client and feeds its event parsers. Our client reads frames
before those parsers, so each event is handed to it as the socket would. Our rules of interactions,
answers, commands and REST run unchanged; sockets, logins and rate limits are not simulated.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import discord
import orjson
import pytest
import simcord
from fakes.discord_intake import DiscordIntake
from fakes.discord_world import until
from fakes.slack_world import NoRedactor

from channels.discord.answers import Answers
from channels.discord.cards import button_rows
from channels.discord.commands import CommandBook
from channels.discord.desk import InteractionDesk
from channels.discord.failures import ALREADY_ANSWERED, PlatformRefusedError
from channels.discord.gateway import GatewayClient
from channels.discord.interactions import acknowledgement_of, parse_interaction
from channels.discord.parse import Dropped
from channels.discord.rest import DiscordRest
from channels.discord.spots import Spots
from geode.errors import SendRefusedError
from geode.messages import COMMANDS, Button, JsonObject
from geode.ports import Accepted, SystemClock

ALLOW, WHY = "a" * 22, "w" * 22
CALLBACK, ORIGINAL = "/callback", "/messages/@original"


class WorldClock(SystemClock):
    """The instant of the simulated world, in which its ids are made."""

    def __init__(self, env: Any) -> None:
        self._env = env

    def now_us(self) -> int:
        """The simulated instant."""
        return int(self._env.now().timestamp() * 1_000_000)


@dataclass
class Sim:
    """A simulated server with our client in it, our desk, and what the desk handed in."""

    env: Any
    rest: DiscordRest
    book: CommandBook
    answers: Answers
    intake: DiscordIntake
    desk: InteractionDesk
    guild: Any
    room: Any
    ana: Any
    shown: list[JsonObject]

    def sent(self, method: str, ending: str) -> list[Any]:
        """Our calls to addresses that end so."""
        seen = self.env.http_requests
        return [r for r in seen if r.method == method and r.path.endswith(ending)]

    async def register(self) -> None:
        """Tell Discord our commands."""
        await self.book.register(str(self.env.backend.application_id))

    async def post_card(self) -> Any:
        """A message with a button, and with one that asks for words."""
        buttons = (Button("Allow", ALLOW, "primary"), Button("Deny", WHY, asks="Why not?"))
        body: JsonObject = {"content": "Run this?", "components": button_rows(buttons)}
        await self.rest.create_message(str(self.room.id), body)
        return self.room.last_message

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[None]:
        """The desk at work for the length of the block."""
        task = asyncio.create_task(self.desk.run())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


@asynccontextmanager
async def sim() -> AsyncGenerator[Sim]:
    """Our client attached to simcord, without a desk at work."""
    heard: list[JsonObject] = []
    desks: list[InteractionDesk] = []

    def take(name: str, data: JsonObject) -> None:
        if name == "INTERACTION_CREATE":
            heard.append(data)
            desks[0].offer(data)

    client = GatewayClient(take, lambda: None, "")
    try:
        async with simcord.run(client) as env:

            def feed(event: str, payload: Mapping[str, Any]) -> None:
                frame = orjson.dumps({"op": 0, "t": event, "d": payload}).decode()
                client.dispatch("socket_raw_receive", frame)

            env.backend.subscribers.append(feed)
            world = _open(env, client, heard)
            desks.append(world.desk)
            yield world
    finally:
        await client.shut()


def _open(env: Any, client: GatewayClient, heard: list[JsonObject]) -> Sim:
    guild = env.create_guild()
    room = guild.create_text_channel("general")
    ana = guild.add_member(env.create_user("ana"))
    rest, intake, clock = DiscordRest(3.0), DiscordIntake(), WorldClock(env)
    rest.use(client)
    spots = Spots(rest)
    spots.use(client)
    answers = Answers(rest, clock, NoRedactor())
    desk = InteractionDesk(intake, spots, answers)
    book = CommandBook(rest, clock)
    return Sim(env, rest, book, answers, intake, desk, guild, room, ana, heard)


CLOSED = {
    "to speak": ("send_messages", "Send Messages"),
    "to see": ("view_channel", "View Channel"),
}


@pytest.mark.parametrize(("right", "words"), CLOSED.values(), ids=CLOSED)
async def test_missing_permission_is_said_in_plain_words(right: str, words: str) -> None:
    async with sim() as world:
        denied = discord.PermissionOverwrite(**{right: False})
        room = world.guild.create_text_channel(
            "closed", overwrites={world.guild.default_role: denied}
        )

        with pytest.raises(SendRefusedError, match=words):
            await world.rest.create_message(str(room.id), {"content": "hi"})

        assert room.history() == []


async def test_missing_permissions_to_open_a_thread_and_to_mark_are_named() -> None:
    async with sim() as world:
        denied = discord.PermissionOverwrite(create_public_threads=False, add_reactions=False)
        room = world.guild.create_text_channel(
            "closed", overwrites={world.guild.default_role: denied}
        )
        post = await world.ana.send(room, "hello")

        with pytest.raises(SendRefusedError, match="Create Public Threads"):
            await world.rest.open_thread(str(room.id), str(post.id), "hello")
        with pytest.raises(SendRefusedError, match="Add Reactions"):
            await world.rest.mark(str(room.id), str(post.id), is_on=True)


async def test_thread_is_opened_from_a_message_spoken_in_and_marked() -> None:
    async with sim() as world:
        post = await world.ana.send(world.room, "hello")
        here = str(post.id)

        await world.rest.open_thread(str(world.room.id), here, "hello")
        made = await world.rest.create_message(here, {"content": "hi @everyone"})
        await world.rest.edit_message(here, str(made["id"]), {"content": "hi all"})
        await world.rest.mark(str(world.room.id), here, is_on=True)

        (thread,) = world.room.threads
        assert [m.content for m in thread.history()][-1:] == ["hi all"]
        assert made["mentions"] == []
        assert made["mention_everyone"] is False


async def test_command_that_was_never_registered_cannot_be_called() -> None:
    async with sim() as world:
        with pytest.raises(simcord.SetupError, match="status"):
            await world.ana.slash(world.room, "status")

        await world.register()
        await world.register()

        assert set(world.ana.available_commands(world.room)) == set(COMMANDS)
        assert len(world.sent("PUT", "/commands")) == 1


async def test_command_is_deferred_in_private_then_answered_in_its_place() -> None:
    async with sim() as world, world.serving():
        await world.register()

        result = await world.ana.slash(world.room, "status", argument="now")
        await until(lambda: result.response is not None and result.response.content)

        (deferral,) = world.sent("POST", CALLBACK)
        assert deferral.json == {"type": 5, "data": {"flags": 64}}
        assert result.ephemeral
        assert result.response.content == "Done so."
        assert [(c.verb, c.argument) for c in world.intake.commands] == [("status", "now")]
        assert len(world.sent("PATCH", ORIGINAL)) == 1
        assert result.followups == []


async def test_press_is_acknowledged_once_and_answered_to_the_presser_alone() -> None:
    async with sim() as world, world.serving():
        card = await world.post_card()

        result = await world.ana.click(card, label="Allow")
        await until(lambda: result.followups)

        assert result.acknowledged
        assert [p.nonce for p in world.intake.presses] == [ALLOW]
        assert [(f.content, f.ephemeral) for f in result.followups] == [("Done so.", True)]
        assert len(world.sent("POST", CALLBACK)) == 1


async def test_button_that_asks_opens_a_form_and_its_words_come_in() -> None:
    async with sim() as world, world.serving():
        card = await world.post_card()

        asked = await world.ana.click(card, label="Deny")
        await until(lambda: asked.modal)
        assert world.intake.presses == []
        told = await world.ana.submit_modal(asked, {"answer": "Too risky"})
        await until(lambda: told.followups)

        assert told.acknowledged
        assert [(p.nonce, p.text) for p in world.intake.presses] == [(WHY, "Too risky")]
        assert len(world.sent("POST", CALLBACK)) == 2


async def test_second_acknowledgement_is_refused_and_never_made_by_us() -> None:
    async with sim() as world, world.serving():
        card = await world.post_card()
        result = await world.ana.click(card, label="Allow")
        await until(lambda: result.followups)

        world.desk.offer(world.shown[0])
        done = parse_interaction(world.shown[0])
        assert not isinstance(done, Dropped)
        assert world.desk.dropped["repeated"] == 1
        assert len(world.sent("POST", CALLBACK)) == 1

        path = "POST /interactions/{webhook_id}/{webhook_token}/callback"
        with pytest.raises(PlatformRefusedError) as refused:
            await world.rest.call(
                path, acknowledgement_of(done), webhook_id=done.id, webhook_token=done.token
            )
        assert refused.value.code == ALREADY_ANSWERED
        assert await world.answers.acknowledge(done)


async def test_interaction_heard_too_late_is_answered_in_the_place() -> None:
    async with sim() as world:
        world.intake.reply = Accepted("decided", answer="Too late to whisper.")
        card = await world.post_card()
        result = await world.ana.click(card, label="Allow")
        await world.env.advance_time(4)

        async with world.serving():
            await until(lambda: world.room.last_message.content == "Too late to whisper.")

        assert not result.acknowledged
        assert result.followups == []
