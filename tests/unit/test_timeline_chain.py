"""A timeline in which anything was changed afterwards is found out at the first such row."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fakes.scripted_model import say
from fakes.spine_room import SpineRoom, open_room, place_thread
from sqlalchemy import delete, insert, select, text, update

from geode.messages import SessionId
from geode.records.timeline import SessionTimeline
from geode.session.retention import Retention
from geode.settings_retention import RetentionSettings
from geode.store.review_tables import timeline_anchors
from geode.store.tables import receipts, sessions, timeline, turns
from geode.store.timeline import TimelineEntry, append_entries
from geode.store.timeline_chain import prune_rows, read_ends, read_rows, sum_bytes

DAY_S = 86_400
DAY_US = DAY_S * 1_000_000
COLUMNS = ("session_id", "turn_id", "kind", "body", "at_us", "prev_hash", "hash", "seq")


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[SpineRoom]:
    async with open_room(tmp_path) as opened:
        worker = opened.worker(replies=[say("one"), say("two"), say("three")])
        for thread in (1, 2, 1):
            await opened.say("hi", thread=place_thread(thread))
            await worker.runner.run_session(await opened.session_id(place_thread(thread)))
            await opened.clock.sleep(10 * DAY_S)
        yield opened


async def change(room: SpineRoom, *statements: object) -> None:
    def unit(tx: object) -> None:
        for statement in statements:
            tx.execute(statement)  # type: ignore[attr-defined]

    await room.store.write("forge", unit)


async def faults(room: SpineRoom) -> list[tuple[str, int]]:
    found = await SessionTimeline(room.store).verify_some("")
    assert found.after == ""
    return [(each.fault, each.seq) for each in found.faults]


async def test_untouched_timeline_holds(room: SpineRoom) -> None:
    found = await SessionTimeline(room.store).verify_some("")
    one = await SessionTimeline(room.store).verify(await room.session_id(place_thread(1)))

    rows = await room.rows(timeline.c.seq, order=timeline.c.seq)
    assert (found.sessions, found.rows, found.faults) == (2, len(rows), ())
    assert one is not None
    assert 0 < one.rows < found.rows
    assert await SessionTimeline(room.store).verify("nothing") is None


@pytest.mark.parametrize("column", COLUMNS)
async def test_one_altered_value_in_any_column_is_found(room: SpineRoom, column: str) -> None:
    session_id = await room.session_id(place_thread(1))
    is_it = (timeline.c.session_id == session_id) & (timeline.c.seq == 3)
    of = timeline.c[column]
    value = of + 1_000 if column in {"at_us", "seq"} else of + "x"

    await change(room, update(timeline).where(is_it).values({column: value}))

    found = await faults(room)
    wanted = {"seq": ("missing", 4), "session_id": ("missing", 4)}.get(column, ("altered", 3))
    assert found[0] == wanted
    assert len(found) == (2 if column == "session_id" else 1)


async def test_one_altered_byte_of_a_body_is_found(room: SpineRoom) -> None:
    session_id = await room.session_id(place_thread(1))
    await change(
        room,
        text("UPDATE timeline SET body = replace(body, 'natural', 'naturaI')"),
    )

    found = await SessionTimeline(room.store).verify(session_id)

    assert found is not None
    (fault,) = found.faults
    assert (fault.fault, fault.kind) == ("altered", "turn_ended")


async def test_missing_inserted_and_cut_rows_are_found(room: SpineRoom) -> None:
    session_id = await room.session_id(place_thread(1))
    own = timeline.c.session_id == session_id
    last = max(await room.rows(timeline.c.seq, session_id=session_id, order=timeline.c.seq))
    rows = await room.store.read(lambda tx: read_rows(tx, session_id, 0, 100))

    await change(room, delete(timeline).where(own, timeline.c.seq == last))
    assert await faults(room) == [("cut off", last)]
    await change(room, delete(timeline).where(own, timeline.c.seq == 1))
    assert await faults(room) == [("missing", 2)]
    values = {
        "session_id": session_id,
        "seq": 0,
        "turn_id": "",
        "kind": "x",
        "body": "{}",
        "at_us": 1,
        "prev_hash": "",
        "hash": rows[0].hash,
    }
    await change(room, insert(timeline).values(values))
    assert await faults(room) == [("out of order", 0)]


async def test_rows_of_nobody_are_found(room: SpineRoom) -> None:
    session_id = await room.session_id(place_thread(2))
    await change(room, delete(sessions).where(sessions.c.id == session_id))

    assert await faults(room) == [("no session", 0)]


@pytest.mark.parametrize("count", [1, 3, 1_000])
async def test_chain_holds_behind_the_anchor_of_what_was_pruned(
    room: SpineRoom, count: int
) -> None:
    session_id = await room.session_id(place_thread(1))
    held = await room.rows(timeline.c.seq, session_id=session_id, order=timeline.c.seq)
    later_us = room.clock.now_us() + 1

    gone = await room.store.write("p", lambda tx: prune_rows(tx, session_id, later_us, count, 7))
    again = await room.store.write("p", lambda tx: prune_rows(tx, session_id, later_us, 1, 8))

    assert gone == min(count, len(held))
    assert await faults(room) == []
    pruned = await room.rows(timeline_anchors.c.rows_pruned, order=timeline_anchors.c.seq)
    assert pruned == [gone + again]
    await room.say("more", thread=place_thread(1))
    worker = room.worker(replies=[say("four")])
    await worker.runner.run_session(session_id)
    assert await faults(room) == []
    await change(room, update(timeline_anchors).values(hash="x"))
    assert len(await faults(room)) == 1


async def test_open_turns_and_unsettled_effects_keep_their_rows(room: SpineRoom) -> None:
    session_id = await room.session_id(place_thread(1))
    first, second = await room.rows(turns.c.id, session_id=session_id, order=turns.c.number)
    later_us = room.clock.now_us() + 1
    await change(room, update(turns).where(turns.c.id == second).values(state="running"))

    await room.store.write("p", lambda tx: prune_rows(tx, session_id, later_us, 1_000, 7))

    assert set(
        await room.rows(timeline.c.turn_id, session_id=session_id, order=timeline.c.seq)
    ) == {second}
    assert await faults(room) == []
    assert first != second


async def test_retention_prunes_by_age_and_by_bytes(room: SpineRoom) -> None:
    async def prune(**settings: object) -> set[int]:
        kept = RetentionSettings.model_validate({"timeline_days": None, **settings})
        await Retention(room.store, room.clock, room.folder, kept).prune()
        assert await faults(room) == []
        return await list_days()

    async def list_days() -> set[int]:
        return {at // DAY_US for at in await room.rows(timeline.c.at_us, order=timeline.c.seq)}

    days = sorted(await list_days())
    assert len(days) == 3
    assert await prune(timeline_days=40) == set(days)
    assert await prune(timeline_days=15) == {days[2]}
    await change(room, update(timeline).values(body=timeline.c.body))
    settings = RetentionSettings.model_construct(
        timeline_days=None, timeline_bytes=10, evidence_days=None, files_days=None
    )
    await Retention(room.store, room.clock, room.folder, settings).prune()
    assert await room.rows(timeline.c.seq, order=timeline.c.seq) == []
    assert await faults(room) == []


async def test_files_and_evidence_go_after_their_days(room: SpineRoom) -> None:
    quiet = await room.session_id(place_thread(2))
    busy = await room.session_id(place_thread(1))
    await room.say("waits", thread=place_thread(1))
    for name in (quiet, busy):
        (room.folder / "files" / name).mkdir(parents=True, exist_ok=True)
    evidence = room.folder / "evidence"
    evidence.mkdir(exist_ok=True)
    for day in ("1970-01-02", "1970-02-10"):
        (evidence / f"evidence-{day}.jsonl").write_text("{}\n")
    kept = RetentionSettings(timeline_days=None, files_days=5, evidence_days=3)

    await Retention(room.store, room.clock, room.folder, kept).prune()

    assert not (room.folder / "files" / quiet).exists()
    assert (room.folder / "files" / busy).exists()
    assert [path.name for path in evidence.iterdir()] == ["evidence-1970-02-10.jsonl"]


async def test_unsettled_receipt_keeps_its_turns_rows(room: SpineRoom) -> None:
    session_id = await room.session_id(place_thread(2))
    (turn,) = await room.rows(turns.c.id, session_id=session_id)
    values = dict.fromkeys(
        ("binding", "mode", "tool", "effect", "call_id", "arguments", "arguments_hash"), "x"
    )
    row = {
        **values,
        "id": "r1",
        "session_id": session_id,
        "turn_id": turn,
        "step": 1,
        "position": 0,
        "state": "uncertain",
        "epoch": 1,
        "prepared_at_us": 1,
    }
    await change(room, insert(receipts).values(row))
    held = await room.rows(timeline.c.seq, session_id=session_id, order=timeline.c.seq)

    gone = await room.store.write(
        "p", lambda tx: prune_rows(tx, SessionId(session_id), room.clock.now_us() + 1, 100, 7)
    )

    assert gone == 0
    assert await room.rows(timeline.c.seq, session_id=session_id, order=timeline.c.seq) == held
    assert await room.store.read(lambda tx: tx.execute(select(timeline_anchors)).all()) == []


async def test_row_behind_the_head_is_found(room: SpineRoom) -> None:
    session_id = await room.session_id(place_thread(1))
    last = max(await room.rows(timeline.c.seq, session_id=session_id, order=timeline.c.seq))
    values = dict.fromkeys(("turn_id", "kind", "body", "prev_hash", "hash"), "x")
    row = {**values, "session_id": session_id, "seq": last + 1, "at_us": 1}

    await change(room, insert(timeline).values(row))

    assert await faults(room) == [("out of order", last + 1)]


async def test_bytes_that_are_no_text_are_an_altered_row(room: SpineRoom) -> None:
    session_id = await room.session_id(place_thread(1))
    forged = text("UPDATE timeline SET body = cast(x'7bff7d' AS TEXT) WHERE seq = 2")

    await change(room, forged)

    found = await SessionTimeline(room.store).verify(session_id)
    assert found is not None
    assert [(each.fault, each.seq) for each in found.faults] == [("altered", 2)]


async def test_chain_that_is_pruned_while_it_is_followed_holds(room: SpineRoom) -> None:
    session_id = await room.session_id(place_thread(1))
    ends = await room.store.read(lambda tx: read_ends(tx, session_id))
    assert ends is not None
    later_us = room.clock.now_us() + 1
    await room.store.write("p", lambda tx: prune_rows(tx, session_id, later_us, 2, 7))

    found = await SessionTimeline(room.store)._verify_chain(ends)

    assert found.faults == ()


async def test_changed_count_of_pruned_rows_is_found(room: SpineRoom) -> None:
    session_id = await room.session_id(place_thread(1))
    later_us = room.clock.now_us() + 1
    await room.store.write("p", lambda tx: prune_rows(tx, session_id, later_us, 2, 7))

    await change(room, update(timeline_anchors).values(rows_pruned=0))

    assert await faults(room) == [("altered", 2)]


async def test_bytes_are_bounded_by_pruning_no_more_than_must_go(room: SpineRoom) -> None:
    entries = [TimelineEntry("x", {"w": "\u00e9" * 1_700}) for _ in range(150)]
    for thread in (1, 2):
        session_id = await room.session_id(place_thread(thread))
        now_us = room.clock.now_us()
        await room.store.write(
            "a", lambda tx, of=session_id, at=now_us: append_entries(tx, of, entries, at)
        )
    assert await room.store.read(sum_bytes) > 1_020_000
    kept = RetentionSettings(timeline_days=None, timeline_bytes=1_000_000, evidence_days=None)

    await Retention(room.store, room.clock, room.folder, kept).prune()

    assert 900_000 < await room.store.read(sum_bytes) <= 1_000_000
    assert await faults(room) == []


async def test_files_of_every_quiet_session_go(room: SpineRoom) -> None:
    quiet = await room.session_id(place_thread(2))
    row = (await room.store.read(lambda tx: tx.execute(select(sessions)).mappings().all()))[0]
    more = [
        {**row, "id": f"z{number:03d}", "timeline_seq": 0, "timeline_hash": ""}
        for number in range(450)
    ]
    await change(room, insert(sessions).values(more))
    for name in (quiet, "nobody", *(str(each["id"]) for each in more)):
        (room.folder / "files" / name).mkdir(parents=True, exist_ok=True)
    await room.clock.sleep(30 * DAY_S)
    kept = RetentionSettings(timeline_days=None, files_days=5, evidence_days=None)

    await Retention(room.store, room.clock, room.folder, kept).prune()

    assert [path.name for path in (room.folder / "files").iterdir()] == ["nobody"]


@pytest.mark.parametrize("seq", [-1, 0, 1])
async def test_row_before_the_anchor_is_found_also_when_all_was_pruned(
    room: SpineRoom, seq: int
) -> None:
    session_id = await room.session_id(place_thread(1))
    later_us = room.clock.now_us() + 1
    await room.store.write("p", lambda tx: prune_rows(tx, session_id, later_us, 1_000, 7))
    assert await faults(room) == []
    values = dict.fromkeys(("turn_id", "kind", "body", "prev_hash", "hash"), "x")
    row = {**values, "session_id": session_id, "seq": seq, "at_us": 1}

    await change(room, insert(timeline).values(row))

    assert await faults(room) == [("out of order", seq)]


async def test_another_byte_that_is_no_text_is_another_hash(room: SpineRoom) -> None:
    session_id = await room.session_id(place_thread(1))
    entry = TimelineEntry("x", {"w": "\ufffd"})
    await room.store.write("a", lambda tx: append_entries(tx, session_id, [entry], 1))
    assert await faults(room) == []

    await change(
        room,
        text(
            "UPDATE timeline SET body = cast(replace(cast(body AS TEXT), char(65533), "
            "cast(x'ff' AS TEXT)) AS TEXT) WHERE kind = 'x'"
        ),
    )

    assert [fault for fault, _ in await faults(room)] == ["altered"]
