"""Shortening: valid pairs, the first request, untouched reasoning, and an end (LM-04, LM-08)."""

from __future__ import annotations

import asyncio

import pytest
from fakes.loop_fakes import LoopRoom, assistant, find_faults, results, user
from fakes.scripted_model import say

from geode.llm.errors import ContextOverflow, Overloaded
from geode.loop.compaction import choose_cut
from geode.loop.limits import LoopLimits
from geode.loop.quoting import is_note
from geode.loop.state import LoopState, TurnStart
from geode.loop.termination import describe_end
from geode.messages import Message, TerminationReason, Text, ToolCall
from geode.steps import ModelReply, StepSnapshot, StopCause, Usage

R = TerminationReason
WORDS = "several plain words of no importance at all "


def exchange(number: int, words: int = 40) -> tuple[Message, ...]:
    call = ToolCall(f"c{number}", "look", {"n": number})
    return (
        user(f"request {number} {WORDS * words}"),
        assistant(call),
        results((call.call_id, f"result {number} {WORDS * words}")),
        assistant(Text(f"answer {number}")),
    )


LONG = tuple(message for number in range(10) for message in exchange(number))
SMALL = LoopLimits(context_tokens_max=4_000)


async def test_long_history_is_summarised_before_the_first_call() -> None:
    room = LoopRoom([say("They agreed on red."), say("answer")], limits=SMALL)

    end = await room.run(TurnStart((*LONG, user("and now?"))))

    summary_step, answer_step = room.model.steps
    assert summary_step.plan.tools == ()
    assert not summary_step.may_call_tools
    assert end.text == "answer"
    view = answer_step.messages
    assert find_faults(view) == []
    assert "request 0" in view[0].text
    assert "They agreed on red." in view[0].text
    assert view[-1].text == "and now?"
    assert end.state.summary == "They agreed on red."
    assert 0 < end.state.context_start < len(LONG)


async def test_compaction_keeps_the_stored_messages_as_they_are() -> None:
    room = LoopRoom([say("short"), say("answer")], limits=SMALL)
    history = (*LONG, user("and now?"))

    end = await room.run(TurnStart(history))

    assert history[: len(LONG)] == LONG
    assert [m.text for m in end.unsaved] == ["answer"]


async def test_next_turn_goes_on_from_the_pointer_without_another_summary() -> None:
    room = LoopRoom([say("short"), say("answer"), say("more")], limits=SMALL)
    history = (*LONG, user("and now?"))
    first = await room.run(TurnStart(history))

    following = (*history, *first.unsaved, user("and then?"))
    await room.run(TurnStart(following, first.state.next_turn()))

    assert len(room.model.steps) == 3
    assert room.model.steps[2].messages[0] == room.model.steps[1].messages[0]


async def test_second_compaction_tells_the_model_the_first_summary() -> None:
    room = LoopRoom([say("FIRST SUMMARY"), say("a"), say("second"), say("b")], limits=SMALL)
    history = (*LONG, user("and now?"))
    first = await room.run(TurnStart(history))

    following = (*history, *first.unsaved, *LONG, user("and then?"))
    end = await room.run(TurnStart(following, first.state.next_turn()))

    assert "FIRST SUMMARY" in room.model.steps[2].messages[0].text
    assert end.state.summary == "second"
    assert "request 0" in room.model.steps[3].messages[0].text


@pytest.mark.parametrize("failure", [Overloaded(), ContextOverflow(), TimeoutError(), say("")])
async def test_failed_summary_falls_back_to_a_list(failure: object) -> None:
    room = LoopRoom([failure, say("answer")], limits=SMALL)  # type: ignore[list-item]

    end = await room.run(TurnStart((*LONG, user("and now?"))))

    assert end.text == "answer"
    assert "agent called look" in end.state.summary
    assert find_faults(room.model.steps[-1].messages) == []


async def test_summary_waits_no_longer_than_the_turn() -> None:
    async def hang(step: StepSnapshot):
        await asyncio.Event().wait()
        return say("never")

    room = LoopRoom([hang, say("answer")], limits=SMALL)

    end = await room.run(TurnStart((*LONG, user("and now?")), remaining_s=0.5))

    assert end.text == "answer"
    assert "agent called look" in end.state.summary


async def test_cost_of_a_summary_counts() -> None:
    room = LoopRoom([say("short", cost_micro_usd=7), say("a", cost_micro_usd=2)], limits=SMALL)

    end = await room.run(TurnStart((*LONG, user("and now?"))))

    assert end.cost_micro_usd == 9
    assert end.usage == Usage(20, 10)


@pytest.mark.parametrize("keep", [0, 1, 50, 500, 2_000, 10**9])
def test_cut_never_parts_a_call_from_its_results(keep: int) -> None:
    cut = choose_cut(LONG, keep)

    assert cut < len(LONG)
    assert LONG[cut].role != "tool"


def test_cut_keeps_at_least_the_last_call_with_its_results() -> None:
    tail = (*LONG, user("go"), *exchange(11)[1:3])

    assert choose_cut(tail, 0) == len(tail) - 2


