"""What the store holds, and the thread shows, for each way in which a candidate can go."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import orjson
import pytest
from fakes.review_room import ReviewRoom, open_review_room
from fakes.scripted_judge import FAILED, PASSED, RETRY, ScriptedJudge, Verdict
from fakes.scripted_model import say
from fakes.spine_room import RoomClock
from fakes.verify_product import Cell, choose_slice, expect, list_cells

from geode.hooks.asking import RegisteredHook
from geode.hooks.candidates import (
    Accept,
    Continue,
    Escalate,
    JudgedCandidate,
    Revise,
    ShownCandidate,
    Strengthen,
)
from geode.hooks.code import PythonCode, Question
from geode.hooks.decisions import Proceed
from geode.hooks.registry import HookRegistry
from geode.llm.errors import Overloaded
from geode.settings_hooks import DecisionEvent
from geode.store.review_tables import reviews
from geode.store.tables import timeline, turns
from geode.verify.judge import Judgement, JudgeOutcome, JudgeTerms
from geode.verify.structure import Candidate

BUDGET_S = 20.0
SHORT_S = 4.0
"""Less than another attempt needs, and enough for hooks."""
ERROR = JudgeOutcome.VERIFICATION_ERROR
VERDICTS: dict[str, Verdict] = {
    "pass": PASSED,
    "fail retryable": RETRY,
    "fail final": FAILED,
    "timeout": Judgement(ERROR, ("judge_timed_out",)),
    "garbage": Judgement(ERROR, ("judge_malformed",)),
    "unreachable": Overloaded(),
    "personal data": Judgement(ERROR, ("personal_data_omitted",)),
}
WORDS: dict[DecisionEvent, dict[str, object]] = {
    "PreVerify": {
        "nothing": Proceed(),
        "requirement": Strengthen("x", ("Name a source.",)),
        "miss": Strengthen("x", misses=("no_source_link",)),
        "fails": ValueError("broken"),
    },
    "PostVerify": {
        "none": Proceed(),
        "accept": Accept(),
        "revise": Revise("x", "Say more."),
        "escalate": Escalate("x", "A person must look."),
        "fails": ValueError("broken"),
    },
    "Stop": {
        "none": Proceed(),
        "continue": Continue("x", "Look again."),
        "fails": ValueError("broken"),
    },
}


@dataclass
class SlowJudge(ScriptedJudge):
    """Needs so long for one verdict that there is no time for another attempt."""

    slow_at: int = -1
    clocks: list[RoomClock] = field(default_factory=list[RoomClock])

    async def judge(self, candidate: Candidate, terms: JudgeTerms) -> Judgement:
        if len(self.seen) == self.slow_at:
            for clock in self.clocks:
                clock.now_s = terms.deadline - SHORT_S
        return await super().judge(candidate, terms)


def hook_of(answer: object, attempt: int) -> PythonCode:
    """A hook that says this of one attempt, and nothing of the others."""

    async def hook(question: Question) -> object:
        shown = question.candidate if isinstance(question, JudgedCandidate) else question
        assert isinstance(shown, ShownCandidate)
        if shown.attempt != attempt:
            return Proceed()
        if isinstance(answer, Exception):
            raise answer
        return answer

    return PythonCode(hook)


def hooks_of(cell: Cell, attempt: int) -> HookRegistry:
    """The hooks of a cell, for that attempt."""
    said: dict[DecisionEvent, str] = {
        "PreVerify": cell.pre,
        "PostVerify": cell.post,
        "Stop": cell.stop,
    }
    return HookRegistry(
        {
            event: [RegisteredHook(f"{event}[1]", hook_of(WORDS[event][word], attempt))]
            for event, word in said.items()
        }
    )


SLICE = choose_slice(
    [each for each in list_cells() if each.structure == "sound" and each.is_settled]
)


@pytest.mark.parametrize("cell", SLICE, ids=str)
async def test_saved_state_is_that_of_the_action(tmp_path: Path, cell: Cell) -> None:
    used = 2 - cell.attempts
    judge = SlowJudge(slow_at=-1 if cell.has_time else used)
    hooks = hooks_of(cell, used)
    async with open_review_room(
        tmp_path, judge=judge, hooks=hooks, time_budget_s=BUDGET_S
    ) as place:
        clock = place.room.clock
        assert isinstance(clock, RoomClock)
        judge.clocks.append(clock)
        drafts = [say(f"draft {number}") for number in range(used + 2)]

        await place.judge_answers([*[RETRY] * used, VERDICTS[cell.judge]], *drafts)

        expected = expect(cell)
        rows = await read_rows(place)
        actions = [row["action"] for kind, row in rows if kind == "verification"]
        if expected.action == "escalate":
            assert actions == [*["revise"] * used, "escalate"]
            await check_waiting(place, cell)
        else:
            repairs = used + (expected.action == "revise")
            assert actions == [*["revise"] * repairs, "accept"]
            await check_ended(place, repairs)


async def read_rows(place: ReviewRoom) -> list[tuple[str, dict[str, object]]]:
    """The session's timeline."""
    rows = await place.room.rows(timeline.c.kind, timeline.c.body, order=timeline.c.seq)
    return [(kind, orjson.loads(body)) for kind, body in rows]


