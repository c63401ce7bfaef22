"""The request body is acceptable by construction and serialised once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
import pytest
from fakes.model_steps import (
    assistant,
    make_plan,
    make_step,
    proposed,
    results,
    user,
)
from fakes.scripted_model import ScriptedModel
from hypothesis import given
from hypothesis import strategies as st

from channels.rehearsal.model_anthropic_rules import find_broken_rule
from geode.llm.adapters.anthropic_wire import LOST_RESULT, build_request
from geode.messages import Message, Text, ToolCall, ToolResult
from geode.steps import BoundToolPlan, SystemPrompt

MODEL = ScriptedModel(provider="anthropic")
MARK = {"type": "ephemeral"}


def body_of(messages: Sequence[Message], **changes: Any) -> dict[str, Any]:
    """The parsed request for a history, checked against the rules of the API."""
    body = orjson.loads(build_request(make_step(MODEL, messages, **changes), 8192))
    assert find_broken_rule(body, {}) == ""
    return body


def content_of(body: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """A message's blocks without cache marks."""
    return [
        {key: value for key, value in block.items() if key != "cache_control"}
        for block in body["messages"][number]["content"]
    ]


def test_request_holds_model_limits_system_and_tools_with_cache_marks() -> None:
    body = body_of([user("hi")], plan=make_plan("weather", "news"))

    assert body["model"] == "claude-opus-5-5"
    assert (body["max_tokens"], body["stream"]) == (8192, True)
    assert body["system"] == [
        {"type": "text", "text": "You are Geode.", "cache_control": MARK},
        {"type": "text", "text": "Today is Monday."},
    ]
    assert [tool["name"] for tool in body["tools"]] == ["weather", "news"]
    assert "cache_control" not in body["tools"][0]
    assert body["tools"][1]["cache_control"] == MARK
    assert body["tools"][0]["input_schema"]["required"] == ["city"]
    assert body["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "hi", "cache_control": MARK}]}
    ]
    assert "tool_choice" not in body


def test_request_without_tools_or_system_leaves_them_out() -> None:
    body = body_of([user("hi")], system=SystemPrompt(" ", ""))

    assert not {"system", "tools", "tool_choice"} & set(body)


def test_last_round_keeps_the_tools_and_forbids_calls() -> None:
    body = body_of([user("hi")], plan=make_plan("weather"), may_call_tools=False)

    assert body["tool_choice"] == {"type": "none"}
    assert body["tools"]


def test_output_limit_is_the_smaller_of_step_and_model() -> None:
    step = make_step(MODEL, "hi", output_tokens_max=100)

    assert orjson.loads(build_request(step, 50))["max_tokens"] == 50
    assert orjson.loads(build_request(step, 8192))["max_tokens"] == 100


def test_results_come_first_in_the_message_after_the_calls() -> None:
    history = [
        user("go"),
        assistant("looking", proposed("a"), proposed("b")),
        results(("a", "1")),
        results(ToolResult("b", "no", is_error=True)),
        user("and more", "please"),
    ]

    body = body_of(history)

    assert content_of(body, 2) == [
        {"type": "tool_result", "tool_use_id": "a", "content": "1"},
        {"type": "tool_result", "tool_use_id": "b", "content": "no", "is_error": True},
        {"type": "text", "text": "and more"},
        {"type": "text", "text": "please"},
    ]
    assert body["messages"][2]["content"][-1]["cache_control"] == MARK


@pytest.mark.parametrize(
    "after",
    [
        [],
        [user("hi")],
        [results(("a", "1")), user("hi")],
        [user("hi"), results(("b", "2"), ("a", "1"))],
        [results(("gone", "x"), ("a", "1")), user("hi")],
        [results(("a", "1"), ("a", "again")), user("hi")],
    ],
    ids=["nothing", "text only", "one lost", "after the text", "stranger", "twice"],
)
def test_interrupted_batch_never_makes_an_unacceptable_request(after: list[Message]) -> None:
    """LM-01: each call has exactly one result right after it, the lost ones as errors."""
    history = [user("go"), assistant(proposed("a"), proposed("b")), *after]

    body = body_of(history)

    rows = [block for block in content_of(body, 2) if block["type"] == "tool_result"]
    assert [row["tool_use_id"] for row in rows] == ["a", "b"]
    given_texts = {r.call_id: r.text for m in reversed(after) for r in reversed(m.results)}
    for row in rows:
        expected = given_texts.get(row["tool_use_id"])
        assert row["content"] == (expected or LOST_RESULT)
        assert row.get("is_error", False) is (expected is None)


def test_repair_gives_the_same_bytes_after_every_restart() -> None:
    def build() -> bytes:
        history = [user("go"), assistant(proposed("a"), proposed("b")), user("hi")]
        return build_request(make_step(MODEL, history), 8192)

    assert build() == build()


