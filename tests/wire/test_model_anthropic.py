"""The local Anthropic API against the real client: answers, streams, refusals, faults."""

from __future__ import annotations

import base64
from typing import Any

import anthropic
import pytest
from fakes.model_clients import WEATHER, ask_claude, claude

from channels.rehearsal.model_answers import Answer, Failure, text, thinking, tool_use

TOOLS = [{"name": "weather", "description": "About it.", "input_schema": WEATHER}]
CALL = {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Oslo"}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "cold"}
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n0000").decode()


def _image(**source: Any) -> list[dict[str, Any]]:
    return [{"type": "image", "source": {"type": "base64", **source}}]


async def test_whole_answer_has_blocks_usage_and_stop_reason() -> None:
    answer = Answer(
        [thinking("hm", "sig"), text("It is cold."), tool_use("weather", {"city": "O"})]
    )
    async with claude(answer) as (_, client):
        message = await client.messages.create(**ask_claude(tools=TOOLS))

    assert [block.type for block in message.content] == ["thinking", "text", "tool_use"]
    assert (message.stop_reason, message.usage.input_tokens) == ("end_turn", 10)


async def test_stream_gives_the_same_message_as_the_whole_answer() -> None:
    answer = Answer([text("It is cold — é😀."), tool_use("weather", {"city": "Oslo"})], "tool_use")
    async with claude(answer, answer) as (_, client):
        whole = await client.messages.create(**ask_claude(tools=TOOLS))
        async with client.messages.stream(**ask_claude(tools=TOOLS)) as stream:
            told = [event.type async for event in stream]
            streamed = await stream.get_final_message()

    assert [b.to_dict() for b in streamed.content] == [b.to_dict() for b in whole.content]
    assert (streamed.stop_reason, streamed.usage.output_tokens) == ("tool_use", 5)
    assert told[0] == "message_start"
    assert told[-1] == "message_stop"


async def test_tokens_are_counted_and_grow_with_the_request() -> None:
    async with claude() as (server, client):
        few = await client.messages.count_tokens(model="m", messages=ask_claude()["messages"])
        more = await client.messages.count_tokens(
            **{
                key: value
                for key, value in ask_claude("word " * 100).items()
                if key != "max_tokens"
            }
        )

    assert 0 < few.input_tokens < more.input_tokens
    assert server.counters()["calls"] == {"count_tokens": 2}


async def test_rules_call_an_offered_tool_and_then_sum_its_result_up() -> None:
    async with claude(has_rules=True) as (_, client):
        asked = ask_claude('please call weather {"city": "Oslo"}', tools=TOOLS)
        called = await client.messages.create(**asked)
        (call,) = called.content
        assert call.type == "tool_use"
        turn = [{"role": "assistant", "content": [call.to_dict()]}]
        told = [{"role": "user", "content": [{**RESULT, "tool_use_id": call.id}]}]
        asked["messages"] = [*asked["messages"], *turn, *told]
        summed = await client.messages.create(**asked)
        said = await client.messages.create(**ask_claude("say good morning"))

    assert call.input == {"city": "Oslo"}
    assert "cold" in summed.content[0].text  # type: ignore[union-attr]
    assert said.content[0].text.startswith("good morning")  # type: ignore[union-attr]


def _talk(*content: Any) -> dict[str, Any]:
    roles = ("user", "assistant")
    return {"messages": [{"role": roles[n % 2], "content": c} for n, c in enumerate(content)]}


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        pytest.param({"max_tokens": 0}, "max_tokens: must be", id="no tokens"),
        pytest.param({"messages": []}, "at least one message", id="no message"),
        pytest.param(_talk("a", [CALL], "b"), "without tool_result", id="call without result"),
        pytest.param(_talk([RESULT]), "without its tool_use", id="result without call"),
        pytest.param(_talk("a", [CALL, CALL], [RESULT, RESULT]), "must be unique", id="same ids"),
        pytest.param(
            {"messages": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]},
            "roles must alternate",
            id="roles",
        ),
        pytest.param(_talk(" "), "non-empty", id="blank text"),
        pytest.param(_talk([{"type": "text"}]), "text: Field required", id="half a block"),
        pytest.param(_talk([{"type": "text", "text": "x", "y": 1}]), "Extra inputs", id="unknown"),
        pytest.param({"temperature_": 1}, "Extra inputs", id="unknown field"),
        pytest.param(_talk(_image(media_type="image/png", data="%")), "not valid base64", id="b64"),
        pytest.param(
            _talk(_image(media_type="image/jpeg", data=PNG)), "does not match", id="other image"
        ),
        pytest.param(
            _talk(_image(media_type="image/tiff", data=PNG)), "image/tiff|one of", id="media type"
        ),
        pytest.param({"tools": [*TOOLS, *TOOLS]}, "names must be unique", id="same tools"),
        pytest.param(
            {"tools": [{"name": "a b", "input_schema": WEATHER}]}, "must match", id="tool name"
        ),
        pytest.param(
            {"tools": [{"name": "a", "input_schema": {"type": "object", "properties": 5}}]},
            "JSON schema is invalid",
            id="tool schema",
        ),
        pytest.param(
            {"tools": TOOLS, "tool_choice": {"type": "tool", "name": "no"}},
            "not among the tools",
            id="tool choice",
        ),
        pytest.param({"tool_choice": {"type": "auto"}}, "tools are required", id="no tools"),
        pytest.param(
            {"thinking": {"type": "enabled", "budget_tokens": 2000}}, "below max_tokens", id="think"
        ),
        pytest.param(
            _talk([{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}] * 5),
            "at most 4",
            id="cache marks",
        ),
    ],
)
async def test_request_that_the_api_refuses_is_refused_with_its_rule(
    changes: dict[str, Any], rule: str
) -> None:
    async with claude() as (server, client):
        body = ask_claude() | changes
        with pytest.raises(anthropic.BadRequestError, match=rule) as caught:
            await client.post("/v1/messages", body=body, cast_to=anthropic.types.Message)

    assert caught.value.type == "invalid_request_error"
    assert len(server.refusals) == 1


