"""A turn that ends without an answer says why at the terminal, and no judge is asked about it."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.gate_room import make_tool
from fakes.scripted_model import Scripted, call, say
from fakes.terminal_world import open_terminal

from geode.llm.errors import BadRequest, Billing, ContextOverflow, Refused, Unauthorised
from geode.loop.termination import describe_end
from geode.messages import TerminationReason
from geode.steps import StopCause
from geode.store.tables import outbox, turns

R = TerminationReason
AGAIN = call(("look", {"text": "x"}))
ENDINGS: list[tuple[list[Scripted], TerminationReason]] = [
    ([say("", StopCause.REFUSAL)], R.MODEL_REFUSAL),
    ([Refused()], R.MODEL_REFUSAL),
    ([Billing()], R.BILLING_ERROR),
    ([BadRequest()], R.PROVIDER_ERROR),
    ([Unauthorised()], R.PROVIDER_ERROR),
    ([ContextOverflow()] * 9, R.CONTEXT_EXHAUSTED),
    ([AGAIN] * 30, R.REPEATED_SUCCESS_NO_PROGRESS),
]


async def test_answer_that_stays_empty_fails_by_its_structure_alone(tmp_path: Path) -> None:
    async with open_terminal(tmp_path, [say("")] * 9) as world:
        said = await world.say("Do it")
        asking = await world.settle(said["id"])

        assert (asking["reason"], asking["verification"]) == ("provider_error", "empty_turn")
        assert world.judge.seen == []


@pytest.mark.parametrize(
    ("script", "reason"), ENDINGS, ids=[f"{n} {each[1]}" for n, each in enumerate(ENDINGS)]
)
async def test_ending_is_told_and_never_judged(
    tmp_path: Path, script: list[Scripted], reason: TerminationReason
) -> None:
    tool = make_tool("look").tool
    async with open_terminal(tmp_path, script, (tool,)) as world:
        said = await world.say("Do it")
        asking = await world.settle(said["id"])

        assert (asking["reason"], asking["termination"]) == (reason.value, reason.name)
        assert asking["verification"] == ""
        (answer,) = [
            row["markdown"]
            for row in (await world.ask("open", name="main"))["messages"]
            if row["kind"] == "answer"
        ]
        assert answer.startswith((describe_end(reason).partition(". ")[0], "I have no answer."))
        assert world.judge.seen == []
        assert await world.column(turns.c.verification) == [""]
        assert "card" not in await world.column(outbox.c.kind)
