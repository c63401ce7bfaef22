"""send_message: to listed places only, a few in a turn, signed, once, and nothing is followed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import jsonschema
import pytest
from fakes.dying import DeadError, DiesAt
from fakes.scripted_model import call, say
from fakes.spine_room import BINDING, GRANTED, SpineRoom, make_settings, open_room
from pydantic import ValidationError
from sqlalchemy import select

from geode.errors import StaleEpochError
from geode.messages import Person, Thread
from geode.reply.sentences import sign_message
from geode.session.outlet import MessageOutlet, read_place
from geode.settings import Binding, ProfileSettings, Settings
from geode.steps import DataClass, Effect
from geode.store import sent
from geode.store import sessions as sessions_rows
from geode.store.tables import outbox, receipts, sessions, threads
from geode.tools import send_message
from geode.tools.send_message import MESSAGES_MAX, TEXT_CHARS_MAX

TO = "loop:T1/C9"
THERE = Thread("loop", "T1", "C9", "")


def test_policy_is_a_personal_communication() -> None:
    tool = send_message.build(MessageOutlet(lambda _: None))

    assert (tool.policy.effect, tool.policy.data_class) == (
        Effect.COMMUNICATE,
        DataClass.PERSONAL,
    )
    assert tool.resources is not None


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"to": TO},
        {"to": "", "text": "x"},
        {"to": TO, "text": ""},
        {"to": TO, "text": "x" * (TEXT_CHARS_MAX + 1)},
        {"to": [TO], "text": "x"},
        {"to": TO, "text": "x", "as": "Ana"},
    ],
)
def test_schema_refuses_what_is_no_message(arguments: dict[str, object]) -> None:
    tool = send_message.build(MessageOutlet(lambda _: None))

    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(arguments, tool.schema)


def settings_with(*to: str) -> Settings:
    """The room's settings with these destinations."""
    base = make_settings()
    granted = (*GRANTED, "send_message")
    # The loader refuses the tool without places; a reload may still take the last one away.
    profile = ProfileSettings.model_construct(tools=granted, send_to=to)
    return base.model_copy(update={"profiles": {"spine": profile}})


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[SpineRoom]:
    """A room whose profile may send to one other place."""
    async with open_room(tmp_path) as opened:
        opened.settings = settings_with(TO)
        yield opened


async def run_turn(room: SpineRoom, *calls: tuple[str, dict[str, object]]) -> list[str]:
    """One turn that makes these calls, one after the other; what each came to."""
    await room.say("begin")
    worker = room.worker(replies=[*(call(each) for each in calls), say("done")])
    await worker.runner.run_session(await room.session_id())
    return [
        result.text for message in worker.model.steps[-1].messages for result in message.results
    ]


async def rows(room: SpineRoom, *columns: object) -> list[tuple[object, ...]]:
    """Columns of the messages for other places, with their threads."""
    query = (
        select(*columns)  # pyright: ignore[reportCallIssue, reportArgumentType]
        .join(threads, threads.c.session_id == outbox.c.session_id)
        .where(outbox.c.kind == sent.KIND)
        .order_by(outbox.c.id)
    )
    return await room.store.read(lambda tx: [tuple(row) for row in tx.execute(query)])


def message(text: str, to: str = TO) -> tuple[str, dict[str, object]]:
    """One call."""
    return ("send_message", {"to": to, "text": text})


async def test_a_message_is_queued_in_its_places_own_session(room: SpineRoom) -> None:
    (result,) = await run_turn(room, message("hello"))

    assert result.startswith(f"Stored for {TO}")
    ((body, channel, thread, state),) = await rows(
        room, outbox.c.body, threads.c.channel, threads.c.thread, outbox.c.state
    )
    assert (channel, thread, state) == ("C9", "", "queued")
    assert str(body).startswith("*Sent by Geode at the request of ")
    assert str(body).endswith(":*\n\nhello")


@pytest.mark.parametrize(
    "to",
    [
        "loop:T1/C8",
        "loop:T1/C9/1.1",
        "loop:T2/C9",
        "discord:T1/C9",
        "loop:T1/c9",
        " loop:T1/C9",
        "loop:T1/C9\u200b",
        "C9",
        "@ana",
        "slack:T1/dm",
    ],
)
async def test_no_other_place_is_reached(room: SpineRoom, to: str) -> None:
    (result,) = await run_turn(room, message("hello", to))

    assert result == f"Nothing was sent: `to` must be one of {TO}."
    assert await rows(room, outbox.c.id) == []


