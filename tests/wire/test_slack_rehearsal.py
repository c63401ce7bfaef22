"""The stand-in is strict: it refuses what Slack refuses, with Slack's codes, and counts it."""

import asyncio
import sys

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from channels.rehearsal.slack import RehearsalSlack
from channels.rehearsal.slack_remote import RemoteSlack, spawn_slack


def client_of(slack: RehearsalSlack, token: str = "") -> AsyncWebClient:
    return AsyncWebClient(token or slack.bot_token, base_url=slack.base_url, retry_handlers=[])


def sections(count: int, characters: int) -> list[dict[str, object]]:
    text = {"type": "mrkdwn", "text": "x" * characters}
    return [{"type": "section", "text": text} for _ in range(count)]


REFUSALS = {
    "unknown kind of place": ("conversations.list", {"types": "dm"}, "invalid_types"),
    "unknown method": ("chat.shout", {"channel": "C0GENERAL"}, "unknown_method"),
    "missing field": ("chat.update", {"channel": "C0GENERAL", "text": "x"}, "invalid_arguments"),
    "unknown channel": ("chat.postMessage", {"channel": "C9", "text": "x"}, "channel_not_found"),
    "not invited": ("chat.postMessage", {"channel": "C0OTHER", "text": "x"}, "not_in_channel"),
    "no text": ("chat.postMessage", {"channel": "C0GENERAL"}, "no_text"),
    "unknown thread": (
        "chat.postMessage",
        {"channel": "C0GENERAL", "text": "x", "thread_ts": "1.000100"},
        "thread_not_found",
    ),
    "thread as a number": (
        "chat.postMessage",
        {"channel": "C0GENERAL", "text": "x", "thread_ts": 1.0001},
        "invalid_thread_ts",
    ),
    "51 blocks": (
        "chat.postMessage",
        {"channel": "C0GENERAL", "blocks": sections(51, 5)},
        "invalid_blocks",
    ),
    "section of 3,001": (
        "chat.postMessage",
        {"channel": "C0GENERAL", "blocks": sections(1, 3001)},
        "invalid_blocks",
    ),
    "sections that sum to 13,300": (
        "chat.postMessage",
        {"channel": "C0GENERAL", "blocks": sections(7, 1900)},
        "msg_blocks_too_long",
    ),
    "markdown blocks over 12,000": (
        "chat.postMessage",
        {"channel": "C0GENERAL", "blocks": [{"type": "markdown", "text": "x" * 6001}] * 2},
        "msg_blocks_too_long",
    ),
    "unknown block": (
        "chat.postMessage",
        {"channel": "C0GENERAL", "blocks": [{"type": "marquee"}]},
        "invalid_blocks",
    ),
    "bad metadata": (
        "chat.postMessage",
        {"channel": "C0GENERAL", "text": "x", "metadata": {"event_type": "a b"}},
        "invalid_metadata_format",
    ),
    "update of nothing": (
        "chat.update",
        {"channel": "C0GENERAL", "ts": "1.000100", "text": "x"},
        "message_not_found",
    ),
    "reaction to nothing": (
        "reactions.add",
        {"channel": "C0GENERAL", "timestamp": "1.000100", "name": "eyes"},
        "message_not_found",
    ),
    "unknown person": ("users.info", {"user": "U9"}, "user_not_found"),
    "replies of nothing": (
        "conversations.replies",
        {"channel": "C0GENERAL", "ts": "1.000100"},
        "thread_not_found",
    ),
}


@pytest.mark.foreign_requests
@pytest.mark.parametrize(("method", "call", "code"), REFUSALS.values(), ids=REFUSALS.keys())
async def test_call_is_refused_and_counted(method: str, call: dict[str, object], code: str) -> None:
    async with RehearsalSlack() as slack:
        with pytest.raises(SlackApiError) as raised:
            await client_of(slack).api_call(method, json=call)

        assert raised.value.response["error"] == code
        assert slack.counters()["refused"] == {code: 1}


async def test_post_under_a_replys_own_stamp_is_refused_not_split_off() -> None:
    async with RehearsalSlack() as slack:
        root = await slack.say("root")
        reply = await slack.say("reply", thread_ts=root.ts)

        with pytest.raises(SlackApiError) as raised:
            await client_of(slack).chat_postMessage(
                channel="C0GENERAL", text="x", thread_ts=reply.ts
            )

        assert raised.value.response["error"] == "invalid_thread_ts"


@pytest.mark.foreign_requests
@pytest.mark.parametrize(
    ("method", "token", "code"),
    [
        ("chat.postMessage", "xapp-rehearsal-app", "not_allowed_token_type"),
        ("chat.postMessage", "xoxb-of-another", "invalid_auth"),
        ("apps.connections.open", "xoxb-rehearsal-bot", "not_allowed_token_type"),
    ],
)
async def test_wrong_token_is_refused(method: str, token: str, code: str) -> None:
    async with RehearsalSlack() as slack:
        with pytest.raises(SlackApiError) as raised:
            await client_of(slack, token).api_call(method, json={"channel": "C1", "text": "x"})

        assert raised.value.response["error"] == code


