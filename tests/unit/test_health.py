"""What whoever watches the daemon is told: the truth of now, without content and without nonces."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes.contract_desk import UNCERTAIN
from fakes.spine_room import SpineRoom, open_room
from sqlalchemy import insert, select

from geode.messages import ReceiptId
from geode.ports import ChannelStatus, SystemClock
from geode.records.settling import ask_people
from geode.serve.health import DaemonHealth, Moment
from geode.store.tables import card_choices, receipts

UP = Moment(
    "running", "rehearsal", "rehearsal", 0, {"slack": ChannelStatus("up")}, (), {"access.bot": 2}, 7
)


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[SpineRoom]:
    async with open_room(tmp_path) as opened:
        yield opened


def watch(room: SpineRoom, moment: Moment = UP) -> DaemonHealth:
    return DaemonHealth(room.store, SystemClock(), lambda: moment)


async def test_service_that_can_store_and_hear_is_ready(room: SpineRoom) -> None:
    assert await watch(room).find_hindrances() == []


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"state": "draining"}, "stopping"),
        ({"channels": {"slack": ChannelStatus("down", "no route")}}, "slack is down"),
        ({"channels": {}}, "none is open"),
        (
            {"channels": {"web": ChannelStatus("up"), "slack": ChannelStatus("degraded")}},
            "slack is degraded",
        ),
    ],
)
async def test_what_keeps_messages_away_is_one_sentence(
    room: SpineRoom, changes: dict[str, Any], word: str
) -> None:
    (sentence,) = await watch(room, replace(UP, **changes)).find_hindrances()

    assert word in sentence
    assert sentence.endswith(".")


async def test_page_alone_is_a_service(room: SpineRoom) -> None:
    moment = replace(UP, channels={"web": ChannelStatus("up")})

    assert await watch(room, moment).find_hindrances() == []


async def test_store_that_is_closed_is_a_hindrance(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        health = watch(room)
    (sentence,) = await health.find_hindrances()

    assert "stored" in sentence or "store" in sentence


async def test_many_who_ask_at_once_cost_one_look_at_the_disk(room: SpineRoom) -> None:
    health = watch(room)

    answers = await asyncio.gather(*(health.find_hindrances() for _ in range(50)))
    answers.append(await health.find_hindrances())

    assert answers == [[]] * 51
    assert room.store.writer.units_by_label["health"] == 1


async def test_store_that_hangs_is_told_to_all_who_ask_and_asked_once(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        (path,) = await room.store.read(lambda tx: [tx.engine.url.database or ""])
        other = sqlite3.connect(path)
        other.execute("begin immediate")
        health = watch(room)
        try:
            async with asyncio.timeout(10):
                told = await asyncio.gather(*(health.find_hindrances() for _ in range(20)))
        finally:
            other.rollback()
            other.close()
        await room.store.write("after", lambda tx: None)

        assert {len(each) for each in told} == {1}
        assert "did not answer" in told[0][0]
        assert room.store.writer.units_by_label["health"] == 1


async def test_open_card_is_listed_without_what_would_decide_it(room: SpineRoom) -> None:
    await room.say("deploy it")
    session_id = await room.session_id()

    def unit(tx: Any) -> None:
        tx.execute(insert(receipts), UNCERTAIN | {"session_id": session_id})
        ask_people(tx, ReceiptId("r1"), "", 1)

    await room.store.write("ask", unit)
    (card,) = await watch(room).list_open_cards(10)

    assert (card["kind"], card["subject"], card["session"]) == ("effect", "r1", session_id)
    query = select(card_choices.c.nonce)
    nonces = await room.store.read(lambda tx: list(tx.execute(query).scalars()))
    assert nonces
    assert not any(nonce in str(card) for nonce in nonces)


async def test_numbers_have_names_that_do_not_repeat(room: SpineRoom) -> None:
    found = await watch(room).measure()

    keys = [(each.name, each.labels) for each in found]
    assert len(keys) == len(set(keys))
    assert {"commits_total", "channel_up", "memory_bytes_max", "events_ignored_total"} <= {
        each.name for each in found
    }
    assert all(each.kind == "counter" for each in found if each.name.endswith("_total"))
