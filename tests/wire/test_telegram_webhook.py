"""Updates by webhook: only with the secret, 200 once stored, again until then."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import BytesIO

import aiohttp
import pytest
from fakes.telegram_world import (
    SECRET,
    TelegramIntake,
    TelegramWorld,
    make_channel,
    running,
)

from channels.rehearsal.telegram import RehearsalTelegram
from channels.rehearsal.telegram_core import PHOTO
from channels.rehearsal.telegram_state import ANA, CLUB, TOPIC_WORK
from channels.telegram.webhook import SECRET_HEADER
from geode.messages import JsonObject


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def webhook_settings(port: int) -> dict[str, object]:
    return {
        "mode": "webhook",
        "webhook_url": f"http://127.0.0.1:{port}/telegram",
        "webhook_secret": "env:TELEGRAM_WEBHOOK_SECRET",
        "webhook_listen": f"127.0.0.1:{port}",
    }


@asynccontextmanager
async def webhook_world() -> AsyncIterator[tuple[TelegramWorld, str]]:
    """A channel that Telegram posts to, and where."""
    async with RehearsalTelegram() as telegram:
        settings = webhook_settings(free_port())
        world = TelegramWorld(telegram, make_channel(telegram, **settings))
        async with running(world.channel, world.intake):
            await world.wait_state("up")
            yield world, str(settings["webhook_url"])


async def post(url: str, body: bytes, secret: str | None) -> int:
    headers = {} if secret is None else {SECRET_HEADER: secret}
    async with (
        aiohttp.ClientSession() as session,
        session.post(url, data=BytesIO(body), headers=headers) as response,
    ):
        return response.status


UPDATE = (
    b'{"update_id": 7, "message": {"message_id": 3, "date": 1, "text": "hi", '
    b'"chat": {"id": 101, "type": "private"}, "from": {"id": 101, "is_bot": false}}}'
)


async def test_webhook_is_registered_with_its_secret_and_no_poll_is_made() -> None:
    async with webhook_world() as (world, url):
        (call,) = [c["arguments"] for c in world.telegram.api.log if c["method"] == "setWebhook"]

        assert call == {
            "url": url,
            "secret_token": SECRET,
            "allowed_updates": ["message", "edited_message", "callback_query"],
        }
        world.telegram.say("hello", topic=TOPIC_WORK)
        await world.wait_confirmed()
        assert world.intake.texts == ["hello"]
        assert world.telegram.api.calls["getUpdates"] == 0
        assert world.telegram.counters()["refused"] == {}


@pytest.mark.parametrize("secret", [None, "", "wrong", SECRET[:-1], SECRET + "x", "é"])
async def test_update_without_the_secret_is_refused_and_stored_nowhere(secret: str | None) -> None:
    async with webhook_world() as (world, url):
        assert await post(url, UPDATE, secret) == 403
        assert world.intake.asked == []

        assert await post(url, UPDATE, SECRET) == 200
        assert world.intake.texts == ["hi"]


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"{", 400), (b"[]", 200), (b'{"update_id": 9}', 200), (b" " * (1 << 21), 413)],
)
async def test_body_that_is_no_update_stops_nothing(body: bytes, status: int) -> None:
    async with webhook_world() as (world, url):
        assert await post(url, body, SECRET) == status
        world.telegram.say("still here")
        await world.wait_confirmed()

        assert world.intake.texts == ["still here"]


async def test_update_that_could_not_be_stored_is_posted_again_until_it_is() -> None:
    async with webhook_world() as (world, _):
        world.intake.refusals = 2
        world.telegram.say("one")
        await world.wait_confirmed()

        assert world.intake.texts == ["one"]
        assert world.telegram.queue.delivered[100] == 3


async def test_update_is_answered_only_after_it_is_stored() -> None:
    async with webhook_world() as (world, _):
        world.intake.open.clear()
        world.telegram.say("hold this")
        await world.wait_for(lambda: world.intake.asked)
        assert len(world.telegram.queue.waiting) == 1

        world.intake.open.set()
        await world.wait_confirmed()


async def test_restart_of_the_bot_loses_nothing_and_doubles_nothing() -> None:
    async with RehearsalTelegram() as telegram:
        intake = TelegramIntake()
        settings = webhook_settings(free_port())
        async with running(make_channel(telegram, **settings), intake):
            telegram.say("one")
            await telegram.wait_for(lambda: not telegram.queue.waiting)
        telegram.say("two")
        async with running(make_channel(telegram, **settings), intake):
            await telegram.wait_for(lambda: not telegram.queue.waiting)

        assert intake.texts == ["one", "two"]


async def test_album_that_comes_one_part_at_a_time_is_stored_as_parts_tg_05() -> None:
    async with webhook_world() as (world, _):
        for caption in ("what is this?", "", ""):
            world.telegram.say(caption, chat=0, photo=PHOTO, media_group_id="g1")
        await world.wait_confirmed()

        assert [m.is_part for m in world.intake.messages] == [True, True, True]
        assert [len(m.files) for m in world.intake.messages] == [1, 1, 1]


async def test_refused_webhook_is_degraded_and_tried_again() -> None:
    async with RehearsalTelegram() as telegram:
        refusal = "Bad Request: bad webhook: only on ports 80, 88, 443 or 8443"
        telegram.fault("error", method="setWebhook", error=refusal)
        channel = make_channel(telegram, **webhook_settings(free_port()))
        async with running(channel, TelegramIntake()):
            await telegram.wait_for(lambda: channel.status().state == "degraded")
            assert "only on ports" in channel.status().reason
            await telegram.wait_for(lambda: channel.status().state == "up")


async def test_webhook_that_another_process_took_away_is_registered_again() -> None:
    async with webhook_world() as (world, _):
        world.telegram.queue.webhook = None
        await world.wait_for(lambda: world.telegram.queue.webhook)

        world.telegram.say("hello")
        await world.wait_confirmed()
        assert world.intake.texts == ["hello"]


async def test_place_that_is_taken_is_named() -> None:
    async with RehearsalTelegram() as telegram:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = int(taken.getsockname()[1])
            channel = make_channel(telegram, **webhook_settings(port))
            async with running(channel, TelegramIntake()):
                await telegram.wait_for(lambda: channel.status().state == "degraded")
                assert f"127.0.0.1:{port}" in channel.status().reason


async def test_polling_takes_over_from_a_webhook() -> None:
    async with RehearsalTelegram() as telegram:
        call: JsonObject = {"url": "http://127.0.0.1:9/x", "allowed_updates": []}
        await telegram.methods.table()["setWebhook"](call)
        telegram.say("waiting", chat=CLUB, user=ANA)
        intake = TelegramIntake()
        async with running(make_channel(telegram), intake):
            await telegram.wait_for(lambda: not telegram.queue.waiting)

        assert intake.texts == ["waiting"]
