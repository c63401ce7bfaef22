"""What answers, repairs and checks used is told apart, and an unknown price as unknown."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.commanding import told
from fakes.review_room import RELEASE, ReviewRoom, open_review_room
from fakes.scripted_judge import FAILED, PASSED, RETRY, SPEND
from fakes.scripted_model import say
from fakes.spine_room import BINDING

from geode.cli.reports import report_session, report_sessions, report_status
from geode.messages import JsonObject
from geode.ports import ChannelStatus, SystemClock
from geode.reply.spending import describe_cost, describe_spent
from geode.serve.health import DaemonHealth, Moment
from geode.settings import Settings
from geode.steps import Spend
from geode.store import standing, views
from geode.store.spent import Part, Spent
from geode.store.tables import turns
from geode.store.turns import sum_cost_since

UP = Moment("running", "model", "judge", 0, {"loop": ChannelStatus("up")}, (), {}, 7)
DEAR = replace(PASSED, spend=replace(SPEND, cost_micro_usd=20_000))
UNPRICED = replace(PASSED, spend=replace(SPEND, cost_micro_usd=None))


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[ReviewRoom]:
    async with open_review_room(tmp_path) as opened:
        yield opened


async def read_spent(place: ReviewRoom) -> Spent:
    session_id = await place.room.session_id()
    return await place.room.store.read(lambda tx: standing.sum_session(tx, session_id))


async def test_repairs_and_checks_are_apart_from_the_answers_own(place: ReviewRoom) -> None:
    answers = [say("one", cost_micro_usd=100_000), say("two", cost_micro_usd=50_000)]
    await place.judge_answers([RETRY, DEAR], *answers)

    spent = await read_spent(place)
    answer = await told(place.room, "usage", "U2")

    assert spent.own == Part(0, 10, 5, 100_000)
    assert spent.repairs == Part(1, 10, 5, 50_000)
    assert spent.checks == Part(2, 200, 20, 20_007)
    assert (spent.tokens, spent.cost_micro_usd) == (250, 170_007)
    assert answer.splitlines()[0] == (
        "- This conversation: 1 turn, 10 tokens read, 5 written, $0.10; "
        "1 repair: 15 tokens, $0.05; 2 checks: 220 tokens, $0.02; $0.17 in all"
    )
    assert answer.splitlines()[1].startswith("- This place today: 1 turn, 10 tokens read")


async def test_day_limit_counts_the_judge(tmp_path: Path) -> None:
    async with open_review_room(tmp_path) as place:
        limited = {"bindings": [BINDING], "profiles": {"spine": {"cost_usd_per_day": 0.5}}}
        place.room.door.follow(Settings.model_validate(limited))
        await place.judge_answers([DEAR], say("one", cost_micro_usd=100_000))

        answer = await told(place.room, "usage", "U2")
        status = await told(place.room, "status", "U2", dedupe_key="other")

    assert "- Budget: $0.50 per day, $0.38 left today" in answer
    assert "budget left: $0.38 today" in status
    assert "125 tokens" in status


async def test_turn_that_waits_counts_against_the_day_once(place: ReviewRoom) -> None:
    failed = replace(FAILED, spend=replace(SPEND, cost_micro_usd=20_000))
    store = place.room.store

    async def spent_today() -> int:
        return await store.read(lambda tx: sum_cost_since(tx, ["loop:T1/C1"], 0))

    await place.judge_answers([RETRY, failed], say("a", cost_micro_usd=100), say("b"))
    waiting = await spent_today()
    await place.decide(RELEASE)
    await place.go_on()

    assert waiting == 20_107
    assert await spent_today() == 20_107


async def test_unknown_price_is_told_as_unknown(place: ReviewRoom) -> None:
    await place.judge_answers([PASSED], say("free of a price", cost_micro_usd=None))
    await place.judge_answers([UNPRICED], say("priced", cost_micro_usd=30_000))

    spent = await read_spent(place)
    answer = await told(place.room, "usage", "U2")

    assert (spent.own.unpriced, spent.checks.unpriced, spent.unpriced) == (1, 1, 2)
    assert "$0.03 and calls of unknown price" in answer
    marks = await place.room.rows(turns.c.unpriced, turns.c.judge_unpriced, order=turns.c.number)
    assert marks == [(1, 0), (0, 1)]


async def test_review_of_a_person_costs_what_the_judge_did_before(place: ReviewRoom) -> None:
    await place.judge_answers([FAILED], say("draft"))
    await place.decide(RELEASE)
    await place.go_on()

    assert (await read_spent(place)).checks == Part(1, 100, 10, 7)


@pytest.mark.parametrize(
    ("spent", "words"),
    [
        (Spent(), "0 turns, 0 tokens read, 0 written, $0.00"),
        (
            Spent(1, Part(0, 1, 2, 0, 1), checks=Part(3, 4, 5, 6)),
            "1 turn, 1 tokens read, 2 written, price unknown; 3 checks: 9 tokens, $0.000006; "
            "$0.000006 and calls of unknown price in all",
        ),
        (
            Spent(2_000, Part(0, 1_000, 2_000, 1_500_000), Part(2, 10, 10, 500_000)),
            "2,000 turns, 1,000 tokens read, 2,000 written, $1.50; 2 repairs: 20 tokens, $0.50; "
            "$2.00 in all",
        ),
    ],
    ids=["nothing", "unknown", "repairs"],
)
def test_figures_are_one_line(spent: Spent, words: str) -> None:
    assert describe_spent(spent) == words
    assert Spent.from_json(spent.to_json()) == spent


@pytest.mark.parametrize(
    ("micro_usd", "unpriced", "words"),
    [
        (0, 0, "$0.00"),
        (7, 0, "$0.000007"),
        (9_500, 0, "$0.0095"),
        (10_000, 0, "$0.01"),
        (0, 1, "price unknown"),
        (10_000, 2, "$0.01 and calls of unknown price"),
    ],
)
def test_cost_of_unknown_price_is_not_zero(micro_usd: int, unpriced: int, words: str) -> None:
    assert describe_cost(micro_usd, unpriced) == words


async def test_command_line_shows_each_turn_conversation_and_day(place: ReviewRoom) -> None:
    answers = [say("one", cost_micro_usd=100_000), say("two", cost_micro_usd=None)]
    await place.judge_answers([RETRY, DEAR], *answers)
    session_id, store = await place.room.session_id(), place.room.store

    sessions: JsonObject = {"sessions": [*await store.read(lambda tx: views.list_sessions(tx, 5))]}
    shown = await store.read(lambda tx: views.show_session(tx, session_id, 5))
    counts = await store.read(lambda tx: views.count_all(tx, 0))

    assert shown is not None
    listed = report_sessions(sessions).splitlines()[1]
    assert "250" in listed
    assert "$0.02 and calls of unknown price" in listed
    told = report_session(shown)
    assert "used" in told
    (row,) = [line for line in told.splitlines() if line.startswith("1 ")]
    assert "1: price unknown" in row
    assert "2: $0.02" in row
    status = report_status({"state": "running", **counts})
    assert "spent today" in status
    assert "2 checks: 220 tokens, $0.02" in status
    assert "reviews open" in status


async def test_day_of_the_status_begins_at_its_own_midnight(place: ReviewRoom) -> None:
    await place.judge_answers([PASSED], say("one", cost_micro_usd=100_000))
    began = (await place.room.rows(turns.c.started_at_us))[0]
    store = place.room.store

    today = await store.read(lambda tx: views.count_all(tx, began))
    later = await store.read(lambda tx: views.count_all(tx, began + 1))

    assert (today["spent_today"]["turns"], later["spent_today"]["turns"]) == (1, 0)


async def test_numbers_count_verdicts_repairs_and_open_reviews(place: ReviewRoom) -> None:
    health = DaemonHealth(place.room.store, SystemClock(), lambda: UP)
    place.room.store.writer.listener = health.record
    answers = [say("one", cost_micro_usd=1_000_000), say("two", cost_micro_usd=500_000)]
    await place.judge_answers([RETRY, PASSED], *answers)
    await place.judge_answers([FAILED], say("three", cost_micro_usd=0))

    found = {(each.name, *each.labels): each.value for each in await health.measure()}

    assert found["verdicts_total", ("outcome", "failed")] == 2
    assert found["verdicts_total", ("outcome", "passed")] == 1
    assert found["repairs_total",] == 1
    assert found["reviews_open",] == 1
    # The turn that waits for its review has not ended.
    assert found["checks_total",] == 2
    assert found["check_cost_usd_total",] == pytest.approx(0.000014)
    assert found["repair_cost_usd_total",] == 0.5
    assert found["cost_usd_total",] == pytest.approx(1.500014)
    assert found["turns_unpriced_total",] == 0


def test_spend_of_unknown_price_stays_unknown_when_it_is_added() -> None:
    assert (Spend(1, cost_micro_usd=None) + SPEND).cost_micro_usd is None
