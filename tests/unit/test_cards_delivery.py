"""A card's message shows its buttons while they decide something, and never afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fakes.card_room import (
    DID_NOT,
    HAPPENED,
    deliver,
    find_card_post,
    leave_uncertain,
    open_card_room,
    post_card,
    read_card,
    read_receipt,
)
from fakes.dying import DeadError, DiesAt
from fakes.loopback import LoopbackChannel
from fakes.spine_room import THREAD, SpineRoom, until

from geode.messages import Part, Place
from geode.records.receipts import EffectReceiptStore
from geode.reply import sentences
from geode.store import cards as card_rows
from geode.store.cards import Choice, Decision, NewCard
from geode.store.tables import cards, outbox, timeline

LEASE_OVER_S = 91.0
"""Longer than a delivery lease that nobody renews."""


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[SpineRoom]:
    async with open_card_room(tmp_path) as opened:
        yield opened


async def settle_on_command_line(room: SpineRoom) -> None:
    receipts = EffectReceiptStore(room.store, room.clock)
    (subject,) = await room.rows(cards.c.subject)
    await receipts.settle_by_operator(subject, happened=True, who="ada")


def shows_buttons(room: SpineRoom) -> bool:
    return any(post.buttons for post in room.platform.posted)


async def test_card_shows_tool_arguments_buttons_and_the_way_without_them(room: SpineRoom) -> None:
    post = await post_card(room)

    assert list(post.buttons) == [HAPPENED, DID_NOT]
    assert "`send_parcel` was interrupted" in post.text
    assert '{"text":"to Ada"}' in post.text
    (subject,) = await room.rows(cards.c.subject)
    assert f"`geode effects settle {subject} happened`" in post.text
    assert "I do not know" in room.platform.texts(THREAD)


async def test_decided_card_is_edited_once_and_loses_its_buttons(room: SpineRoom) -> None:
    post = await post_card(room)
    await room.door.accept(room.platform.press(post, DID_NOT))

    await deliver(room)
    await deliver(room)

    assert len(post.edits) == 1
    assert not shows_buttons(room)
    assert "**It did not happen.** Settled by name of U1 (`U1`), 1970-01-12" in post.text
    assert '{"text":"to Ada"}' in post.text
    assert await room.rows(outbox.c.state, kind="card_end") == ["sent"]


async def test_settling_on_the_command_line_ends_the_card(room: SpineRoom) -> None:
    post = await post_card(room)
    await settle_on_command_line(room)

    await deliver(room)

    assert len(post.edits) == 1
    assert not shows_buttons(room)
    assert "Settled by ada on the command line" in post.text


async def test_card_that_was_settled_before_it_was_sent_never_shows_buttons(
    room: SpineRoom,
) -> None:
    await leave_uncertain(room)
    room.platform.faults = ["down"]
    await deliver(room)  # what stands before the card
    await settle_on_command_line(room)
    await room.clock.sleep(60)

    await deliver(room)

    assert not shows_buttons(room)
    assert [post.edits for post in room.platform.posted if "Settled by" in post.text] == [[]]
    assert await room.rows(outbox.c.state, outbox.c.reason, kind="card") == [
        ("not_applied", "decided first")
    ]


async def test_card_that_waits_for_its_platform_is_not_sent_once_it_is_settled(
    room: SpineRoom,
) -> None:
    await leave_uncertain(room)
    room.platform.faults = ["", "down"]  # the progress message goes, the card waits
    await deliver(room)
    assert await room.rows(outbox.c.state, kind="card") == ["sending"]
    await settle_on_command_line(room)
    await room.clock.sleep(60)

    await deliver(room)

    assert not any(post.edits and post.buttons for post in room.platform.posted)
    assert not shows_buttons(room)
    assert await room.rows(outbox.c.reason, kind="card") == ["decided first"]


async def test_end_of_a_card_whose_message_is_gone_is_a_new_message(room: SpineRoom) -> None:
    post = await post_card(room)
    press = room.platform.press(post, HAPPENED)
    room.platform.posted.remove(post)
    await room.door.accept(press)

    await deliver(room)

    last = room.platform.posted[-1]
    assert "**It happened.** Settled by" in last.text
    assert last.edits == []


async def test_card_that_the_platform_refuses_stays_open_for_the_command_line(
    room: SpineRoom,
) -> None:
    await leave_uncertain(room)
    room.platform.faults = ["", "refused"]
    await deliver(room)

    assert not shows_buttons(room)
    assert await read_card(room) == ("open", "", "")
    (noted,) = await room.rows(timeline.c.body, order=timeline.c.seq, kind="card_undelivered")
    assert "channel_not_found" in noted

    await settle_on_command_line(room)
    await deliver(room)
    assert await read_receipt(room) == ("reconciled", "happened", "operator:ada")
    assert "Settled by ada" in room.platform.texts(THREAD)[-1]


async def test_channel_without_buttons_says_how_to_settle(room: SpineRoom) -> None:
    channel = LoopbackChannel(room.platform, has_buttons=False)
    worker = room.worker(channel=channel)
    await leave_uncertain(room, worker=worker)

    await worker.deliver(await room.session_id())

    (post,) = [post for post in room.platform.posted if "geode effects settle" in post.text]
    assert post.buttons == {}
    await settle_on_command_line(room)
    await worker.deliver(await room.session_id())
    assert "Settled by ada" in post.text


class FreezingChannel(LoopbackChannel):
    """The platform shows the card; its answer comes when the test says so."""

    def __init__(self, room: SpineRoom) -> None:
        super().__init__(room.platform)
        self.thaw = asyncio.Event()

    async def send(self, place: Place, part: Part, key: str) -> str:
        message_id = await super().send(place, part, key)
        if "buttons" in part.payload:
            await self.thaw.wait()
        return message_id


async def test_press_before_the_send_is_confirmed_decides_and_ends_that_message(
    room: SpineRoom,
) -> None:
    channel = FreezingChannel(room)
    worker = await leave_uncertain(room, worker=room.worker(channel=channel))
    sending = asyncio.create_task(worker.deliver(await room.session_id()))
    await until(lambda: shows_buttons(room))
    post = find_card_post(room)

    accepted = await room.door.accept(room.platform.press(post, HAPPENED))
    channel.thaw.set()
    await sending

    assert accepted.outcome == "decided"
    assert len(post.edits) == 1
    assert not shows_buttons(room)


async def test_both_copies_of_a_doubled_card_lose_their_buttons(room: SpineRoom) -> None:
    room.platform.is_searchable = False
    await leave_uncertain(room)
    room.platform.faults = ["", "dropped"]
    await deliver(room)
    first, second = (post for post in room.platform.posted if post.buttons)

    accepted = await room.door.accept(room.platform.press(first, HAPPENED))
    await deliver(room)

    assert accepted.outcome == "decided"
    assert not shows_buttons(room)
    assert {"**It happened.**" in post.text for post in (first, second)} == {True, False}
    assert sentences.DECIDED_ABOVE in (first.text, second.text)


@pytest.mark.parametrize(
    ("shown", "ended", "texts"),
    [
        ("a\n---\nb\n---\nc", "over", ["over", sentences.DECIDED_ABOVE, sentences.DECIDED_ABOVE]),
        ("a", "over\n---\nand more", ["over", "and more"]),
    ],
)
async def test_end_of_a_card_covers_all_of_its_messages(
    room: SpineRoom, shown: str, ended: str, texts: list[str]
) -> None:
    await room.say("hi")
    session_id = await room.session_id()
    new = NewCard("effect", "r0", card_rows.Card("?"), [Choice("did_not", "No")], shown)
    now_us = room.clock.now_us()
    await room.store.write("open", lambda tx: card_rows.open_card(tx, session_id, new, now_us))
    await deliver(room)

    def end(tx) -> None:
        card = card_rows.find_card(tx, "effect", "r0")
        assert card is not None
        assert card_rows.decide_card(tx, card, Decision("did_not", "loop:U1"), now_us)
        card_rows.end_card(tx, card, card_rows.Card("?"), ended, now_us)

    await room.store.write("end", end)
    await deliver(room)

    assert room.platform.texts(THREAD) == texts
    assert not shows_buttons(room)


@pytest.mark.parametrize("fault", ["dropped", "unsent", "down", "limited"])
async def test_edit_that_went_wrong_is_repeated(room: SpineRoom, fault: str) -> None:
    post = await post_card(room)
    await room.door.accept(room.platform.press(post, HAPPENED))
    room.platform.faults = [fault]
    count = len(room.platform.posted)
    await deliver(room)
    await room.clock.sleep(120)

    await deliver(room)

    assert not shows_buttons(room)
    assert len(room.platform.posted) == count
    assert await room.rows(outbox.c.state, kind="card_end") == ["sent"]


@pytest.mark.parametrize("moment", ["before", "window", "after"])
@pytest.mark.parametrize("kind", ["card", "card_end"])
async def test_death_around_a_send_leaves_one_card_without_buttons(
    room: SpineRoom, kind: str, moment: str
) -> None:
    dying = room.worker("dying", failpoints=DiesAt(f"send.{moment}:{kind}"))
    await leave_uncertain(room, worker=dying)
    session_id = await room.session_id()
    if kind == "card":
        with pytest.raises(DeadError):
            await dying.deliver(session_id)
        await room.clock.sleep(LEASE_OVER_S)
        await room.worker("alive").deliver(session_id)
    else:
        await dying.deliver(session_id)
    post = find_card_post(room)
    await room.door.accept(room.platform.press(post, HAPPENED))
    if kind == "card_end":
        with pytest.raises(DeadError):
            await dying.deliver(session_id)
        await room.clock.sleep(LEASE_OVER_S)

    await room.worker("heir").deliver(session_id)

    assert not shows_buttons(room)
    assert sum("Settled by" in text for text in room.platform.texts(THREAD)) == 1
    assert await room.rows(outbox.c.state, kind="card_end") == ["sent"]