def test_result_whose_call_was_trimmed_away_is_left_out() -> None:
    body = body_of([results(("a", "1")), user("hi")])

    assert [block["type"] for block in content_of(body, 0)] == ["text"]


def test_history_that_begins_with_an_answer_gets_a_first_user_message() -> None:
    body = body_of([assistant("I was saying"), user("go on")])

    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]


@pytest.mark.parametrize("blank", [(), ("",), (" \n\t",)], ids=["none", "empty", "blank"])
def test_blank_answer_is_not_sent_and_its_neighbours_merge(blank: tuple[str, ...]) -> None:
    """LM-06: no empty text block, and the next turn is accepted."""
    body = body_of([user("one"), assistant(*blank), user("two")])

    assert [block["text"] for block in content_of(body, 0)] == ["one", "two"]


def test_call_without_text_sends_no_text_block() -> None:
    body = body_of([user("x"), assistant("", proposed("a")), results(("a", ""))])

    assert content_of(body, 1) == [{"type": "tool_use", "id": "a", "name": "weather", "input": {}}]
    assert content_of(body, 2) == [{"type": "tool_result", "tool_use_id": "a"}]


def test_own_bytes_are_replayed_unchanged_and_dropped_for_another_provider() -> None:
    own = b'[{"type":"thinking","thinking":"hm","signature":"S=="},{"type":"text","text":"4"}]'
    kept = [user("x"), assistant("4", provider="anthropic", opaque=own), user("y")]
    foreign = [user("x"), assistant("4", provider="openai", opaque=own), user("y")]

    assert own[1:-1] in build_request(make_step(MODEL, kept), 8192)
    assert b"thinking" not in build_request(make_step(MODEL, foreign), 8192)
    assert content_of(body_of(foreign), 1) == [{"type": "text", "text": "4"}]


def test_unreadable_arguments_are_replayed_as_an_empty_object() -> None:
    broken = ToolCall("a", "weather", None, raw="{", fault="not JSON")

    body = body_of([user("x"), assistant(broken), results(ToolResult("a", "fault", is_error=True))])

    assert content_of(body, 1)[0]["input"] == {}


def test_history_and_tools_are_serialised_once() -> None:
    history = [user("x"), assistant(proposed("a")), results(("a", "1")), assistant("done")]
    plan = make_plan("weather")
    first = build_request(make_step(MODEL, history, plan=plan), 8192)
    kept = [dict(message.wire) for message in history]
    tools = plan.wire["anthropic"]

    second = build_request(make_step(MODEL, [*history, user("more")], plan=plan), 8192)

    assert plan.wire["anthropic"] is tools
    for message, before in zip(history, kept, strict=True):
        assert before
        assert all(message.wire[key] is value for key, value in before.items())
        assert before["anthropic"] in first
        assert before["anthropic"] in second


def test_text_that_strict_json_refuses_is_still_sent() -> None:
    body = body_of([user("half \ud83d pair"), assistant(proposed("a", n=10**30))])

    assert content_of(body, 0)[0]["text"] == "half ? pair"
    assert content_of(body, 1)[0]["input"]["n"] == pytest.approx(1e30)


ids = st.sampled_from(["a", "b", "c"])
texts = st.sampled_from(["", " ", "word", "two\nlines", "é😀"])
calls = st.builds(ToolCall, ids, st.just("weather"), st.just({}))
answers = st.lists(st.one_of(texts.map(Text), calls), max_size=3).filter(
    lambda blocks: (
        len({b.call_id for b in blocks if isinstance(b, ToolCall)})
        == sum(isinstance(b, ToolCall) for b in blocks)
    )
)
given_results = st.builds(ToolResult, ids, texts, st.booleans())
histories = st.lists(
    st.one_of(
        texts.map(user),
        answers.map(lambda blocks: Message("assistant", tuple(blocks))),
        st.lists(given_results, max_size=3).map(lambda rows: Message("tool", tuple(rows))),
        given_results.map(lambda row: Message("user", (Text("mixed"), row))),
    ),
    max_size=8,
)


@given(histories)
def test_any_history_makes_a_request_the_api_accepts(history: list[Message]) -> None:
    raw = build_request(make_step(MODEL, history, plan=make_plan("weather")), 8192)

    assert find_broken_rule(orjson.loads(raw), {}) == ""
    assert build_request(make_step(MODEL, history, plan=make_plan("weather")), 8192) == raw


def test_empty_plan_is_cached_as_no_tools() -> None:
    plan = BoundToolPlan(())

    body_of([user("x")], plan=plan)

    assert plan.wire == {"anthropic": b""}
