"""A process that is killed around a decision leaves exactly one decision, and no living button."""

from __future__ import annotations

import signal
from pathlib import Path

import orjson
import pytest
from fakes.card_room import HAPPENED, deliver, open_card_room, post_card, read_card, read_receipt
from fakes.forked import run_module
from fakes.spine_room import THREAD

from geode.store.tables import cards, outbox, timeline


async def run_and_die(database: Path, point: str, told: dict[str, str]) -> int:
    return await run_module(
        "crash.press_and_die", str(database), point, orjson.dumps(told).decode()
    )


@pytest.mark.timeout(60)
@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("way", ["intake", "receipt.operator"])
async def test_kill_around_the_commit_of_a_decision_leaves_one(
    tmp_path: Path, way: str, moment: str
) -> None:
    async with open_card_room(tmp_path) as room:
        post = await post_card(room)
        press = room.platform.press(post, HAPPENED)
        (subject,) = await room.rows(cards.c.subject)
        told = {
            "thread": THREAD.thread,
            "message": post.id,
            "nonce": press.nonce,
            "key": press.dedupe_key,
        }

        code = await run_and_die(
            room.store.path,
            f"commit.{moment}:{way}",
            told if way == "intake" else {"settle": subject},
        )
        kept = await read_card(room)
        again = await room.door.accept(press)
        await deliver(room)

        assert code == -signal.SIGKILL
        assert (kept[0] == "open") is (moment == "before")
        assert again.answer.endswith("It happened.")
        assert (await read_receipt(room))[:2] == ("reconciled", "happened")
        kinds = await room.rows(timeline.c.kind, order=timeline.c.seq)
        assert kinds.count("effect_settled") == 1
        assert kinds.count("card_decided") + kinds.count("card_withdrawn") == 1
        assert await room.rows(outbox.c.state, kind="card_end") == ["sent"]
        assert len(post.edits) == 1
        assert post.buttons == {}
