"""Any history, cut anywhere by a crash or a compaction, gives a view that a provider accepts."""

from __future__ import annotations

from fakes.loop_fakes import find_faults
from hypothesis import example, given
from hypothesis import strategies as st

from geode.loop.compaction import choose_cut
from geode.loop.context import ConversationContext
from geode.loop.guards import GuardState, check_batch, observe_batch
from geode.loop.pairing import pair_messages
from geode.messages import Block, Message, Text, ToolCall, ToolResult

IDS = st.sampled_from(["a", "b", "c", ""])
TEXTS = st.sampled_from(["", " ", "hi", "\n", "words and more"])
CALLS = st.builds(ToolCall, IDS, st.just("look"), st.just({}))
RESULTS = st.builds(ToolResult, IDS, TEXTS, st.booleans())


def _message(role: str, blocks: list[Block]) -> Message:
    return Message(role, tuple(blocks))  # type: ignore[arg-type]


MESSAGES = st.one_of(
    st.builds(_message, st.just("user"), st.lists(st.builds(Text, TEXTS), max_size=2)),
    st.builds(
        _message,
        st.just("assistant"),
        st.lists(st.one_of(st.builds(Text, TEXTS), CALLS), max_size=3),
    ),
    st.builds(_message, st.just("tool"), st.lists(RESULTS, max_size=3)),
)
HISTORIES = st.lists(MESSAGES, max_size=12)


@given(HISTORIES)
def test_any_history_gives_a_valid_view(history: list[Message]) -> None:
    assert find_faults(ConversationContext(history).view()) == []


@given(HISTORIES, st.data())
def test_any_crash_point_gives_a_valid_view(history: list[Message], data: st.DataObject) -> None:
    kept = data.draw(st.integers(0, len(history)))

    assert find_faults(ConversationContext(history[:kept]).view()) == []


@given(HISTORIES, st.data(), TEXTS)
def test_any_cut_gives_a_valid_view(
    history: list[Message], data: st.DataObject, summary: str
) -> None:
    start = data.draw(st.integers(0, len(history)))

    view = ConversationContext(history, start=start, summary=summary).view()

    assert find_faults(view) == []


@given(HISTORIES)
@example([Message("assistant", (Text("hi"),)), Message("tool", ())])
@example([Message("user", (Text(""),)), Message("user", (Text("hi"),))])
def test_appending_one_by_one_equals_loading_at_once(history: list[Message]) -> None:
    grown = ConversationContext(())
    for message in history:
        grown.append(message)
        assert find_faults(grown.view()) == []

    assert grown.view() == ConversationContext(history).view()


@given(HISTORIES)
def test_repair_is_idempotent(history: list[Message]) -> None:
    once = pair_messages(history)

    assert pair_messages(once) == once


@given(HISTORIES, st.integers(0, 200))
def test_cut_is_a_boundary_that_keeps_something(history: list[Message], keep: int) -> None:
    cut = choose_cut(history, keep)

    assert cut == len(history) or history[cut].role != "tool"
    assert cut < len(history) or all(m.role == "tool" for m in history)


@given(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=3), max_size=40))
def test_no_call_with_the_same_result_runs_more_than_five_times(batches: list[list[int]]) -> None:
    state, runs = GuardState(), dict.fromkeys(range(3), 0)
    for batch in batches:
        calls = [ToolCall(str(i), "look", {"n": n}) for i, n in enumerate(batch)]
        verdict = check_batch(state, calls)
        if verdict.end is not None:
            break
        for position, number in enumerate(batch):
            runs[number] += position not in verdict.refused
        results = [ToolResult(c.call_id, "same") for c in calls]
        state = observe_batch(verdict, calls, results).state
        assert GuardState.from_json(state.to_json()) == state

    assert max(runs.values()) <= 5
