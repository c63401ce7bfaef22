"""A claim begins or resumes exactly one turn, and nobody takes what another still holds."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from fakes.spine_room import LEASE_S, THREAD, RoomClock, SpineRoom, open_room

from geode.errors import StaleEpochError
from geode.messages import SessionId, TerminationReason
from geode.session.claims import Claim, EarlierDue
from geode.steps import Usage
from geode.store import inbox, sessions, turns
from geode.store.leases import renew_leases, require_epoch
from geode.store.tables import inbox as inbox_rows
from geode.store.tables import messages as message_rows
from geode.store.tables import outbox as outbox_rows
from geode.store.tables import turns as turn_rows
from geode.store.turns import TurnTotals


@pytest.fixture
async def room(tmp_path: Path):
    async with open_room(tmp_path) as opened:
        yield opened


async def claimed(room: SpineRoom, session_id: SessionId, owner: str = "one") -> Claim:
    found = await room.claim(session_id, owner)
    assert isinstance(found, Claim)
    return found


def pass_time(room: SpineRoom, seconds: float) -> None:
    assert isinstance(room.clock, RoomClock)
    room.clock.now_s += seconds


async def test_claim_never_steals_a_live_lease(room: SpineRoom) -> None:
    await room.say("hi")
    session_id = await room.session_id()
    first = await claimed(room, session_id, "one")

    for seconds in (0, LEASE_S - 1, 1):
        pass_time(room, seconds)
        assert await room.claim(session_id, "two") is None

    assert await room.rows(turn_rows.c.attempts) == [1]
    await room.store.write("check", lambda tx: require_epoch(tx, session_id, first.epoch))


async def test_claim_of_its_own_live_lease_is_refused_too(room: SpineRoom) -> None:
    await room.say("hi")
    session_id = await room.session_id()
    await claimed(room, session_id, "one")

    assert await room.claim(session_id, "one") is None


async def test_take_over_of_an_expired_lease_raises_the_epoch_and_keeps_the_turn(
    room: SpineRoom,
) -> None:
    await room.say("hi")
    session_id = await room.session_id()
    first = await claimed(room, session_id, "one")
    pass_time(room, LEASE_S + 0.001)

    second = await claimed(room, session_id, "two")

    assert (second.turn_id, second.epoch) == (first.turn_id, first.epoch + 1)
    assert (first.attempts, second.attempts) == (1, 2)
    assert second.is_resumed
    assert second.history == first.history
    with pytest.raises(StaleEpochError):
        await room.store.write("stale", lambda tx: require_epoch(tx, session_id, first.epoch))


async def test_renewed_lease_is_not_taken_over_and_a_lost_one_is_not_renewed(
    room: SpineRoom,
) -> None:
    await room.say("hi")
    session_id = await room.session_id()
    first = await claimed(room, session_id, "one")
    pass_time(room, LEASE_S - 1)
    until_us = room.clock.now_us() + int(LEASE_S * 1e6)
    held = {session_id: first.epoch}

    renewed = await room.store.write("renew", lambda tx: renew_leases(tx, held, until_us))
    pass_time(room, LEASE_S - 1)
    is_stolen = await room.claim(session_id, "two")
    pass_time(room, 2)
    await claimed(room, session_id, "two")
    after = await room.store.write("renew", lambda tx: renew_leases(tx, held, until_us))

    assert (renewed, is_stolen, after) == ({session_id}, None, set())


async def test_claim_race_has_one_winner(room: SpineRoom) -> None:
    await room.say("hi")
    session_id = await room.session_id()

    found = await asyncio.gather(*(room.claim(session_id, f"w{n}") for n in range(8)))

    assert sum(isinstance(each, Claim) for each in found) == 1
    assert len(await room.rows(turn_rows.c.id)) == 1


async def test_claim_finds_nothing_without_a_message(room: SpineRoom) -> None:
    await room.say("hi")
    session_id = await room.session_id()
    await room.store.write(
        "take",
        lambda tx: inbox.take_rows(tx, inbox.list_queued(tx, session_id), "gone"),  # type: ignore[arg-type]
    )

    assert await room.claim(session_id) is None
    assert await room.claim(SessionId("nobody")) is None


async def test_claim_takes_everything_queued_in_the_platforms_order_with_senders(
    room: SpineRoom,
) -> None:
    early = room.platform.message(THREAD, "first by Slack", "U2")
    late = room.platform.message(THREAD, "second by Slack", "U1")
    for message in (late, early):
        await room.door.accept(message)
    session_id = await room.session_id()

    claim = await claimed(room, session_id)

    request = claim.history[-1].text
    assert request.index("first by Slack") < request.index("second by Slack")
    assert 'id="U2"' in request
    assert 'id="U1"' in request
    assert claim.requesters == ("U2", "U1")
    assert await room.rows(inbox_rows.c.turn_id) == [claim.turn_id] * 2


async def test_messages_of_a_claim_are_fixed_so_that_a_restart_regroups_nothing(
    room: SpineRoom,
) -> None:
    await room.say("one")
    await room.say("two")
    session_id = await room.session_id()
    first = await claimed(room, session_id)
    await room.say("three")

    pass_time(room, LEASE_S + 1)
    again = await claimed(room, session_id, "two")

    pairs = await room.rows(inbox_rows.c.text, inbox_rows.c.turn_id)
    assert pairs == [("one", first.turn_id), ("two", first.turn_id), ("three", "")]
    assert again.history == first.history
    assert len(await room.rows(message_rows.c.turn_id, order=message_rows.c.position)) == 1


async def test_claim_writes_the_progress_message_once_however_often_it_is_resumed(
    room: SpineRoom,
) -> None:
    await room.say("hi")
    session_id = await room.session_id()
    for owner in ("one", "two", "three"):
        await claimed(room, session_id, owner)
        pass_time(room, LEASE_S + 1)

    assert await room.rows(outbox_rows.c.kind) == ["progress"]


async def test_reply_goes_to_the_place_of_the_last_collected_message(room: SpineRoom) -> None:
    await room.say("a", reply_to="0000000777")
    await room.say("b", reply_to="0000000888")
    session_id = await room.session_id()

    claim = await claimed(room, session_id)

    assert claim.reply_to == "0000000888"


async def test_first_claim_asks_for_the_earlier_messages_of_a_used_thread(room: SpineRoom) -> None:
    message = await room.say("what about it?", has_earlier=True)
    session_id = await room.session_id()

    due = await room.claim(session_id)

    assert due == EarlierDue(session_id, THREAD, message.message_id)
    assert await room.state(session_id) == "idle"


async def test_hand_back_lets_the_next_claim_resume_at_once_without_a_failed_try(
    room: SpineRoom,
) -> None:
    await room.say("hi")
    session_id = await room.session_id()
    first = await claimed(room, session_id, "one")

    def unit(tx):
        sessions.hand_back(tx, session_id, first.epoch)
        turns.count_attempt(tx, first.turn_id, -1)

    await room.store.write("back", unit)
    pass_time(room, 0.001)
    second = await claimed(room, session_id, "two")

    assert (second.turn_id, second.attempts) == (first.turn_id, 1)


async def test_hand_back_by_a_stale_worker_changes_nothing(room: SpineRoom) -> None:
    await room.say("hi")
    session_id = await room.session_id()
    first = await claimed(room, session_id, "one")
    pass_time(room, LEASE_S + 1)
    await claimed(room, session_id, "two")

    with pytest.raises(StaleEpochError):
        await room.store.write("back", lambda tx: sessions.hand_back(tx, session_id, first.epoch))

    assert await room.claim(session_id, "three") is None


async def test_hand_back_after_the_turn_ended_does_not_touch_the_idle_session(
    room: SpineRoom,
) -> None:
    await room.say("hi")
    session_id = await room.session_id()
    claim = await claimed(room, session_id)
    totals = TurnTotals(TerminationReason.NATURAL, "", 1, 0, Usage(), 0)

    def end(tx):
        turns.end_turn(tx, claim.turn_id, totals, room.clock.now_us())
        inbox.finish_rows(tx, claim.turn_id)
        sessions.release_session(tx, session_id, "idle", room.clock.now_us())  # type: ignore[arg-type]

    await room.store.write("end", end)

    with pytest.raises(StaleEpochError):
        await room.store.write("back", lambda tx: sessions.hand_back(tx, session_id, claim.epoch))


async def test_expiring_all_leases_frees_what_a_dead_process_held(room: SpineRoom) -> None:
    await room.say("hi")
    session_id = await room.session_id()
    first = await claimed(room, session_id, "dead")

    await room.store.write("leases.expire", sessions.expire_leases)
    second = await claimed(room, session_id, "alive")

    assert second.epoch == first.epoch + 1
