"""The stand-in is strict: it refuses what Telegram refuses, and counts it."""

from __future__ import annotations

import asyncio

import aiohttp
import pytest

from channels.rehearsal.remote import RemoteControl, spawn_stand_in
from channels.rehearsal.telegram import RehearsalTelegram
from channels.rehearsal.telegram_state import CLUB, FORUM
from geode.messages import JsonObject

BOLD = '[{"type": "bold", "offset": 0, "length": 1}]'
REFUSALS: dict[str, tuple[str, dict[str, str], str]] = {
    "unknown method": ("shout", {}, "Not Found"),
    "unknown field": ("sendMessage", {"chat_id": str(CLUB), "text": "x", "txt": "y"}, "txt"),
    "a number in words": ("sendMessage", {"chat_id": "club", "text": "x"}, "chat_id is no int"),
    "no JSON": ("sendMessage", {"chat_id": str(CLUB), "text": "x", "entities": "["}, "no json"),
    "nothing to say": ("sendMessage", {"chat_id": str(CLUB), "text": " "}, "text is empty"),
    "field left out": ("sendMessage", {"text": "x"}, "chat_id is empty"),
    "unknown chat": ("sendMessage", {"chat_id": "-9", "text": "x"}, "chat not found"),
    "4,097 units": ("sendMessage", {"chat_id": str(CLUB), "text": "x" * 4097}, "too long"),
    "2,049 emoji": ("sendMessage", {"chat_id": str(CLUB), "text": "😀" * 2049}, "too long"),
    "General by its id": (
        "sendMessage",
        {"chat_id": str(FORUM), "text": "x", "message_thread_id": "1"},
        "message thread not found",
    ),
    "half an emoji": (
        "sendMessage",
        {"chat_id": str(CLUB), "text": "😀", "entities": BOLD},
        "can't parse entities",
    ),
    "entity beyond the text": (
        "sendMessage",
        {"chat_id": str(CLUB), "text": "a", "entities": BOLD.replace("1}", "2}")},
        "can't parse entities",
    ),
    "parse mode": (
        "sendMessage",
        {"chat_id": str(CLUB), "text": "a", "parse_mode": "HTML"},
        "can't parse entities",
    ),
    "reply to nothing": (
        "sendMessage",
        {"chat_id": str(CLUB), "text": "a", "reply_parameters": '{"message_id": 5}'},
        "to be replied not found",
    ),
    "edit of nothing": (
        "editMessageText",
        {"chat_id": str(CLUB), "message_id": "5", "text": "a"},
        "to edit not found",
    ),
    "dropping what waits": ("deleteWebhook", {"drop_pending_updates": "true"}, "drops no updates"),
}


async def call(telegram_url: str, token: str, method: str, form: dict[str, str]) -> JsonObject:
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{telegram_url}/bot{token}/{method}", data=form) as response,
    ):
        answer: JsonObject = await response.json()
        assert response.status == answer.get("error_code", 200)
        return answer


@pytest.mark.foreign_requests
@pytest.mark.parametrize(("method", "form", "words"), REFUSALS.values(), ids=REFUSALS.keys())
async def test_call_is_refused_and_counted(method: str, form: dict[str, str], words: str) -> None:
    async with RehearsalTelegram() as telegram:
        answer = await call(telegram.base_url, telegram.bot_token, method, form)

        assert answer["ok"] is False
        assert words in str(answer["description"])
        assert telegram.api.refused.total() == 1
        assert telegram.bot_posts(CLUB) == telegram.bot_posts(FORUM) == []


async def test_entities_that_overlap_are_refused() -> None:
    async with RehearsalTelegram() as telegram:
        spans = [("bold", 0, 3), ("italic", 2, 3)], [("code", 0, 3), ("bold", 0, 3)]
        for pair in spans:
            items = [f'{{"type":"{t}","offset":{o},"length":{n}}}' for t, o, n in pair]
            form = {"chat_id": str(CLUB), "text": "abcdef", "entities": f"[{','.join(items)}]"}
            answer = await call(telegram.base_url, telegram.bot_token, "sendMessage", form)
            assert "can't parse entities" in str(answer["description"])


async def test_second_poll_ends_the_first_with_a_conflict() -> None:
    async with RehearsalTelegram() as telegram:
        where = (telegram.base_url, telegram.bot_token, "getUpdates")
        first = asyncio.create_task(call(*where, {"timeout": "5"}))
        await telegram.wait_for(lambda: telegram.api.calls["getUpdates"])
        second = asyncio.create_task(call(*where, {"timeout": "5"}))

        assert (await first)["error_code"] == 409
        telegram.say("hi")
        assert (await second)["ok"] is True


async def test_update_stays_until_a_higher_offset_is_named() -> None:
    async with RehearsalTelegram() as telegram:
        where = (telegram.base_url, telegram.bot_token, "getUpdates")
        telegram.say("one")
        telegram.say("two")
        seen: list[list[object]] = []
        for offset in ("0", "100", "101", "102", "100"):
            result = (await call(*where, {"offset": offset}))["result"]
            assert isinstance(result, list)
            seen.append([item["update_id"] for item in result if isinstance(item, dict)])

        assert seen == [[100, 101], [100, 101], [101], [], []]


