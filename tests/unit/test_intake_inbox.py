"""Every event is stored once, or refused with a sentence; nothing is acknowledged before."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.empty_database import lay_database
from fakes.loopback import LoopbackPlatform
from sqlalchemy import Connection, select, update

from geode.intake.inbox import Inbox
from geode.messages import Place, SessionId, Thread, TurnId
from geode.ports import NoFailpoints, SystemClock
from geode.settings import Binding, Settings
from geode.store.database import Store
from geode.store.tables import cursors, inbox, outbox, sessions, threads

THREAD = Thread("loop", "T1", "C1", "0000000500")


class Heard:
    """Remembers what intake woke."""

    def __init__(self) -> None:
        self.sessions: list[SessionId] = []
        self.deliveries: list[SessionId] = []
        self.marks: list[str] = []
        self.due: list[str] = []

    def wake_session(self, session_id: SessionId) -> None:
        self.sessions.append(session_id)

    def wake_delivery(self, session_id: SessionId) -> None:
        self.deliveries.append(session_id)

    def mark_working(self, place: Place, message_id: str, since: float) -> None:
        self.marks.append(message_id)

    def clear_working(self, place: Place, message_id: str) -> None:
        self.marks.remove(message_id)

    def stop_turn(self, session_id: SessionId, turn_id: TurnId) -> None:
        pass

    def mark_catch_up_due(self, channel: str) -> None:
        self.due.append(channel)


BINDING = Binding.model_validate(
    {"channel": "loop", "where": "T1/C1", "people": ["U1", "U2"], "operators": ["U1"]}
)


@pytest.fixture
async def store(tmp_path: Path):
    lay_database(tmp_path / "geode.db")
    opened = Store.open(tmp_path / "geode.db", SystemClock(), NoFailpoints())
    yield opened
    await opened.close()


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def platform() -> LoopbackPlatform:
    return LoopbackPlatform()


def make_inbox(store: Store, heard: Heard, **limits: int) -> Inbox:
    settings = Settings.model_validate({"bindings": [BINDING], "limits": limits})
    return Inbox(store, SystemClock(), settings, heard)


def rows(column):
    return lambda tx: [row[0] for row in tx.execute(select(column).order_by("id"))]


async def test_inbox_stores_a_message_once_however_often_it_comes(
    store: Store, heard: Heard, platform: LoopbackPlatform
) -> None:
    door = make_inbox(store, heard)
    message = platform.message(THREAD, "hi")

    answers = await asyncio.gather(*(door.accept(message) for _ in range(5)))

    assert sorted(answer.outcome for answer in answers) == ["duplicate"] * 4 + ["stored"]
    assert await store.read(rows(inbox.c.text)) == ["hi"]
    assert len(heard.sessions) == 1
    assert heard.marks == [message.message_id]


async def test_inbox_binds_a_thread_to_one_session_for_ever(
    store: Store, heard: Heard, platform: LoopbackPlatform
) -> None:
    door = make_inbox(store, heard)
    for text in ("one", "two", "three"):
        await door.accept(platform.message(THREAD, text))

    other = Thread("loop", "T1", "C1", "0000000600")
    await door.accept(platform.message(other, "four"))

    assert len(set(heard.sessions)) == 2
    found = await store.read(lambda tx: list(tx.execute(select(threads.c.session_id))))
    assert len(found) == 2


async def test_inbox_moves_a_thread_to_the_binding_that_is_nearest_now(
    store: Store, heard: Heard, platform: LoopbackPlatform
) -> None:
    await make_inbox(store, heard).accept(platform.message(THREAD, "under the channel's rules"))
    nearer = Binding.model_validate({**BINDING.model_dump(), "where": f"T1/C1/{THREAD.thread}"})
    settings = Settings.model_validate({"bindings": [BINDING, nearer]})
    rebound = Inbox(store, SystemClock(), settings, heard)

    await rebound.accept(platform.message(THREAD, "under the thread's own"))

    assert await store.read(rows(sessions.c.binding)) == [nearer.key]


async def test_inbox_stores_nothing_of_a_stranger(
    store: Store, heard: Heard, platform: LoopbackPlatform
) -> None:
    door = make_inbox(store, heard)
    before = store.writer.commits

    answer = await door.accept(platform.message(THREAD, "psst", sender="U9"))

    assert (answer.outcome, answer.reason) == ("ignored", "access.stranger")
    assert store.writer.commits == before
    assert door.ignored == {"access.stranger": 1}


async def test_inbox_refuses_with_one_sentence_beyond_the_depth_of_a_session(
    store: Store, heard: Heard, platform: LoopbackPlatform
) -> None:
    door = make_inbox(store, heard, inbox_depth_session=3)

    answers = [await door.accept(platform.message(THREAD, f"m{i}")) for i in range(6)]

    assert [answer.outcome for answer in answers] == ["stored"] * 3 + ["refused"] * 3
    assert await store.read(rows(inbox.c.text)) == ["m0", "m1", "m2"]
    assert await store.read(rows(outbox.c.kind)) == ["overloaded"]


async def test_inbox_refuses_beyond_the_depth_in_all(
    store: Store, heard: Heard, platform: LoopbackPlatform
) -> None:
    door = make_inbox(store, heard, inbox_depth_total=2)
    places = [Thread("loop", "T1", "C1", f"00000006{i:02d}") for i in range(3)]

    answers = [await door.accept(platform.message(place, "m")) for place in places]

    assert [answer.outcome for answer in answers] == ["stored", "stored", "refused"]
    assert await store.read(rows(outbox.c.kind)) == ["overloaded"]


async def test_inbox_tells_once_that_a_message_waits_while_a_turn_runs(
    store: Store, heard: Heard, platform: LoopbackPlatform
) -> None:
    door = make_inbox(store, heard)
    await door.accept(platform.message(THREAD, "first"))
    await store.write("running", _set_running)

    for text in ("second", "third"):
        await door.accept(platform.message(THREAD, text))

    assert await store.read(rows(outbox.c.kind)) == ["held"]


async def test_inbox_applies_edits_and_deletions_to_what_is_still_queued(
    store: Store, heard: Heard, platform: LoopbackPlatform
) -> None:
    door = make_inbox(store, heard)
    one, two = platform.message(THREAD, "one"), platform.message(THREAD, "two")
    await door.accept(one)
    await door.accept(two)

    await door.accept(replace(one, kind="edit", text="ONE", dedupe_key="e1"))
    await door.accept(replace(two, kind="delete", text="", dedupe_key="e2"))

    found = await store.read(lambda tx: tx.execute(select(inbox.c.text, inbox.c.state)).all())
    assert [tuple(row) for row in found] == [("ONE", "queued"), ("two", "removed")]


async def test_inbox_keeps_an_edit_of_a_taken_message_for_the_next_turn_without_starting_one(
    store: Store, heard: Heard, platform: LoopbackPlatform
) -> None:
    door = make_inbox(store, heard)
    message = platform.message(THREAD, "one")
    await door.accept(message)
    await store.write("take", lambda tx: tx.execute(update(inbox).values(state="done")) and None)
    heard.sessions.clear()

    await door.accept(replace(message, kind="edit", text="better", dedupe_key="e1"))

    found = await store.read(lambda tx: tx.execute(select(inbox.c.kind, inbox.c.text)).all())
    assert [tuple(row) for row in found] == [("message", "one"), ("edit", "better")]
    assert heard.sessions == []


async def test_inbox_keeps_only_the_last_wording_of_a_taken_message_and_none_of_a_deleted_one(
    store: Store, heard: Heard, platform: LoopbackPlatform
) -> None:
    door = make_inbox(store, heard)
    kept, gone = platform.message(THREAD, "one"), platform.message(THREAD, "two")
    for message in (kept, gone):
        await door.accept(message)
    await store.write("take", lambda tx: tx.execute(update(inbox).values(state="done")) and None)

    for number in range(5):
        for message in (kept, gone):
            key = f"{message.message_id}/{number}"
            edit = replace(message, kind="edit", text=f"wording {number}", dedupe_key=key)
            await door.accept(edit)
    await door.accept(replace(gone, kind="delete", text="", dedupe_key="gone"))

    edits = select(inbox.c.message_id, inbox.c.text).where(
        inbox.c.kind == "edit", inbox.c.state == "queued"
    )
    found = await store.read(lambda tx: tx.execute(edits).all())
    assert [tuple(row) for row in found] == [(kept.message_id, "wording 4")]


async def test_inbox_records_what_is_too_old_as_skipped_and_says_so_once(
    store: Store, heard: Heard, platform: LoopbackPlatform
) -> None:
    door = make_inbox(store, heard, catchup_max_age_s=60)
    hour_ago = SystemClock().now_us() - 3_600_000_000

    for text in ("old one", "old two"):
        await door.accept(platform.message(THREAD, text, is_catch_up=True, sent_at_us=hour_ago))

    assert await store.read(rows(inbox.c.state)) == ["skipped", "skipped"]
    assert await store.read(rows(outbox.c.kind)) == ["too_old"]
    assert heard.sessions == []


async def test_inbox_cursor_keeps_its_floor_when_live_messages_pass_a_gap(
    store: Store, heard: Heard, platform: LoopbackPlatform
) -> None:
    door = make_inbox(store, heard)
    first = platform.message(THREAD, "first")
    await door.accept(first)
    await door.accept(platform.message(THREAD, "after the gap"))

    found = await store.read(
        lambda tx: tx.execute(
            select(cursors.c.floor_key, cursors.c.floor_id).where(cursors.c.thread == THREAD.thread)
        ).one()
    )

    assert tuple(found) == (first.order_key, first.message_id)


async def test_inbox_marks_a_catch_up_due_when_it_could_not_store(
    tmp_path: Path, heard: Heard, platform: LoopbackPlatform
) -> None:
    from geode.errors import StoreError

    store = Store.open(tmp_path / "geode.db", SystemClock(), NoFailpoints())
    await store.close()
    door = make_inbox(store, heard)

    with pytest.raises(StoreError):
        await door.accept(platform.message(THREAD, "hi"))

    assert heard.due == ["loop"]


def _set_running(tx: Connection) -> None:
    tx.execute(update(sessions).values(state="running", turn_id="t1"))


async def test_event_on_which_our_code_fails_is_counted_and_holds_up_nothing(
    store: Store, heard: Heard, platform: LoopbackPlatform
) -> None:
    """Half a character cannot be written: delivered again, it would fail for ever."""
    door = make_inbox(store, heard)

    broken = await door.accept(platform.message(THREAD, "half \ud800"))
    after = await door.accept(platform.message(THREAD, "whole"))

    assert (broken.outcome, broken.reason) == ("refused", "intake.fault")
    assert after.outcome == "stored"
    assert door.ignored["intake.fault"] == 1
    assert heard.due == []