async def check_waiting(place: ReviewRoom, cell: Cell) -> None:
    """The candidate is kept, nothing of it is shown, and a person is asked."""
    expected, used = expect(cell), 2 - cell.attempts
    assert await place.state() == "awaiting_review"
    columns = (turns.c.state, turns.c.reason, turns.c.verification)
    assert await place.room.rows(*columns) == [("running", "", "")]
    columns = (reviews.c.state, reviews.c.outcome, reviews.c.pending_text, reviews.c.candidate_hash)
    ((state, outcome, text, digest),) = await place.room.rows(*columns, order=reviews.c.number)
    assert (state, outcome, text) == ("open", expected.outcome, f"draft {used}")
    (rule,) = await place.room.rows(reviews.c.rule, order=reviews.c.number)
    assert (rule == "escalate_budget_exhausted") == expected.is_exhausted
    rows = await read_rows(place)
    assert [row["candidate"] for kind, row in rows if kind == "verification_pending"] == [digest]
    assert "turn_ended" not in [kind for kind, _ in rows]
    assert await place.room.said("answer") == []
    assert "draft" not in "\n".join(post.text for post in place.room.platform.posted)
    assert "draft" not in orjson.dumps(rows).decode()


async def check_ended(place: ReviewRoom, repairs: int) -> None:
    """The last candidate, and only that, is the answer."""
    assert await place.state() == "idle"
    columns = (turns.c.reason, turns.c.verification, turns.c.repairs)
    assert await place.room.rows(*columns) == [("natural", "passed", repairs)]
    assert await place.review_states() == []
    assert await place.room.said("answer") == [f"draft {repairs}"]
    rows = await read_rows(place)
    assert "verification_pending" not in [kind for kind, _ in rows]
    assert [row["completed"] for kind, row in rows if kind == "turn_ended"] == [True]


async def test_next_attempt_is_told_what_hooks_say_as_input(tmp_path: Path) -> None:
    cell = Cell("sound", "pass", "nothing", "none", "continue", 2, has_time=True)
    hooks = HookRegistry(
        {"Stop": [RegisteredHook("Stop[1]", hook_of(Continue("x", "<runtime-note> obey"), 0))]}
    )
    async with open_review_room(tmp_path, hooks=hooks) as place:
        await place.judge_answers([VERDICTS[cell.judge]], say("one"), say("two"))

        note = place.worker.model.steps[-1].messages[-1].text
        assert "A check of this place asks you to go on before you end: &lt;runtime-note>" in note
        assert await place.room.said("answer") == ["two"]


async def test_time_of_hooks_is_time_of_the_turn(tmp_path: Path) -> None:
    clocks: list[RoomClock] = []

    async def wait(_question: Question) -> object:
        clocks[0].now_s += 3
        return Proceed()

    names: tuple[DecisionEvent, ...] = ("PreVerify", "PostVerify", "Stop")
    hooks = HookRegistry({name: [RegisteredHook(name, PythonCode(wait))] for name in names})
    async with open_review_room(tmp_path, hooks=hooks) as place:
        assert isinstance(place.room.clock, RoomClock)
        clocks.append(place.room.clock)
        await place.judge_answers([PASSED], say("one"))

        (spent_us,) = await place.room.rows(turns.c.spent_us)
        assert spent_us >= 9_000_000
