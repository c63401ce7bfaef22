"""Every channel: /stop ends what hangs or waits, and the next message is answered."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from fakes.commanding import Held, slow_tool
from fakes.contract_cases import on
from fakes.contract_daemon import Serving, serving
from fakes.contract_platform import ContractPlatform
from fakes.scripted_model import Scripted, call, say

from geode.loop.termination import describe_end
from geode.messages import Place, SessionState, TerminationReason
from geode.reply import command_sentences as said
from geode.store.tables import outbox, sessions, turns

STOPPED = describe_end(TerminationReason.USER_CANCELLED)
STOP_S_MAX = 5.0
"""What a busy machine is given for the two seconds of the promise."""
APPROVAL, REVIEW = SessionState.AWAITING_APPROVAL, SessionState.AWAITING_REVIEW


def stands(serves: Serving, place: Place, words: str) -> bool:
    return any(words in text for text in serves.platform.shown(place))


async def stop_and_time(serves: Serving, place: Place) -> float:
    """Seconds from Ana's command to the sentence in the thread."""
    began = time.monotonic()
    await serves.platform.command(place, "stop", "")
    await serves.wait_for(lambda: stands(serves, place, STOPPED))
    return time.monotonic() - began


async def check_next(serves: Serving, place: Place) -> None:
    """The next message is answered, and nothing of the stopped turn is left to see."""
    await serves.platform.follow(place, "next")
    await serves.wait_for(lambda: stands(serves, place, "the next answer"))
    await serves.wait_column(sessions.c.state, "idle")
    assert await serves.column(turns.c.reason) == ["user_cancelled", "natural"]
    assert not stands(serves, place, "Working on it")
    assert sum(STOPPED in text for text in serves.platform.shown(place)) == 1


@pytest.mark.parametrize("what", ["tool", "model call"])
@on("commands")
async def test_stop_ends_what_takes_a_minute_and_the_next_message_is_answered(
    platform: ContractPlatform, tmp_path: Path, what: str
) -> None:
    held = Held()
    first: Scripted = held if what == "model call" else call(("slow", {"text": "x"}))
    replies = [first, say("the next answer")]
    async with serving(platform, tmp_path, replies, (slow_tool(held),)) as serves:
        place, begun = await serves.begin("begin")
        await held.begun.wait()
        if serves.has_marks:
            await serves.wait_for(lambda: serves.marks(place, begun))
        await platform.command(place, "whoami", "", "ben")
        await serves.wait_for(
            lambda: (
                stands(serves, place, "one of its people")
                or any("one of its people" in text for text in platform.whispers("ben"))
            )
        )
        assert len(serves.model.steps) == 1

        elapsed_s = await stop_and_time(serves, place)

        assert elapsed_s < STOP_S_MAX
        assert held.ended.is_set()
        await serves.wait_for(lambda: not serves.marks(place, begun))
        await check_next(serves, place)
        assert len(serves.model.steps) == 2


@pytest.mark.parametrize(
    ("state", "sentence"), [(APPROVAL, said.APPROVAL_DENIED), (REVIEW, said.REVIEW_REJECTED)]
)
@on("commands")
async def test_stop_ends_what_waits_for_a_decision_and_the_next_message_is_answered(
    platform: ContractPlatform, tmp_path: Path, state: SessionState, sentence: str
) -> None:
    held = Held()
    async with serving(platform, tmp_path, [held, say("the next answer")]) as serves:
        place, _ = await serves.begin("begin")
        await held.begun.wait()
        await serves.suspend(state)
        held.let_go.set()
        await serves.wait_for(lambda: not serves.daemon.lanes.active)

        await stop_and_time(serves, place)

        await serves.wait_column(sessions.c.state, "idle")
        assert any(sentence in body for body in await serves.column(outbox.c.body))
        await check_next(serves, place)
        assert len(serves.model.steps) == 2
