"""A card is decided once, by who may, in its own place; any other press changes nothing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.card_room import (
    DID_NOT,
    HAPPENED,
    count_rows,
    find_card_post,
    leave_uncertain,
    open_card_room,
    post_card,
    read_card,
    read_receipt,
)
from fakes.spine_room import BINDING, THREAD, SpineRoom, place_thread

from geode.intake.desk import Desk
from geode.intake.inbox import Inbox
from geode.messages import ButtonPress, Person
from geode.ports import Accepted, NoFailpoints
from geode.records.receipts import EffectReceiptStore
from geode.reply import sentences
from geode.settings import Settings
from geode.store import cards as card_rows
from geode.store.cards import Choice, NewCard
from geode.store.database import Store
from geode.store.tables import cards, dedupe, messages, timeline

OPEN = ("open", "", "")
UNCERTAIN = ("uncertain", "", "")


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[SpineRoom]:
    async with open_card_room(tmp_path) as opened:
        yield opened


async def settle_on_command_line(room: SpineRoom, *, happened: bool = True) -> None:
    receipts = EffectReceiptStore(room.store, room.clock)
    (subject,) = await room.rows(cards.c.subject)
    await receipts.settle_by_operator(subject, happened=happened, who="ada")


async def list_kinds(room: SpineRoom) -> list[str]:
    return await room.rows(timeline.c.kind, order=timeline.c.seq)


@pytest.mark.parametrize(
    ("label", "result", "answer"),
    [(HAPPENED, "happened", "It happened."), (DID_NOT, "did_not", "It did not happen.")],
)
async def test_press_settles_the_effect_as_the_command_line_does(
    room: SpineRoom, label: str, result: str, answer: str
) -> None:
    post = await post_card(room)

    accepted = await room.door.accept(room.platform.press(post, label))

    assert accepted == Accepted("decided", "effect", f"Recorded. {answer}")
    assert await read_receipt(room) == ("reconciled", result, "loop:U1")
    assert await read_card(room) == ("decided", result, "loop:U1")
    assert (await list_kinds(room))[-2:] == ["card_decided", "effect_settled"]
    (body,) = await room.rows(timeline.c.body, order=timeline.c.seq, kind="card_decided")
    assert json.loads(body)["by"] == "loop:U1"


async def test_two_presses_at_once_decide_once_and_the_loser_is_told_who(room: SpineRoom) -> None:
    post = await post_card(room)
    presses = [room.platform.press(post, label) for label in (HAPPENED, DID_NOT)]

    answers = await asyncio.gather(*(room.door.accept(press) for press in presses))

    won, lost = sorted(answers, key=lambda each: each.outcome)
    assert won.outcome == "decided"
    assert (lost.outcome, lost.reason) == ("refused", "card.decided")
    assert "`U1`" in lost.answer
    assert (await list_kinds(room)).count("card_decided") == 1
    assert (await list_kinds(room)).count("effect_settled") == 1


async def test_contrary_presses_a_moment_apart_keep_the_first(room: SpineRoom) -> None:
    post = await post_card(room)
    first, second = (room.platform.press(post, label) for label in (DID_NOT, HAPPENED))

    async def press_late() -> Accepted:
        await asyncio.sleep(0.005)
        return await room.door.accept(second)

    answers = await asyncio.gather(room.door.accept(first), press_late())

    assert [each.outcome for each in answers] == ["decided", "refused"]
    assert answers[1].answer.endswith("It did not happen.")
    assert (await read_receipt(room))[1] == "did_not"


async def test_press_that_arrives_again_changes_nothing_and_is_answered_truly(
    room: SpineRoom,
) -> None:
    post = await post_card(room)
    press = room.platform.press(post, HAPPENED)
    await room.door.accept(press)
    before = await count_rows(room)

    again = await room.door.accept(press)

    assert (again.outcome, again.reason) == ("duplicate", "card.decided")
    assert again.answer.endswith("It happened.")
    assert await count_rows(room) == before


async def test_refused_press_that_arrives_again_is_refused_again(room: SpineRoom) -> None:
    post = await post_card(room)
    press = room.platform.press(post, HAPPENED, "U2")
    await room.door.accept(press)

    again = await room.door.accept(press)

    assert again == Accepted("duplicate", "card.not_yours", sentences.ONLY_OPERATORS)
    assert await read_card(room) == OPEN


async def test_press_after_a_restart_decides_once(room: SpineRoom) -> None:
    post = await post_card(room)
    press = room.platform.press(post, HAPPENED)
    await room.door.accept(press)

    store = Store.open(room.store.path, room.clock, NoFailpoints())
    door = Inbox(store, room.clock, room.settings, room.wakes)
    replayed = await door.accept(press)
    pressed = await door.accept(room.platform.press(post, DID_NOT))
    await store.close()

    assert (replayed.outcome, pressed.outcome) == ("duplicate", "refused")
    assert pressed.answer.endswith("It happened.")
    assert (await read_receipt(room))[1] == "happened"


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"thread": place_thread(2)}, id="a bound thread of somebody else"),
        pytest.param({"thread": place_thread(9)}, id="a thread without a session"),
        pytest.param({"message_id": "0000000001"}, id="another message"),
        pytest.param({"nonce": "A" * 22}, id="a forged nonce"),
        pytest.param({"nonce": ""}, id="no nonce"),
        pytest.param({"nonce": "\ud800" * 22}, id="a nonce that is no text"),
        pytest.param({"nonce": "A" * 100_000}, id="an endless nonce"),
    ],
)
async def test_press_in_a_wrong_place_changes_nothing(
    room: SpineRoom, change: dict[str, object]
) -> None:
    post = await post_card(room)
    await room.say("mine", thread=place_thread(2))
    before = await count_rows(room)

    accepted = await room.door.accept(replace(room.platform.press(post, HAPPENED), **change))

    assert accepted == Accepted("refused", "card.unknown", sentences.BUTTON_UNKNOWN)
    assert await read_card(room) == OPEN
    assert await read_receipt(room) == UNCERTAIN
    assert await count_rows(room) == before


async def test_press_of_a_stranger_stores_nothing(room: SpineRoom) -> None:
    post = await post_card(room)
    before = await room.rows(dedupe.c.key, order=dedupe.c.key)

    accepted = await room.door.accept(room.platform.press(post, HAPPENED, "U9"))

    assert accepted == Accepted("ignored", "access.stranger")
    assert await room.rows(dedupe.c.key, order=dedupe.c.key) == before
    assert await read_card(room) == OPEN


async def test_press_of_a_bot_is_ignored(room: SpineRoom) -> None:
    post = await post_card(room)
    press = replace(room.platform.press(post, HAPPENED), presser=Person("U1", is_bot=True))

    accepted = await room.door.accept(press)

    assert accepted == Accepted("ignored", "access.bot")
    assert await read_card(room) == OPEN


async def test_person_who_may_only_talk_decides_nothing_and_spoils_nothing(
    room: SpineRoom,
) -> None:
    post = await post_card(room)

    refused = await room.door.accept(room.platform.press(post, HAPPENED, "U2"))
    decided = await room.door.accept(room.platform.press(post, DID_NOT, "U1"))

    assert refused == Accepted("refused", "card.not_yours", sentences.ONLY_OPERATORS)
    assert decided.outcome == "decided"
    assert await read_receipt(room) == ("reconciled", "did_not", "loop:U1")


async def test_operator_who_is_not_among_the_people_decides(room: SpineRoom) -> None:
    post = await post_card(room)
    binding = {**BINDING, "operators": ["U7"]}
    settings = Settings.model_validate(
        {"bindings": [binding], "profiles": {"spine": {"tools": ["list_files"]}}}
    )
    door = Inbox(room.store, room.clock, settings, room.wakes)

    former = await door.accept(room.platform.press(post, HAPPENED, "U1"))
    present = await door.accept(room.platform.press(post, HAPPENED, "U7"))

    assert (former.reason, present.outcome) == ("card.not_yours", "decided")


async def test_press_after_the_command_line_is_told_who_settled(room: SpineRoom) -> None:
    post = await post_card(room)
    press = room.platform.press(post, HAPPENED)
    await settle_on_command_line(room, happened=False)

    accepted = await room.door.accept(press)

    assert (accepted.outcome, accepted.reason) == ("refused", "card.decided")
    assert "ada on the command line" in accepted.answer
    assert accepted.answer.endswith("It did not happen.")
    assert await read_receipt(room) == ("reconciled", "did_not", "operator:ada")
    assert await read_card(room) == ("withdrawn", "", "operator:ada")
    assert (await list_kinds(room))[-2:] == ["effect_settled", "card_withdrawn"]


async def test_command_line_after_a_press_is_refused(room: SpineRoom) -> None:
    from geode.errors import ControlError

    post = await post_card(room)
    await room.door.accept(room.platform.press(post, HAPPENED))

    with pytest.raises(ControlError, match="is reconciled, not uncertain"):
        await settle_on_command_line(room, happened=False)

    assert await read_card(room) == ("decided", "happened", "loop:U1")


async def test_effect_is_asked_about_once_however_often_it_is_told(room: SpineRoom) -> None:
    from geode.records.settling import ask_people

    await leave_uncertain(room)
    (subject,) = await room.rows(cards.c.subject)

    for _ in range(2):
        await room.store.write("ask", lambda tx: ask_people(tx, subject, "", room.clock.now_us()))

    assert len(await room.rows(cards.c.id)) == 1
    assert len(await room.said("card")) == 1


async def open_asking_card(room: SpineRoom) -> ButtonPress:
    """A card of its own, whose one button asks for words; its press, without any."""
    await room.say("hi")
    session_id = await room.session_id()
    choice = Choice("did_not", "No", asks="Why not?")
    new = NewCard("effect", "r0", card_rows.Card("Really?"), [choice], "Really?")
    await room.store.write(
        "open", lambda tx: card_rows.open_card(tx, session_id, new, room.clock.now_us())
    )
    await room.worker().deliver(session_id)
    return room.platform.press(find_card_post(room), "No")


async def test_button_that_asks_for_words_decides_with_words_only(room: SpineRoom) -> None:
    press = await open_asking_card(room)
    door = Inbox(
        room.store,
        room.clock,
        room.settings,
        room.wakes,
        Desk(take_out=lambda text: text.replace("hunter2", "[redacted]")),
    )

    empty = await door.accept(replace(press, text=" "))
    told = await door.accept(replace(press, text="it is hunter2\0", dedupe_key="words"))

    assert empty == Accepted("refused", "card.no_words", sentences.WORDS_MISSING)
    assert told.outcome == "decided"
    assert await room.rows(cards.c.words) == ["it is [redacted]"]


async def test_nonce_is_shown_to_nobody_but_the_channel(
    room: SpineRoom, caplog: pytest.LogCaptureFixture
) -> None:
    from geode.store import views

    post = await post_card(room)
    nonces = tuple(post.buttons.values())
    await room.door.accept(room.platform.press(post, HAPPENED, "U2"))
    await room.door.accept(room.platform.press(post, HAPPENED))
    worker = await leave_uncertain(room)
    await worker.deliver(await room.session_id())

    session_id = await room.session_id()
    shown = [
        repr(await room.store.read(lambda tx: views.show_session(tx, session_id, 500))),
        repr(await room.store.read(lambda tx: views.list_effects(tx, 500))),
        repr(await room.store.read(lambda tx: views.list_replies(tx, 500))),
        repr(room.platform.press(find_card_post(room), HAPPENED)),
        repr([message for step in worker.model.steps for message in step.messages]),
        repr(await room.rows(messages.c.body, order=messages.c.position)),
        repr(await room.rows(timeline.c.body, order=timeline.c.seq)),
        caplog.text,
        *room.platform.texts(THREAD),
    ]

    assert len(nonces) == 2
    assert all(len(nonce) == 22 for nonce in nonces)
    assert not [text for text in shown if any(nonce in text for nonce in nonces)]
