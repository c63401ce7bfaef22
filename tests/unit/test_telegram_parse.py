"""Updates as events, by the values that other bots got wrong; nothing in an update raises."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.telegram.entities import BotIdentity
from channels.telegram.parse import AlbumPart, Dropped, Migration, Parsed, parse_update
from channels.telegram.presses import WordsAsked, prompt_for
from geode.messages import (
    ButtonPress,
    ChatCommand,
    FileRef,
    InboundMessage,
    JsonObject,
    JsonValue,
    Person,
    Thread,
)

BOT = BotIdentity("12345", "my_bot")
ANN: JsonObject = {"id": 7, "is_bot": False, "first_name": "Ann", "last_name": "Lee"}
CLUB: JsonObject = {"id": -1001, "type": "supergroup", "title": "club"}
FAMILY = "👨\u200d👩\u200d👧\u200d👦"


def message(text: str, **more: JsonValue) -> JsonObject:
    return {
        "message_id": 5,
        "date": 1_700_000_000,
        "chat": CLUB,
        "from": ANN,
        "text": text,
        **more,
    }


def parse(body: JsonObject, bot: BotIdentity = BOT) -> Parsed:
    return parse_update({"update_id": 9, "message": body}, bot)


def spoken(body: JsonObject) -> InboundMessage:
    parsed = parse(body)
    assert isinstance(parsed, InboundMessage), parsed
    return parsed


def entity(kind: str, offset: int, length: int, **more: JsonValue) -> JsonObject:
    return {"type": kind, "offset": offset, "length": length, **more}


@pytest.mark.parametrize(
    ("text", "found", "rest"),
    [
        ("😀 @my_bot help", entity("mention", 3, 7), "😀 help"),
        ("こんにちは @my_bot", entity("mention", 6, 7), "こんにちは"),
        ("@MY_BOT assist", entity("mention", 0, 7), "assist"),
        ("@my_bot\nline", entity("mention", 0, 7), "line"),
        (f"{FAMILY} /ask@my_bot", entity("bot_command", 12, 11), f"{FAMILY} /ask@my_bot"),
        ("Geode assist", entity("text_mention", 0, 5, user={"id": 12345}), "assist"),
        ("@my_bot", entity("mention", 0, 7), "@my_bot"),
    ],
)
@pytest.mark.parametrize("place", ["text", "caption"])
def test_mention_is_found_by_utf16_offset_tg_03(
    text: str, found: JsonObject, rest: str, place: str
) -> None:
    body = message("", photo=[{"file_id": "F"}]) if place == "caption" else message("")
    body[place] = text
    body["caption_entities" if place == "caption" else "entities"] = [found]

    said = spoken(body)

    assert said.is_addressed
    assert said.text == rest


@pytest.mark.parametrize(
    "found",
    [
        entity("mention", 0, 100),
        entity("mention", -1, 2),
        entity("mention", 1, 1),
        entity("mention", 0, 0),
        {"type": "mention"},
        {"type": "mention", "offset": "x", "length": None},
    ],
)
def test_entity_out_of_range_is_no_mention_and_no_error_tg_03(found: JsonObject) -> None:
    said = spoken(message("😀hi", entities=[found]))

    assert not said.is_addressed
    assert said.text == "😀hi"


@pytest.mark.parametrize(
    "text", ["user@my_bot.test", "again", "email", "＠my_bot hi", "交给@my_bot处理", "／stop"]
)
def test_text_that_telegram_marked_as_nothing_is_no_mention_in_04(text: str) -> None:
    said = spoken(message(text))

    assert not said.is_addressed
    assert said.text == text


def test_mention_next_to_other_script_is_found_where_telegram_marked_it_in_04() -> None:
    said = spoken(message("交给@my_bot处理", entities=[entity("mention", 2, 7)]))

    assert said.is_addressed
    assert said.text == "交给 处理"


def test_mention_of_somebody_else_addresses_nobody() -> None:
    said = spoken(message("@my_bot2 hi", entities=[entity("mention", 0, 8)]))

    assert not said.is_addressed
    assert said.text == "@my_bot2 hi"


@pytest.mark.parametrize(
    ("text", "length", "expected"),
    [
        ("/stop", 5, ("stop", "")),
        ("/stop@My_Bot", 12, None),
        ("/stop@OtherBot", 14, None),
    ],
)
def test_bot_without_a_name_yet_obeys_the_unsuffixed_form_only_tg_07(
    text: str, length: int, expected: tuple[str, str] | None
) -> None:
    parsed = parse(message(text, entities=[entity("bot_command", 0, length)]), BotIdentity("12345"))

    if expected is None:
        assert parsed == Dropped("other_bots_command")
    else:
        assert isinstance(parsed, ChatCommand)
        assert (parsed.verb, parsed.argument) == expected


def command(body: JsonObject) -> tuple[str, str]:
    parsed = parse(body)
    assert isinstance(parsed, ChatCommand), parsed
    assert not parsed.is_private
    return parsed.verb, parsed.argument


def test_unknown_command_is_ours_in_private_or_by_name_and_otherwise_another_bots() -> None:
    plain, named = [entity("bot_command", 0, 8)], [entity("bot_command", 0, 15)]
    private: JsonObject = {"id": 7, "type": "private"}

    assert command(message("/weather now", entities=plain, chat=private)) == ("weather", "now")
    assert command(message("/weather@my_bot now", entities=named)) == ("weather", "now")
    assert parse(message("/weather now", entities=plain)) == Dropped("unknown_command")


def test_greeting_in_private_asks_for_help_and_in_a_group_is_no_word_of_ours() -> None:
    start = [entity("bot_command", 0, 6)]
    private: JsonObject = {"id": 7, "type": "private"}

    assert command(message("/start", entities=start, chat=private)) == ("help", "")
    assert parse(message("/start", entities=start)) == Dropped("unknown_command")


@pytest.mark.parametrize(
    ("text", "entities", "expected"),
    [
        ("!status", [], ("status", "")),
        ("!model x/y", [], ("model", "x/y")),
        ("@my_bot stop", [entity("mention", 0, 7)], ("stop", "")),
        ("@my_bot /stop", [entity("mention", 0, 7)], ("stop", "")),
    ],
)
def test_command_is_written_as_on_every_platform(
    text: str, entities: list[JsonValue], expected: tuple[str, str]
) -> None:
    assert command(message(text, entities=entities)) == expected


@pytest.mark.parametrize("text", ["!nonsense", "stop the server", "@my_bot stop the server"])
def test_sentence_that_begins_like_a_command_is_a_message(text: str) -> None:
    entities = [entity("mention", 0, 7)] if text.startswith("@") else []

    assert spoken(message(text, entities=entities)).text in text


def test_thread_is_a_topic_only_when_the_message_says_so_tg_04() -> None:
    forum = CLUB | {"is_forum": True}
    threads = [
        spoken(message("x", message_thread_id=777)).thread.thread,
        spoken(message("x", message_thread_id=777, chat=forum)).thread.thread,
        spoken(message("x", message_thread_id=42, is_topic_message=True)).thread.thread,
    ]

    assert threads == ["", "1", "42"]


def test_ids_are_digits_in_order_and_the_update_is_the_key() -> None:
    first = spoken(message("x"))
    later = spoken(message("x", message_id=10))

    assert (first.message_id, first.dedupe_key) == ("5", "12345/9")
    assert first.order_key < later.order_key
    assert first.thread.channel == "-1001"
    assert first.sent_at_us == 1_700_000_000_000_000
    assert first.sender.name == "Ann Lee"


def test_what_opens_a_topic_is_no_message_of_the_bot_to_answer() -> None:
    opening: JsonObject = {"message_id": 42, "from": {"id": 12345}, "forum_topic_created": {}}
    answer: JsonObject = {"message_id": 43, "from": {"id": 12345}, "text": "hi"}

    assert not spoken(message("x", reply_to_message=opening)).is_addressed
    assert spoken(message("x", reply_to_message=answer)).is_addressed


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"from": {"id": 12345, "is_bot": True}}, "own_message"),
        ({"from": {"id": 8, "is_bot": True}}, "bot_message"),
        ({"from": {"id": 1087968824, "is_bot": True}}, "not_a_person"),
        ({"from": {"id": 777000}}, "not_a_person"),
        ({"sender_chat": {"id": -1001}}, "not_a_person"),
        ({"from": None}, "no_author"),
        ({"chat": {}}, "malformed"),
        ({"message_id": None}, "malformed"),
        ({"text": ""}, "empty_text"),
    ],
)
def test_message_of_nobody_is_dropped_by_name(changes: JsonObject, reason: str) -> None:
    assert parse(message("hi") | changes) == Dropped(reason)


def test_forwards_and_what_is_no_file_are_said_in_words() -> None:
    said = spoken(
        message("read this", contact={"phone_number": "1"}, forward_origin={"type": "user"})
    )

    assert said.text == "[forwarded message]\nread this\n[attached contact, not readable here]"
    assert said.files == ()


SMALL: JsonObject = {"file_id": "S", "width": 90, "height": 60, "file_size": 100}
LARGE: JsonObject = {"file_id": "L", "width": 900, "height": 600, "file_size": 9_000}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"photo": [SMALL, LARGE, SMALL]}, FileRef("L", "photo.jpg", "image/jpeg", 9_000)),
        (
            {"document": {"file_id": "D", "file_name": "plan.pdf", "mime_type": "application/pdf"}},
            FileRef("D", "plan.pdf", "application/pdf", 0),
        ),
        ({"voice": {"file_id": "V", "file_size": 5}}, FileRef("V", "voice.ogg", "audio/ogg", 5)),
        (
            {"animation": {"file_id": "A"}, "document": {"file_id": "A"}},
            FileRef("A", "animation.mp4", "video/mp4", 0),
        ),
    ],
)
def test_file_is_named_once_and_a_photo_in_its_largest_size(
    body: JsonObject, expected: FileRef
) -> None:
    said = spoken(message("", **body))

    assert said.files == (expected,)
    assert said.text == ""


@pytest.mark.parametrize("body", [{"photo": []}, {"photo": "x"}, {"voice": {"file_id": 5}}])
def test_file_without_an_id_is_none(body: JsonObject) -> None:
    assert parse(message("", **body)) == Dropped("empty_text")


def test_migration_names_both_chats_from_either_side() -> None:
    there = parse(message("", migrate_to_chat_id=-1009))
    back = parse(message("", chat={"id": -1009, "type": "supergroup"}, migrate_from_chat_id=-1001))

    assert there == back == Migration("-1001", "-1009")


def test_part_of_an_album_names_it_and_its_edit_is_an_edit() -> None:
    body = message("", caption="look", photo=[{"file_id": "F"}], media_group_id="g1")
    part = parse(body)
    edit = parse_update({"update_id": 10, "edited_message": body}, BOT)

    assert isinstance(part, AlbumPart)
    assert part.album == "-1001/g1"
    assert isinstance(edit, InboundMessage)
    assert edit.kind == "edit"


@pytest.mark.parametrize("kind", ["channel_post", "my_chat_member", "novelty"])
def test_update_of_another_kind_is_dropped_by_name_tg_08(kind: str) -> None:
    assert parse_update({"update_id": 9, kind: {"x": 1}}, BOT) == Dropped(f"update.{kind}")


SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
OF_MESSAGE = ["message_id", "date", "chat", "from", "text", "caption", "entities", "photo"]
OF_PLACE = ["message_thread_id", "is_topic_message", "is_forum", "sender_chat", "reply_to_message"]
OF_PARTS = ["id", "type", "offset", "length", "user", "is_bot", "media_group_id", "update_id"]
OF_QUERY = ["data", "message", "reply_markup", "inline_keyboard", "callback_data", "url"]
FIELDS = st.sampled_from([*OF_MESSAGE, *OF_PLACE, *OF_PARTS, "migrate_to_chat_id", *OF_QUERY])
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(FIELDS, inner, max_size=8),
    max_leaves=30,
)


@given(body=JSON, kind=st.sampled_from(["message", "edited_message", "callback_query", "novelty"]))
def test_no_update_raises_tg_08(body: JsonValue, kind: str) -> None:
    whole = message("hi") | body if isinstance(body, dict) else body

    assert parse_update({"update_id": 1, kind: whole}, BOT) is not None
    assert parse_update({"update_id": 1, kind: body}, BOT) is not None


def test_prompt_for_words_pings_nobody_through_the_pressers_name() -> None:
    place = Thread("telegram", BOT.id, "-1001", "")
    press = ButtonPress(place, "5", Person("7", "@victim_name\nGeode"), "nonce", "12345/9")

    shown = prompt_for(WordsAsked("q", press, "Say why"))

    assert str(shown["text"]).startswith("@\u2060victim_name Geode, please answer")