async def test_privacy_mode_keeps_chatter_from_the_bot() -> None:
    async with RehearsalTelegram() as telegram:
        telegram.methods.has_privacy = True
        for text in ("chatter", "@geode_bot hi", "/help"):
            telegram.say(text)
        telegram.say("in private", chat=0)

        assert len(telegram.queue.waiting) == 3


async def test_stand_in_of_another_process_is_driven_over_its_control_interface() -> None:
    process, ready = await spawn_stand_in("telegram")
    try:
        async with RemoteControl(str(ready["control_url"])) as remote:
            said = await remote.call("say", text="hi", chat=CLUB)
            form = {"chat_id": str(CLUB), "text": "one"}
            url, token = str(ready["api_url"]), str(ready["bot_token"])
            await call(url, token, "sendMessage", form)
            await remote.call("fault", kind="drop_response", method="sendMessage")
            with pytest.raises(aiohttp.ClientError):
                await call(url, token, "sendMessage", form)
            transcript = await remote.call("transcript", chat=CLUB)
            with pytest.raises(ValueError, match="no such message"):
                await remote.call("edit", chat=CLUB, message_id=1, text="x")

        assert said["chat"] == CLUB
        messages = transcript["messages"]
        assert isinstance(messages, list)
        authors = [item["author"] for item in messages if isinstance(item, dict)]
        assert authors == ["ana", "geode", "geode"]
    finally:
        assert process.stdin is not None
        process.stdin.close()
        async with asyncio.timeout(10):
            assert await process.wait() == 0


KEYBOARD = '{"inline_keyboard": [[{"text": "Yes", "callback_data": "%s"}]]}'
FORMS: dict[str, tuple[str, dict[str, str], str]] = {
    "data above 64 bytes": (
        "sendMessage",
        {"chat_id": str(CLUB), "text": "x", "reply_markup": KEYBOARD % ("é" * 33)},
        "BUTTON_DATA_INVALID",
    ),
    "no data": (
        "sendMessage",
        {"chat_id": str(CLUB), "text": "x", "reply_markup": KEYBOARD % ""},
        "BUTTON_DATA_INVALID",
    ),
    "answer to no press": ("answerCallbackQuery", {"callback_query_id": "q9"}, "query is too old"),
    "file nobody sent": ("getFile", {"file_id": "f9"}, "wrong file_id"),
    "webhook nowhere": ("setWebhook", {"url": "nowhere"}, "bad webhook"),
    "command in capitals": (
        "setMyCommands",
        {"commands": '[{"command": "Stop", "description": "x"}]'},
        "BOT_COMMAND_INVALID",
    ),
    "action nobody knows": (
        "sendChatAction",
        {"chat_id": str(CLUB), "action": "juggling"},
        "wrong parameter action",
    ),
    "document without bytes": (
        "sendDocument",
        {"chat_id": str(CLUB), "document": "x"},
        "document is no file",
    ),
    "reaction that is none": (
        "setMessageReaction",
        {"chat_id": str(CLUB), "message_id": "11", "reaction": '[{"type":"emoji","emoji":"🦀"}]'},
        "REACTION_INVALID",
    ),
}


@pytest.mark.foreign_requests
@pytest.mark.parametrize(("method", "form", "words"), FORMS.values(), ids=FORMS.keys())
async def test_call_of_the_newer_methods_is_refused(
    method: str, form: dict[str, str], words: str
) -> None:
    async with RehearsalTelegram() as telegram:
        telegram.say("hi", chat=CLUB)
        answer = await call(telegram.base_url, telegram.bot_token, method, form)

        assert words in str(answer["description"])
        assert telegram.api.refused.total() == 1


async def test_poll_is_a_conflict_while_a_webhook_is_set() -> None:
    async with RehearsalTelegram() as telegram:
        where = (telegram.base_url, telegram.bot_token)
        await call(*where, "setWebhook", {"url": "http://127.0.0.1:9/x"})

        assert (await call(*where, "getUpdates", {}))["error_code"] == 409
        await call(*where, "deleteWebhook", {})
        assert (await call(*where, "getUpdates", {}))["ok"] is True


async def test_press_is_answered_once_and_a_second_answer_is_refused() -> None:
    async with RehearsalTelegram() as telegram:
        where = (telegram.base_url, telegram.bot_token)
        form = {"chat_id": str(CLUB), "text": "x", "reply_markup": KEYBOARD % "press:n"}
        await call(*where, "sendMessage", form)
        query = telegram.press(telegram.bot_posts(CLUB)[0], "Yes")

        answers = [
            await call(*where, "answerCallbackQuery", {"callback_query_id": query})
            for _ in range(2)
        ]

        assert [answer["ok"] for answer in answers] == [True, False]
        assert telegram.queue.waiting[0]["callback_query"]["data"] == "press:n"  # type: ignore[index,call-overload]