async def test_used_and_unknown_tickets_open_no_socket() -> None:
    async with RehearsalSlack() as slack, aiohttp.ClientSession() as session:
        answer = await client_of(slack).apps_connections_open(app_token=slack.app_token)
        socket = await session.ws_connect(answer["url"])
        assert (await socket.receive_json())["type"] == "hello"

        for url in (answer["url"], f"{slack.origin}/link?ticket=made-up"):
            with pytest.raises(aiohttp.WSServerHandshakeError):
                await session.ws_connect(url)

        assert slack.hub.counters["used_ticket"] == 1
        assert slack.hub.counters["unknown_ticket"] == 1
        await socket.close()


async def test_eleventh_socket_is_sent_away() -> None:
    async with RehearsalSlack() as slack, aiohttp.ClientSession() as session:
        sockets = []
        for _ in range(11):
            answer = await client_of(slack).apps_connections_open(app_token=slack.app_token)
            sockets.append(await session.ws_connect(answer["url"]))
            first = await sockets[-1].receive_json()

        assert first == {"type": "disconnect", "reason": "too_many_websockets"}
        for socket in sockets:
            await socket.close()


async def test_event_without_acknowledgement_is_given_up_after_three_retries() -> None:
    async with RehearsalSlack(ack_deadline_s=0.02) as slack, aiohttp.ClientSession() as session:
        answer = await client_of(slack).apps_connections_open(app_token=slack.app_token)
        socket = await session.ws_connect(answer["url"])
        await socket.receive_json()

        await slack.say("hello?")
        attempts = [await socket.receive_json() for _ in range(4)]
        await slack.wait_for(lambda: slack.hub.counters["given_up"] == 1)

        assert [frame["retry_attempt"] for frame in attempts] == [0, 1, 2, 3]
        assert [frame["retry_reason"] for frame in attempts] == ["", *["timeout"] * 3]
        assert len({frame["payload"]["event_id"] for frame in attempts}) == 1
        await socket.close()


async def test_event_waits_for_a_socket_when_none_is_open() -> None:
    async with RehearsalSlack(ack_deadline_s=0.02) as slack, aiohttp.ClientSession() as session:
        await slack.say("anybody?")
        answer = await client_of(slack).apps_connections_open(app_token=slack.app_token)
        socket = await session.ws_connect(answer["url"])

        frames = [await socket.receive_json() for _ in range(2)]

        assert frames[1]["payload"]["event"]["text"] == "anybody?"
        await socket.close()


async def test_time_stamps_only_grow_and_keep_six_decimals() -> None:
    async with RehearsalSlack() as slack:
        stamps = [(await slack.say(f"{n}")).ts for n in range(50)]

        assert stamps == sorted(set(stamps))
        assert all(len(stamp.partition(".")[2]) == 6 for stamp in stamps)


async def test_text_beyond_the_servers_limit_is_cut_and_counted() -> None:
    async with RehearsalSlack() as slack:
        await client_of(slack).chat_postMessage(channel="C0GENERAL", text="x" * 41_000)

        assert len(slack.bot_posts()[0].text) == 40_000
        assert slack.counters()["text_over_advice"] == 1


async def test_stand_in_of_another_process_is_driven_over_its_control_interface() -> None:
    process, ready = await spawn_slack("--ack-deadline-s", "0.5", python=sys.executable)
    try:
        async with RemoteSlack(str(ready["control_url"])) as remote:
            bot = AsyncWebClient(str(ready["bot_token"]), base_url=str(ready["api_url"]))
            root = await remote.say("<@UBOT> hi", user="U0BEN")
            sent = await bot.chat_postMessage(channel="C0GENERAL", text="one", thread_ts=root)
            await bot.chat_update(channel="C0GENERAL", ts=sent["ts"], text="two")
            await remote.call("fault", kind="drop_response", method="chat.postMessage")
            with pytest.raises(aiohttp.ClientError):
                await AsyncWebClient(
                    str(ready["bot_token"]), base_url=str(ready["api_url"]), retry_handlers=[]
                ).chat_postMessage(channel="C0GENERAL", text="three", thread_ts=root)
            seen = await remote.wait_for(lambda messages: len(messages) == 3, thread_ts=root)
            counters = await remote.call("counters")
            with pytest.raises(ValueError, match="unknown socket action"):
                await remote.call("socket", do="dance")

        assert [message["text"] for message in seen] == ["<@UBOT> hi", "two", "three"]
        assert [message["author"] for message in seen] == ["ben", "geode", "geode"]
        assert counters["faults_taken"] == {"drop_response": 1}
    finally:
        assert process.stdin is not None
        process.stdin.close()
        async with asyncio.timeout(10):
            assert await process.wait() == 0