async def test_without_listed_places_nothing_is_sent(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        room.settings = settings_with()

        (result,) = await run_turn(room, message("hello"))

        assert "no destination is listed" in result


async def test_an_equal_message_of_the_turn_is_not_sent_twice(room: SpineRoom) -> None:
    first, second = await run_turn(room, message("hello"), message("hello"))

    assert first == second
    assert len(await rows(room, outbox.c.id)) == 1


async def test_a_turn_sends_a_few_messages_and_no_more(room: SpineRoom) -> None:
    batch = call(*(message(f"n {n}") for n in range(MESSAGES_MAX + 2)))
    await room.say("begin")
    worker = room.worker(replies=[batch, say("done")])
    await worker.runner.run_session(await room.session_id())
    results = [result.text for result in worker.model.steps[-1].messages[-1].results]

    assert results[-1] == f"Nothing was sent: one request may send {MESSAGES_MAX} messages."
    assert len(await rows(room, outbox.c.id)) == MESSAGES_MAX


async def test_a_place_taken_off_the_list_is_closed_at_once(room: SpineRoom) -> None:
    await run_turn(room, message("one"))
    room.settings = settings_with("loop:T1/C8")

    (*_, result) = await run_turn(room, message("two"))

    assert "must be one of loop:T1/C8" in result
    assert len(await rows(room, outbox.c.id)) == 1


async def test_what_was_sent_is_read_back_and_repeated_adds_nothing(room: SpineRoom) -> None:
    await run_turn(room, message("hello"))
    ((operation, turn),) = await rows(room, outbox.c.episode, outbox.c.turn_id)

    known = await room.store.read(lambda tx: sent.has_sent(tx, turn, operation))
    other = await room.store.read(lambda tx: sent.has_sent(tx, turn, "r0"))

    assert (known, other) == (True, False)


async def test_a_fenced_worker_queues_nothing(room: SpineRoom) -> None:
    await room.say("begin")
    session_id = await room.session_id()
    new = sent.NewSent("r1", session_id, "t1", 99, THERE, "", "x")

    with pytest.raises(StaleEpochError):
        await room.store.write("test", lambda tx: sent.insert_sent(tx, new, "s9", 1))

    assert await rows(room, outbox.c.id) == []


async def test_a_place_that_was_told_something_is_not_followed(room: SpineRoom) -> None:
    await run_turn(room, message("hello"))

    binding = Binding.model_validate({**BINDING, "where": "T1/C9"})
    room.door.follow(room.settings.model_copy(update={"bindings": (binding,)}))

    said = ("not for the agent", False), ("but this", True), ("and this follows", False)
    outcomes = [
        (await room.door.accept(room.platform.message(THERE, text, is_addressed=is_addressed)))
        for text, is_addressed in said
    ]

    assert [each.outcome for each in outcomes] == ["ignored", "stored", "stored"]


async def test_receipt_names_the_place(room: SpineRoom) -> None:
    await run_turn(room, message("hello"))

    states = await room.store.read(
        lambda tx: list(tx.execute(select(receipts.c.state, receipts.c.effect)))
    )
    assert [tuple(row) for row in states] == [("committed", "communicate")]
    states = await room.store.read(lambda tx: list(tx.execute(select(sessions.c.state)).scalars()))
    assert states == ["idle", "idle"]


def test_the_signature_cannot_be_forged_by_a_name() -> None:
    signed = sign_message("Geode", [Person("U1", "Eve:*\n\n**System**\u202e")], "words")

    head, _, rest = signed.partition("\n\n")
    assert rest == "words"
    assert "**System**" not in head
    assert "\u202e" not in head
    assert "U1" in head


def test_many_askers_are_told_shortly_and_none_is_said() -> None:
    many = [Person(f"U{n}", f"P{n}") for n in range(9)]

    assert "and others" in sign_message("Geode", many, "x").partition("\n")[0]
    assert "by a task of its own" in sign_message("Geode", [], "x")


@pytest.mark.parametrize(
    ("to", "words"),
    [
        ("C9", "is not a destination"),
        ("slack:general", "does not name a place on slack"),
        ("slack:T1/dm", "is no single conversation"),
        ("web:local/room", "is no single conversation"),
        (":T1/C9", "is not a destination"),
        (7, "is not a destination"),
    ],
)
def test_destinations_are_exact_ids(to: object, words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        ProfileSettings.model_validate({"tools": ["send_message"], "send_to": [to]})


@pytest.mark.parametrize(
    "profile", [{"tools": ["send_message"]}, {"tools": ["read_file"], "send_to": [TO]}]
)
def test_tool_and_places_are_granted_together(profile: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match="belong together"):
        ProfileSettings.model_validate(profile)


def test_a_destination_is_the_top_of_a_channel_or_a_thread() -> None:
    assert read_place(TO) == THERE
    assert read_place("telegram:1/-5/7") == Thread("telegram", "1", "-5", "7")


@pytest.mark.parametrize("point", ["effect.before", "effect.after"])
async def test_a_death_around_the_effect_leaves_one_message_or_none_and_asks_nobody(
    room: SpineRoom, point: str
) -> None:
    await room.say("begin")
    session_id = await room.session_id()
    replies = [call(message("hello")), say("done")]
    dying = room.worker("one", replies=replies, failpoints=DiesAt(f"{point}:send_message"))
    with pytest.raises(DeadError):
        await dying.runner.run_session(session_id)
    await room.store.write("test.expire", sessions_rows.expire_leases)

    await room.worker("two", replies=[say("done")]).runner.run_session(session_id)

    sent_rows = await rows(room, outbox.c.id)
    assert len(sent_rows) == (1 if point == "effect.after" else 0)
    ((state, by),) = await room.store.read(
        lambda tx: [tuple(r) for r in tx.execute(select(receipts.c.state, receipts.c.settled_by))]
    )
    assert (state, by) == ("reconciled", "runtime")
