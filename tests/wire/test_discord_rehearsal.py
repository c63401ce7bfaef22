"""The stand-in is strict: it refuses what Discord refuses, with Discord's codes, and counts it."""

import asyncio
import os
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import orjson
import pytest

from channels.rehearsal.discord import RehearsalDiscord
from channels.rehearsal.discord_state import ANA, FORUM, GENERAL

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
            return answer.status, orjson.loads(await answer.read()), answer.content_type


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
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "channels.rehearsal", "discord", "--until-stdin-closes"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env=dict(os.environ),
    )
    assert process.stdout is not None
    assert process.stdin is not None
    async with asyncio.timeout(15):
        facts = orjson.loads(await process.stdout.readline())
    async with aiohttp.ClientSession() as session:
        said = {"text": "hello", "user": ANA}
        async with session.post(f"{facts['control_url']}/say", json=said) as answer:
            written = await answer.json()
        async with session.post(f"{facts['control_url']}/transcript", json={}) as answer:
            (message,) = (await answer.json())["messages"]
    process.stdin.close()
    async with asyncio.timeout(15):
        assert await process.wait() == 0

    assert set(facts) >= {"proxy", "ca", "token", "guild", "channels", "people"}
    assert (message["id"], message["text"], message["name"]) == (written["id"], "hello", "ana")
    assert facts["people"]["ana"] == ANA