async def test_image_with_the_right_bytes_is_taken() -> None:
    async with claude() as (server, client):
        await client.messages.create(
            **ask_claude(**_talk(_image(media_type="image/png", data=PNG)))
        )

    assert server.refusals == []


async def test_wrong_key_and_unknown_version_are_refused() -> None:
    async with claude(key="sk-wrong") as (server, client):
        with pytest.raises(anthropic.AuthenticationError):
            await client.messages.create(**ask_claude())
    async with claude() as (_, client):
        with pytest.raises(anthropic.BadRequestError, match="anthropic-version"):
            await client.messages.create(
                **ask_claude(), extra_headers={"anthropic-version": "1999-01-01"}
            )

    assert server.requests == []


@pytest.mark.parametrize(
    ("kind", "fields", "error", "words"),
    [
        ("rate_limited", {"retry_after_s": 7}, anthropic.RateLimitError, "rate limit"),
        ("overloaded", {}, anthropic.OverloadedError, "Overloaded"),
        ("server_error", {"status": 500}, anthropic.InternalServerError, "upstream"),
        ("no_quota", {}, anthropic.BadRequestError, "credit balance is too low"),
        ("context_overflow", {}, anthropic.BadRequestError, "prompt is too long"),
        ("drop_request", {}, anthropic.APIConnectionError, ""),
        ("drop_response", {}, anthropic.APIConnectionError, ""),
    ],
)
async def test_fault_on_request_reaches_the_client_as_its_own_error(
    kind: str, fields: dict[str, Any], error: type[Exception], words: str
) -> None:
    async with claude() as (server, client):
        server.fault(kind, method="messages", **fields)
        with pytest.raises(error, match=f"(?i){words}") as caught:
            await client.messages.create(**ask_claude())
        again = await client.messages.create(**ask_claude())

    if kind == "rate_limited":
        assert caught.value.response.headers["retry-after"] == "7"  # type: ignore[attr-defined]
    assert again.stop_reason == "end_turn"
    assert server.counters()["faults_taken"] == {kind: 1}


async def _read_stream(client: anthropic.AsyncAnthropic) -> list[str]:
    stream = await client.messages.create(**ask_claude(), stream=True)
    return [event.type async for event in stream]


async def test_error_event_in_an_open_stream_raises_in_the_client() -> None:
    async with claude() as (server, client):
        server.fault("error_event", after=3)
        with pytest.raises(anthropic.APIStatusError) as caught:
            await _read_stream(client)

    assert caught.value.type == "overloaded_error"


async def test_cut_stream_breaks_the_connection_in_the_client() -> None:
    async with claude() as (server, client):
        server.fault("cut_stream", after=3)
        with pytest.raises(Exception, match=r"(?i)closed|incomplete|disconnect|connection"):
            await _read_stream(client)

    assert server.counters()["faults_taken"] == {"cut_stream": 1}


async def test_stream_without_its_start_begins_with_another_event() -> None:
    async with claude() as (server, client):
        server.fault("no_start")
        told = await _read_stream(client)
        whole = await _read_stream(client)

    assert "message_start" not in told
    assert whole[0] == "message_start"


async def test_refusal_has_its_stop_reason() -> None:
    async with claude() as (server, client):
        server.fault("refusal")
        message = await client.messages.create(**ask_claude())

    assert message.stop_reason == "refusal"


async def test_slow_first_byte_runs_into_the_clients_timeout() -> None:
    async with claude() as (server, client):
        server.fault("slow_response", delay_s=5.0)
        with pytest.raises(anthropic.APITimeoutError):
            await client.messages.create(**ask_claude(), timeout=0.3)
        again = await client.messages.create(**ask_claude())

    assert again.content[0].text == "ok"  # type: ignore[union-attr]


async def test_scripted_failure_is_sent_as_written() -> None:
    async with claude(Failure(413, "request_too_large", "too much")) as (_, client):
        with pytest.raises(anthropic.RequestTooLargeError, match="too much"):
            await client.messages.create(**ask_claude())
