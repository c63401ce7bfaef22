"""Discord's objects as messages: every type is one of ours or is dropped under a name."""

import pytest

from channels.discord.parse import BotIdentity, Dropped, parse_message, quote_message
from channels.discord.places import Spot
from channels.discord.recent import title_of
from channels.discord.snowflakes import order_key, snowflake_to_us, us_to_snowflake
from channels.discord.spots import read_spot
from geode.messages import InboundMessage, JsonObject, Thread

BOT = BotIdentity("9", "geode", ("77",))
CHANNEL = Spot("5", "1", "channel", category="3")
ANA: JsonObject = {"id": "7", "username": "ana", "global_name": "Ana"}


def message(**fields: object) -> JsonObject:
    return {"id": "1100000000000000001", "author": ANA, "content": "hi", "type": 0} | fields  # type: ignore[return-value]


def parsed(spot: Spot = CHANNEL, **fields: object) -> InboundMessage:
    found = parse_message(message(**fields), spot, BOT)
    assert isinstance(found, InboundMessage)
    return found


DROPPED = {
    "our own": ({"author": {"id": "9"}}, "own_message"),
    "another bot": ({"author": {"id": "8", "bot": True}}, "bot_message"),
    "webhook": ({"webhook_id": "4"}, "bot_message"),
    "nobody": ({"author": {}}, "no_author"),
    "empty": ({"content": ""}, "empty_text"),
    "pin note": ({"type": 6}, "type.6"),
    "thread starter": ({"type": 21}, "type.21"),
    "no id": ({"id": ""}, "malformed"),
    "id that is none": ({"id": "x1"}, "malformed"),
    "id that is a number": ({"id": 11}, "malformed"),
}


@pytest.mark.parametrize(("fields", "reason"), DROPPED.values(), ids=DROPPED.keys())
def test_what_is_no_message_is_dropped_under_a_name(fields: dict[str, object], reason: str) -> None:
    assert parse_message(message(**fields), CHANNEL, BOT) == Dropped(reason)


@pytest.mark.parametrize("kind", ["forum", "other"])
def test_place_without_conversations_is_dropped(kind: str) -> None:
    assert parse_message(message(), Spot("5", "1", kind), BOT) == Dropped("place")  # type: ignore[arg-type]


def test_scope_is_thread_parent_and_category_dc_06() -> None:
    found = parsed(Spot("6", "1", "thread", "5", "3"))

    assert found.thread == Thread("discord", "1", "5", "6")
    assert found.category == "3"


ADDRESSED = {
    "mention": ({"mentions": [{"id": "9"}]}, True),
    "mention in the text": ({"content": "<@!9> hi"}, True),
    "our role": ({"content": "<@&77> hi", "mention_roles": ["77"]}, True),
    "another role": ({"mention_roles": ["78"]}, False),
    "somebody else": ({"mentions": [ANA]}, False),
    "everyone": ({"mention_everyone": True}, False),
}


@pytest.mark.parametrize(("fields", "is_so"), ADDRESSED.values(), ids=ADDRESSED.keys())
def test_message_is_addressed_by_mention_or_own_role(
    fields: dict[str, object], is_so: bool
) -> None:
    assert parsed(**fields).is_addressed is is_so


def test_markup_reads_as_a_person_sees_it() -> None:
    found = parsed(
        content="<@9>, ask <@7> in <#5> about <:ok:1> with </do:2>", mentions=[{"id": "9"}, ANA]
    )

    assert found.text == ", ask @Ana in #5 about :ok: with /do"


def test_mention_alone_stays() -> None:
    assert parsed(content="<@9>").text == "@geode"


def test_ids_keep_every_digit_and_their_order() -> None:
    found = parsed()

    assert found.message_id == "1100000000000000001"
    assert found.dedupe_key == "5/1100000000000000001"
    assert order_key("99") < order_key("100")
    at = us_to_snowflake(snowflake_to_us("1100000000000000001"))
    assert 0 <= 1100000000000000001 - int(at) < 1 << 22
    assert us_to_snowflake(0) == "0"


def test_thread_note_quotes_the_message_it_was_opened_from() -> None:
    note = message(type=21, content="", referenced_message=message(id="12", content="root"))

    quote = quote_message(note, BOT)
    assert quote is not None
    assert (quote.message_id, quote.text) == ("12", "root")


def test_channel_object_is_read_as_a_place() -> None:
    assert read_spot({"id": "5", "type": 0, "parent_id": "3"}, "1") == CHANNEL
    assert read_spot({"id": "6", "type": 12, "parent_id": "5"}, "1").parent == "5"
    assert read_spot({"id": "6", "type": 2}, "1").kind == "other"


def test_title_is_the_first_line_within_the_limit() -> None:
    assert title_of("\n one \ntwo") == "one"
    assert title_of("") == "Conversation"
    assert len(title_of("x" * 500)) == 80
