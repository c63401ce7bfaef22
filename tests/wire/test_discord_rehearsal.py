"""The stand-in is strict: it refuses what Discord refuses, with Discord's codes, and counts it."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import orjson
import pytest
from fakes.discord_cards import CARD
from fakes.discord_intake import DiscordIntake
from fakes.discord_world import HELLO, make_remote_channel, running, trusting_file, until

from channels.rehearsal.discord import RehearsalDiscord
from channels.rehearsal.discord_remote import RemoteDiscord, spawn_discord
from channels.rehearsal.discord_state import ANA, FORUM, GENERAL
from geode.messages import OutboundBody, Place

API = "https://discord.com/api/v10"
SILENT: dict[str, Any] = {"parse": []}


@asynccontextmanager
async def session_of(discord: RehearsalDiscord) -> AsyncIterator[aiohttp.ClientSession]:
    context = ssl.create_default_context(cafile=str(discord.ca_path))
    connector = aiohttp.TCPConnector(ssl=context)
    async with aiohttp.ClientSession(connector=connector, proxy=discord.proxy_url) as session:
        yield session


async def post(
    discord: RehearsalDiscord, path: str, body: object, **headers: str
) -> tuple[int, dict[str, Any], str]:
    sent = {"Authorization": f"Bot {discord.bot_token}", "Content-Type": "application/json"}
    async with session_of(discord) as session:
        raw = orjson.dumps(body)
        async with session.post(f"{API}/{path}", data=raw, headers=sent | headers) as answer:
            return answer.status, orjson.loads(await answer.read() or b"{}"), answer.content_type


MESSAGES = f"channels/{GENERAL}/messages"
REFUSALS = {
    "no text": (MESSAGES, {"content": " ", "allowed_mentions": SILENT}, 400, 50006),
    "2,001 characters": (MESSAGES, {"content": "x" * 2001, "allowed_mentions": SILENT}, 400, 50035),
    "mentions left open": (MESSAGES, {"content": "x"}, 400, 50035),
    "nonce of 26": (
        MESSAGES,
        {"content": "x", "allowed_mentions": SILENT, "nonce": "n" * 26},
        400,
        50035,
    ),
    "no nonce to enforce": (
        MESSAGES,
        {"content": "x", "allowed_mentions": SILENT, "enforce_nonce": True},
        400,
        50035,
    ),
    "unknown channel": ("channels/1/messages", {"content": "x"}, 404, 10003),
    "forum": (f"channels/{FORUM}/messages", {"content": "x"}, 400, 50008),
    "thread of nothing": (f"{MESSAGES}/1/threads", {"name": "x"}, 404, 10008),
    "thread without a name": (f"{MESSAGES}/1/threads", {"name": ""}, 400, 50035),
    "unknown address": ("guilds/1/bans", {}, 404, 0),
}


@pytest.mark.foreign_requests
@pytest.mark.parametrize(("path", "body", "status", "code"), REFUSALS.values(), ids=REFUSALS.keys())
async def test_call_is_refused_with_the_code_of_discord(
    path: str, body: dict[str, Any], status: int, code: int
) -> None:
    async with RehearsalDiscord() as discord:
        got, answer, kind = await post(discord, path, body)

        assert (got, answer["code"], kind) == (status, code, "application/json")
        assert discord.api.refused == {str(code): 1}


async def test_wrong_token_is_401_and_wrong_content_type_is_no_json() -> None:
    async with RehearsalDiscord() as discord:
        assert (await post(discord, MESSAGES, {}, Authorization="Bot x"))[0] == 401
        kind = "application/json; charset=utf-8"
        answer = (await post(discord, MESSAGES, {}, **{"Content-Type": kind}))[1]
        assert answer["code"] == 50109


async def test_rate_limit_has_the_marks_the_client_looks_for() -> None:
    async with RehearsalDiscord() as discord, session_of(discord) as session:
        discord.fault("rate_limited", method="me.read", retry_after_s=3)
        headers = {"Authorization": f"Bot {discord.bot_token}"}
        async with session.get(f"{API}/users/@me", headers=headers) as answer:
            assert answer.status == 429
            assert answer.headers["Via"]
            assert answer.headers["Content-Type"] == "application/json"
            assert orjson.loads(await answer.read())["retry_after"] == 3


async def test_proxy_leads_to_no_other_host() -> None:
    async with RehearsalDiscord() as discord, session_of(discord) as session:
        with pytest.raises(aiohttp.ClientHttpProxyError):
            await session.get("https://example.org/")

        assert discord.proxy.counters == {"refused": 1}


async def test_stand_in_runs_as_a_process_and_is_driven_from_outside() -> None:
    process, facts = await spawn_discord()
    assert process.stdin is not None
    with trusting_file(str(facts["ca"])):
        channel = make_remote_channel(facts)
        intake = DiscordIntake()
        async with RemoteDiscord(str(facts["control_url"])) as discord, running(channel, intake):
            await until(lambda: channel.status().state == "up")
            said = await discord.say(HELLO)
            (message,) = await discord.wait_for(lambda found: found)
            await until(lambda: intake.stored)
            where = Place(intake.stored[0].thread)
            for part in channel.plan(OutboundBody("", "card", CARD)):
                await channel.send(where, part, "card:0")
            (*_, card) = await discord.wait_for(lambda found: len(found) == 2, channel=said)
            opened = await discord.press(said, str(card["id"]), "Deny because")
            await discord.wait_for_whisper(opened)
            sent = await discord.submit(opened, "no need")
            pressed = await discord.wait_for_whisper(sent)
            command = await discord.wait_for_whisper(await discord.command("status"))
    process.stdin.close()
    async with asyncio.timeout(15):
        assert await process.wait() == 0

    assert set(facts) >= {"proxy", "ca", "token", "guild", "channels", "people"}
    assert (message["id"], message["text"], message["name"]) == (said, HELLO, "ana")
    assert [press.text for press in intake.presses] == ["no need"]
    assert (pressed["texts"], command["texts"]) == (["Done so."], ["Done so."])
    assert facts["people"]["ana"] == ANA


async def test_interaction_is_answered_once_and_in_time() -> None:
    async with RehearsalDiscord() as discord:
        asked = await discord.command("status")
        path = f"interactions/{asked.id}/{asked.token}/callback"
        webhook = f"webhooks/{discord.bot}/{asked.token}"
        words = {"content": "x", "allowed_mentions": SILENT, "flags": 64}

        assert (await post(discord, webhook, words))[1]["code"] == 10015
        assert (await post(discord, path, {"type": 6}))[1]["code"] == 50035
        assert (await post(discord, path, {"type": 5, "data": {"flags": 64}}))[0] == 204
        assert (await post(discord, path, {"type": 5}))[1]["code"] == 40060
        assert (await post(discord, webhook, {"content": "x"}))[1]["code"] == 50035
        assert (await post(discord, webhook, words))[0] == 200
        asked.is_over = True
        assert (await post(discord, webhook, words))[:1] == (401,)
        late = await discord.command("status")
        late.at -= 3.1
        path = f"interactions/{late.id}/{late.token}/callback"
        assert (await post(discord, path, {"type": 5}))[1]["code"] == 10062
        assert (await post(discord, "interactions/1/x/callback", {"type": 5}))[1]["code"] == 10062


BUTTON = {"type": 2, "style": 1, "label": "Yes", "custom_id": "a"}
WRONG_ROWS = {
    "six buttons": [[{**BUTTON, "custom_id": str(n)} for n in range(6)]],
    "no buttons": [[]],
    "six rows": [[{**BUTTON, "custom_id": str(n)}] for n in range(6)],
    "twice the same id": [[BUTTON, BUTTON]],
    "no label": [[{**BUTTON, "label": ""}]],
    "label of 81": [[{**BUTTON, "label": "x" * 81}]],
    "id of 101": [[{**BUTTON, "custom_id": "x" * 101}]],
    "unknown style": [[{**BUTTON, "style": 9}]],
}


@pytest.mark.foreign_requests
@pytest.mark.parametrize("rows", WRONG_ROWS.values(), ids=WRONG_ROWS.keys())
async def test_buttons_that_discord_refuses_are_refused(rows: list[list[object]]) -> None:
    shown = [{"type": 1, "components": row} for row in rows]
    body = {"content": "x", "allowed_mentions": SILENT, "components": shown}
    async with RehearsalDiscord() as discord:
        assert (await post(discord, MESSAGES, body))[1]["code"] == 50035
