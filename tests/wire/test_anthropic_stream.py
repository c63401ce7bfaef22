"""The Anthropic adapter through the official SDK over a loopback socket: answers and refusals."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import orjson
import pytest
from fakes.model_steps import MODEL, assistant, make_plan, make_step, proposed, results, user
from structlog.testing import capture_logs

from channels.rehearsal.model import RehearsalModel
from channels.rehearsal.model_answers import (
    Answer,
    broken_tool_use,
    redacted_thinking,
    text,
    thinking,
    tool_use,
)
from channels.rehearsal.model_http import API_KEY
from geode.llm.adapters.anthropic import AnthropicAdapter, AnthropicSettings
from geode.llm.arguments import RAW_CHARS_MAX
from geode.messages import Message, Text, ToolCall, ToolResult
from geode.ports import SystemClock
from geode.steps import StopCause, Usage


@asynccontextmanager
async def open_model(
    *script: Answer, api_key: str = API_KEY
) -> AsyncIterator[tuple[RehearsalModel, AnthropicAdapter]]:
    """A strict server and the adapter that talks to it."""
    async with RehearsalModel(*script) as server:
        adapter = AnthropicAdapter(AnthropicSettings(api_key, server.url), SystemClock())
        try:
            yield server, adapter
        finally:
            await adapter.aclose()


async def test_text_answer_arrives_whole_with_usage_and_cost() -> None:
    async with open_model(Answer([text("It is cold in Oslo — é😀.")])) as (server, adapter):
        told: list[str] = []

        reply = await adapter.acomplete(make_step(adapter, "weather?"), told.append)

    assert reply.message == Message("assistant", (Text("It is cold in Oslo — é😀."),), "anthropic")
    assert "".join(told) == reply.message.text
    assert (reply.stop, reply.model) == (StopCause.END, MODEL)
    assert reply.usage == Usage(10, 5, 2, 3)
    assert reply.cost_micro_usd == 10 * 4 + 5 * 20 + 1 + 3 * 5
    assert server.refusals == []


async def test_request_carries_credential_version_and_stream() -> None:
    async with open_model() as (server, adapter):
        await adapter.acomplete(make_step(adapter, "hi", plan=make_plan("weather")))

    request = server.requests[0]
    assert request.headers["authorization"] == f"Bearer {API_KEY}"
    assert request.headers["anthropic-version"]
    assert request.headers["content-type"] == "application/json"
    assert request.body["stream"] is True
    assert request.body["tools"][-1]["cache_control"] == {"type": "ephemeral"}
    assert request.body["system"][0]["cache_control"] == {"type": "ephemeral"}
    assert len(request.raw) < 8_000


async def test_tool_call_and_its_result_go_round() -> None:
    asks = Answer(
        [text("Let me look."), tool_use("weather", {"city": "Oslo"})], stop_reason="tool_use"
    )
    async with open_model(asks, Answer([text("-3 °C")])) as (server, adapter):
        plan = make_plan("weather")
        asked = user("weather in Oslo?")
        first = await adapter.acomplete(make_step(adapter, [asked], plan=plan))
        history = [asked, first.message, results(("toolu_1", "-3"))]
        second = await adapter.acomplete(make_step(adapter, history, plan=plan, step=2))

    assert first.stop is StopCause.TOOL_USE
    assert first.message.calls == (ToolCall("toolu_1", "weather", {"city": "Oslo"}),)
    assert second.message.text == "-3 °C"
    assert server.refusals == []


@pytest.mark.parametrize("split_bytes", [1, 7, 4096])
async def test_answer_does_not_depend_on_how_the_stream_is_cut(split_bytes: int) -> None:
    blocks = [text("é😀 line\n\nline"), tool_use("weather", {"city": "Tromsø"})]
    answer = Answer(blocks, stop_reason="tool_use", split_bytes=split_bytes)
    async with open_model(answer) as (_, adapter):
        reply = await adapter.acomplete(make_step(adapter, plan=make_plan("weather")))

    assert reply.message.text == "é😀 line\n\nline"
    assert reply.message.calls[0].arguments == {"city": "Tromsø"}


@pytest.mark.parametrize(
    "raw",
    ['{"city": "San Fra', "null", "[1]", '{"a":1,}', '{"a":1,"a":2}', "{" + "x" * 2_000_000],
    ids=["cut", "null", "array", "comma", "twice", "junk"],
)
async def test_broken_arguments_are_marked_and_the_good_call_is_whole(raw: str) -> None:
    """LM-02: the bad call has its fault, the good one its arguments; the next request passes."""
    asks = Answer(
        [broken_tool_use("weather", raw, "toolu_1"), tool_use("weather", {"city": "A"}, "toolu_2")],
        stop_reason="tool_use",
    )
    async with open_model(asks) as (server, adapter):
        plan = make_plan("weather")
        first = await adapter.acomplete(make_step(adapter, [user("x")], plan=plan))
        bad, good = first.message.calls
        answered = results(ToolResult("toolu_1", bad.fault, is_error=True), ("toolu_2", "ok"))
        history = [user("x"), first.message, answered]
        await adapter.acomplete(make_step(adapter, history, plan=plan, step=2))

    assert bad.arguments is None
    assert bad.fault
    assert bad.raw == raw[:RAW_CHARS_MAX]
    assert good.arguments == {"city": "A"}
    assert server.refusals == []


async def test_empty_argument_text_counts_as_an_empty_object() -> None:
    asks = Answer([broken_tool_use("now", "")], stop_reason="tool_use")
    async with open_model(asks) as (_, adapter):
        reply = await adapter.acomplete(make_step(adapter, plan=make_plan("now")))

    assert reply.message.calls == (ToolCall("toolu_1", "now", {}),)


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        ("max_tokens", StopCause.MAX_TOKENS),
        ("refusal", StopCause.REFUSAL),
        ("pause_turn", StopCause.PAUSE),
        ("model_context_window_exceeded", StopCause.CONTEXT_WINDOW),
        ("from_the_future", StopCause.UNKNOWN),
    ],
)
async def test_every_other_stop_is_told_from_a_whole_batch_of_calls(
    reason: str, cause: StopCause
) -> None:
    """LM-03: a half-written call that still parses is told apart by the stop alone."""
    cut = Answer([tool_use("write_file", {"path": "a.md"})], stop_reason=reason)
    async with open_model(cut) as (_, adapter):
        with capture_logs() as logs:
            reply = await adapter.acomplete(make_step(adapter, plan=make_plan("write_file")))

    assert reply.stop is cause
    assert reply.stop is not StopCause.TOOL_USE
    assert [call.name for call in reply.message.calls] == ["write_file"]
    unknown = [entry for entry in logs if entry["event"] == "model.stop_unknown"]
    assert bool(unknown) is (cause is StopCause.UNKNOWN)


async def test_refusal_without_content_is_an_empty_message() -> None:
    async with open_model(Answer([], stop_reason="refusal")) as (_, adapter):
        reply = await adapter.acomplete(make_step(adapter))

    assert (reply.stop, reply.message.blocks) == (StopCause.REFUSAL, ())


async def test_paused_content_is_sent_back_to_go_on() -> None:
    paused = Answer([text("so far")], stop_reason="pause_turn")
    async with open_model(paused, Answer([text(" and done")])) as (server, adapter):
        first = await adapter.acomplete(make_step(adapter, [user("go")]))
        await adapter.acomplete(make_step(adapter, [user("go"), first.message], step=2))

    assert [m["role"] for m in server.requests[1].body["messages"]] == ["user", "assistant"]
    assert server.refusals == []


SIGNED = [
    thinking("Sure — é\n", "EqQBCgIYAhIM=="),
    redacted_thinking("EmwKAhgBEgy3va3pzix/LafPsn4="),
    text("Looking."),
    tool_use("weather", {"city": "Oslo"}),
]


async def test_signed_reasoning_is_accepted_back_by_a_server_that_compares_bytes() -> None:
    """LM-04: after a result, after a repaired result, and after a restart from stored bytes."""
    asks = Answer(SIGNED, stop_reason="tool_use")
    async with open_model(asks) as (server, adapter):
        plan = make_plan("weather")
        first = await adapter.acomplete(make_step(adapter, [user("x")], plan=plan))
        said = first.message
        restored = Message(said.role, said.blocks, said.provider, bytes(said.opaque))
        for history in (
            [user("x"), said, results(("toolu_1", "-3"))],
            [user("x"), said, user("are you there?")],
            [user("x"), restored, results(("toolu_1", "-3")), user("more")],
        ):
            await adapter.acomplete(make_step(adapter, history, plan=plan, step=2))

    assert server.refusals == []
    assert orjson.loads(said.opaque) == SIGNED
    assert [request.body["messages"][1]["content"] for request in server.requests[1:]] == [
        SIGNED
    ] * 3


async def test_server_that_compares_bytes_refuses_changed_reasoning() -> None:
    """The comparison above can fail: one changed letter is refused."""
    asks = Answer(SIGNED, stop_reason="tool_use")
    async with open_model(asks) as (server, adapter):
        plan = make_plan("weather")
        said = (await adapter.acomplete(make_step(adapter, [user("x")], plan=plan))).message
        changed = Message(
            said.role, said.blocks, said.provider, said.opaque.replace(b"Sure", b"sure")
        )
        with pytest.raises(Exception, match="did not accept the request"):
            await adapter.acomplete(
                make_step(adapter, [user("x"), changed, results(("toolu_1", "-3"))], plan=plan)
            )

    assert len(server.refusals) == 1


@pytest.mark.parametrize(
    "blocks",
    [
        [],
        [text("")],
        [text(" \n ")],
        [thinking("only thoughts", "S==")],
        [text(""), tool_use("weather", {"city": "A"})],
    ],
    ids=["nothing", "empty text", "blank text", "reasoning only", "call with empty text"],
)
async def test_empty_answer_never_poisons_the_next_request(blocks: list[dict[str, object]]) -> None:
    """LM-06: nothing blank is kept or sent, and the next turn is accepted."""
    stop = "tool_use" if any(block["type"] == "tool_use" for block in blocks) else "end_turn"
    async with open_model(Answer(blocks, stop_reason=stop)) as (server, adapter):
        plan = make_plan("weather")
        first = await adapter.acomplete(make_step(adapter, [user("x")], plan=plan))
        history = [user("x"), first.message, user("still there?")]
        second = await adapter.acomplete(make_step(adapter, history, plan=plan))

    assert all(b.text.strip() for b in first.message.blocks if isinstance(b, Text))
    assert second.message.text == "ok"
    assert server.refusals == []


async def test_interrupted_batch_is_accepted_after_a_restart() -> None:
    """LM-01: results lost with the process are answered for, twice with the same bytes."""
    history = [user("go"), assistant(proposed("a"), proposed("b")), results(("a", "1")), user("hi")]
    async with open_model() as (server, adapter):
        plan = make_plan("weather")
        await adapter.acomplete(make_step(adapter, history, plan=plan))
        fresh = [Message(m.role, m.blocks) for m in history]
        await adapter.acomplete(make_step(adapter, fresh, plan=plan))

    assert server.refusals == []
    assert server.requests[0].raw == server.requests[1].raw
    rows = server.requests[0].body["messages"][2]["content"]
    assert [(row["tool_use_id"], row.get("is_error", False)) for row in rows[:2]] == [
        ("a", False),
        ("b", True),
    ]
    assert rows[2]["text"] == "hi"


async def test_calls_of_many_sessions_share_one_adapter() -> None:
    async with open_model() as (server, adapter):
        server.fallback = lambda body: Answer([text(body["messages"][0]["content"][0]["text"])])
        replies = await asyncio.gather(
            *(adapter.acomplete(make_step(adapter, f"session {n}")) for n in range(20))
        )

    assert [reply.message.text for reply in replies] == [f"session {n}" for n in range(20)]


async def test_adapter_opens_again_after_it_was_closed() -> None:
    async with open_model() as (_, adapter):
        await adapter.warm_up()
        await adapter.aclose()
        await adapter.aclose()

        reply = await adapter.acomplete(make_step(adapter))

    assert reply.message.text == "ok"