async def test_fixed_prompt_that_fills_the_window_asks_no_model() -> None:
    # Window 65,536, reserved output 32,000: 33,536 usable; prompt and kept tail are 43,000.
    room = LoopRoom(
        identity_text="rule " * 8_000,
        tools={"look": lambda c, a: "seen"},
        limits=LoopLimits(context_tokens_max=33_536, output_tokens_max=32_000),
    )
    tail = user("text " * 27_000)

    end = await room.run(TurnStart((*LONG, tail)))

    assert end.reason is R.CONTEXT_EXHAUSTED
    assert "`/new`" in describe_end(end.reason, end.detail)
    assert room.model.steps == []
    assert room.events == []


async def test_summaries_that_make_nothing_smaller_end_the_turn() -> None:
    # The history is one large unit behind tiny ones, so any summary is longer than what it spares.
    tiny = tuple(user(f"m{n}") for n in range(3))
    room = LoopRoom([ContextOverflow(), say("long " * 400)], tools={"look": lambda c, a: "seen"})

    end = await room.run(TurnStart((*tiny, user(WORDS * 50))))

    assert end.reason is R.CONTEXT_EXHAUSTED
    assert len(room.model.steps) <= 4
    assert room.events == []
    tried = [e.body for e in end.entries if e.kind == "compaction"]
    assert len(tried) <= 2
    assert not any(body["kept"] for body in tried)
    assert end.state.context_start == 0


async def test_turn_after_an_exhausted_one_works_in_a_new_chapter() -> None:
    room = LoopRoom([say("fresh")], limits=LoopLimits(context_tokens_max=500))
    exhausted = await room.run(TurnStart((user(WORDS * 400),)))

    end = await room.run(TurnStart((user("hello"),), LoopState()))

    assert exhausted.reason is R.CONTEXT_EXHAUSTED
    assert end.text == "fresh"


async def test_results_that_fill_the_window_are_shortened_inside_the_turn() -> None:
    def look_on(step: StepSnapshot) -> ModelReply:
        room.model.add(look_on)
        if not step.plan.tools:
            return say("two seen")
        if step.step > 6:
            return say("done")
        called = assistant(ToolCall(f"c{step.step}", "look", {"n": step.step}))
        return ModelReply(called, StopCause.TOOL_USE, Usage(), "scripted-model", 0)

    room = LoopRoom([look_on], tools={"look": lambda c, a: f"{a} {WORDS * 90}"}, limits=SMALL)

    end = await room.run("the one request")

    assert (end.reason, end.text) == (R.NATURAL, "done")
    assert find_faults(room.model.steps[-1].messages) == []
    assert "the one request" in room.model.steps[-1].messages[0].text
    assert room.ran("look") == 6
    assert end.state.context_start > 0


SIGNED = (
    b'[{"type":"thinking","thinking":"hm","signature":"U"},'
    b'{"type":"redacted_thinking","data":"x"},'
    b'{"type":"tool_use","id":"z","name":"look","input":{}}]'
)


async def test_signed_reasoning_of_the_last_turn_is_replayed_byte_for_byte() -> None:
    last = assistant(ToolCall("z", "look", {}), opaque=SIGNED)
    history = (*LONG, user("think"), last, results(("z", "seen")))

    def answer(step: StepSnapshot):
        assert [m.opaque for m in step.messages if m.opaque] == [SIGNED]
        assert step.messages[-2] is last
        return say("answer")

    room = LoopRoom([say("short"), answer], limits=SMALL)

    end = await room.run(TurnStart(history))

    assert end.text == "answer"
    assert b"signature" not in room.model.steps[0].messages[0].text.encode()


async def test_repair_of_results_leaves_signed_reasoning_alone() -> None:
    last = assistant(ToolCall("z", "look", {}), opaque=SIGNED)
    room = LoopRoom([say("answer")])

    await room.run(TurnStart((user("think"), last, user("hi"))))

    assert room.model.steps[0].messages[1] is last
    assert find_faults(room.model.steps[0].messages) == []


async def test_measured_tokens_are_the_base_and_only_newer_text_is_estimated() -> None:
    history = (*LONG, user("and now?"))
    measured = LoopState(observed_tokens=1_000, observed_count=len(LONG))
    room = LoopRoom([say("answer")], limits=SMALL)

    end = await room.run(TurnStart(history, measured))

    assert end.text == "answer"
    assert len(room.model.steps) == 1
    assert end.state.observed_count == len(history) + 1


async def test_measured_tokens_above_the_limit_shorten_although_the_estimate_is_small() -> None:
    history = (*LONG, user("and now?"))
    measured = LoopState(observed_tokens=30_000, observed_count=len(LONG))
    room = LoopRoom([say("short"), say("answer")], limits=LoopLimits(context_tokens_max=20_000))

    end = await room.run(TurnStart(history, measured))

    assert end.text == "answer"
    assert end.state.context_start >= 20


async def test_empty_preface_is_no_request_of_a_person() -> None:
    room = LoopRoom([say("short"), say("answer")], limits=SMALL)

    await room.run(TurnStart((*LONG, user("and now?"))))

    assert is_note(room.model.steps[1].messages[0])
