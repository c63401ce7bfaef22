"""The local OpenAI APIs against the real client: answers, streams, refusals, faults."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import openai
import pytest
from fakes.model_clients import WEATHER, ask_chat, ask_response, gpt
from openai.types.responses import Response

from channels.rehearsal.model_answers import Answer, text, tool_use

FUNCTION = {"name": "weather", "description": "About it.", "parameters": WEATHER}
CHAT_TOOLS = [{"type": "function", "function": FUNCTION}]
TOOLS = [{"type": "function", "strict": False, **FUNCTION}]
CALL = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
CALLED = {"role": "assistant", "tool_calls": [CALL]}
TOLD = {"role": "tool", "tool_call_id": "call_1", "content": "cold"}
USER = {"role": "user", "content": "hello"}
ITEM = {"type": "function_call", "call_id": "call_1", "name": "weather", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": "cold"}
ANSWER = Answer([text("It is cold — é😀."), tool_use("weather", {"city": "Oslo"})], "tool_use")
GIF = "data:image/gif;base64," + base64.b64encode(b"GIF89a00").decode()
FALSE_GIF = GIF.replace("image/gif", "image/png")
Body = Callable[..., dict[str, Any]]


def _look_at(url: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}]


async def test_chat_answer_has_words_calls_and_usage() -> None:
    async with gpt(ANSWER) as (_, client):
        done = await client.chat.completions.create(**ask_chat(tools=CHAT_TOOLS))

    (choice,) = done.choices
    assert choice.message.content == "It is cold — é😀."
    assert choice.finish_reason == "tool_calls"
    assert choice.message.tool_calls is not None
    assert choice.message.tool_calls[0].to_dict()["function"] == {
        "name": "weather",
        "arguments": '{"city":"Oslo"}',
    }
    assert done.usage is not None
    assert (done.usage.prompt_tokens, done.usage.total_tokens) == (10, 15)


async def test_chat_stream_adds_up_to_the_whole_answer() -> None:
    async with gpt(ANSWER) as (_, client):
        body = ask_chat(tools=CHAT_TOOLS)
        async with client.chat.completions.stream(
            **body, stream_options={"include_usage": True}
        ) as stream:
            async for _event in stream:
                pass
            done = await stream.get_final_completion()

    (choice,) = done.choices
    assert choice.message.content == "It is cold — é😀."
    assert choice.message.tool_calls is not None
    assert choice.message.tool_calls[0].function.arguments == '{"city":"Oslo"}'
    assert choice.finish_reason == "tool_calls"
    assert done.usage is not None
    assert done.usage.completion_tokens == 5


async def test_response_has_items_and_usage() -> None:
    async with gpt(ANSWER) as (_, client):
        done = await client.responses.create(**ask_response(tools=TOOLS))

    assert done.output_text == "It is cold — é😀."
    assert [item.type for item in done.output] == ["message", "function_call"]
    assert done.status == "completed"
    assert done.usage is not None
    assert done.usage.input_tokens_details.cached_tokens == 2


async def test_response_stream_adds_up_to_the_whole_answer() -> None:
    async with (
        gpt(ANSWER) as (_, client),
        client.responses.stream(**ask_response(tools=TOOLS)) as stream,
    ):
        told = [event.type async for event in stream]
        done = await stream.get_final_response()

    assert told[0] == "response.created"
    assert told[-1] == "response.completed"
    assert done.output_text == "It is cold — é😀."
    assert done.output[1].to_dict()["arguments"] == '{"city":"Oslo"}'


async def test_response_goes_on_from_an_earlier_one_and_owes_its_calls() -> None:
    call = Answer([tool_use("weather", {"city": "Oslo"}, "call_1")], "tool_use")
    async with gpt(call) as (_, client):
        first = await client.responses.create(**ask_response(tools=TOOLS))
        with pytest.raises(openai.BadRequestError, match="No tool output found"):
            await client.responses.create(**ask_response(previous_response_id=first.id))
        with pytest.raises(openai.BadRequestError, match="not found"):
            await client.responses.create(**ask_response(previous_response_id="resp_no"))
        body = ask_response(previous_response_id=first.id)
        second = await client.responses.create(**body | {"input": [OUTPUT]})

    assert second.output_text == "ok"
    assert second.previous_response_id == first.id


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"messages": []}, "at least one"),
        ({"messages": [USER, CALLED]}, "without a tool message"),
        ({"messages": [USER, CALLED, USER]}, "without a tool message"),
        ({"messages": [USER, TOLD]}, "without its call"),
        ({"messages": [{"role": "user"}]}, "content: (Field )?required"),
        ({"messages": [{"role": "narrator", "content": "x"}]}, "fits none"),
        ({"messages": _look_at(FALSE_GIF)}, "does not match"),
        ({"tools": [*CHAT_TOOLS, *CHAT_TOOLS]}, "unique"),
        ({"tools": [{"type": "function", **FUNCTION}]}, "function: Field required"),
        ({"tool_choice": "auto"}, "only allowed when tools"),
        ({"stream_options": {"include_usage": True}}, "only allowed when stream"),
        ({"max_tokens": 5, "max_completion_tokens": 5}, "together"),
        ({"n": 2}, "one answer"),
        ({"nonsense": 1}, "Extra inputs"),
    ],
)
async def test_chat_request_that_the_api_refuses_is_refused_with_its_rule(
    changes: dict[str, Any], rule: str
) -> None:
    async with gpt() as (server, client):
        body = ask_chat() | changes
        with pytest.raises(openai.BadRequestError, match=rule) as caught:
            await client.post("/chat/completions", body=body, cast_to=object)

    assert caught.value.type == "invalid_request_error"
    assert len(server.refusals) == 1


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"input": []}, "input: required"),
        ({"input": [USER, ITEM]}, "No tool output found"),
        ({"input": [OUTPUT]}, "No tool call found"),
        ({"input": [{"type": "function_call", "call_id": "c"}]}, "Field required"),
        ({"max_output_tokens": 3}, "at least 16"),
        ({"tools": CHAT_TOOLS}, "name: Field required"),
        ({"stream_options": {"include_obfuscation": False}}, "only allowed when stream"),
        ({"messages": [USER]}, "Extra inputs"),
    ],
)
async def test_response_request_that_the_api_refuses_is_refused_with_its_rule(
    changes: dict[str, Any], rule: str
) -> None:
    async with gpt() as (server, client):
        with pytest.raises(openai.BadRequestError, match=rule):
            await client.post("/responses", body=ask_response() | changes, cast_to=Response)

    assert len(server.refusals) == 1


async def test_whole_turns_of_both_apis_are_taken() -> None:
    async with gpt() as (server, client):
        await client.chat.completions.create(
            **ask_chat(messages=[USER, CALLED, TOLD], tools=CHAT_TOOLS)
        )
        await client.chat.completions.create(**ask_chat(messages=_look_at(GIF)))
        await client.responses.create(**ask_response(input=[USER, ITEM, OUTPUT], tools=TOOLS))
        await client.responses.create(**ask_response(input="hello"))

    assert server.refusals == []


async def test_rules_answer_both_apis_alike() -> None:
    words = 'call weather {"city": "Oslo"}'
    async with gpt(has_rules=True) as (_, client):
        chat = await client.chat.completions.create(**ask_chat(words, tools=CHAT_TOOLS))
        response = await client.responses.create(**ask_response(words, tools=TOOLS))
        summed = await client.responses.create(**ask_response(input=[USER, ITEM, OUTPUT]))

    (call,) = chat.choices[0].message.tool_calls or []
    assert call.to_dict()["function"] == {"name": "weather", "arguments": '{"city":"Oslo"}'}
    assert response.output[0].to_dict()["arguments"] == '{"city":"Oslo"}'
    assert "cold" in summed.output_text


async def test_wrong_key_is_refused() -> None:
    async with gpt(key="sk-wrong") as (server, client):
        with pytest.raises(openai.AuthenticationError) as caught:
            await client.chat.completions.create(**ask_chat())

    assert caught.value.code == "invalid_api_key"
    assert server.requests == []


FAULTS = [
    ("rate_limited", openai.RateLimitError, "rate_limit_exceeded"),
    ("no_quota", openai.RateLimitError, "insufficient_quota"),
    ("overloaded", openai.InternalServerError, None),
    ("server_error", openai.InternalServerError, None),
    ("context_overflow", openai.BadRequestError, "context_length_exceeded"),
    ("drop_request", openai.APIConnectionError, None),
    ("drop_response", openai.APIConnectionError, None),
]


@pytest.mark.parametrize("endpoint", ["chat", "responses"])
@pytest.mark.parametrize(("kind", "error", "code"), FAULTS, ids=[row[0] for row in FAULTS])
async def test_fault_on_request_reaches_the_client_as_its_own_error(
    endpoint: str, kind: str, error: type[openai.APIError], code: str | None
) -> None:
    async with gpt() as (server, client):
        server.fault(kind, method=endpoint, retry_after_s=3)
        with pytest.raises(error) as caught:
            await _ask(client, endpoint)
        await _ask(client, endpoint)

    assert caught.value.code == code
    if isinstance(caught.value, openai.RateLimitError) and kind == "rate_limited":
        assert caught.value.response.headers["retry-after"] == "3"
    assert server.counters()["faults_taken"] == {kind: 1}


async def _ask(client: openai.AsyncOpenAI, endpoint: str, **more: Any) -> Any:
    if endpoint == "chat":
        return await client.chat.completions.create(**ask_chat(**more))
    return await client.responses.create(**ask_response(**more))


async def _read_stream(client: openai.AsyncOpenAI, endpoint: str) -> list[Any]:
    return [event async for event in await _ask(client, endpoint, stream=True)]


async def test_error_in_an_open_chat_stream_raises_in_the_client() -> None:
    async with gpt() as (server, client):
        server.fault("error_event", method="chat", after=2)
        with pytest.raises(openai.APIError) as caught:
            await _read_stream(client, "chat")

    assert caught.value.code == "server_error"


async def test_error_in_an_open_response_stream_is_its_last_event() -> None:
    async with gpt() as (server, client):
        server.fault("error_event", method="responses", after=2)
        told = await _read_stream(client, "responses")

    assert (told[-1].type, told[-1].code) == ("error", "server_error")


@pytest.mark.parametrize("endpoint", ["chat", "responses"])
async def test_cut_stream_breaks_the_connection_in_the_client(endpoint: str) -> None:
    async with gpt() as (server, client):
        server.fault("cut_stream", after=2)
        with pytest.raises(Exception, match=r"(?i)closed|incomplete|disconnect|connection"):
            await _read_stream(client, endpoint)

    assert server.counters()["faults_taken"] == {"cut_stream": 1}


async def test_streams_without_their_start_begin_with_another_event() -> None:
    async with gpt() as (server, client):
        server.fault("no_start", times=2)
        chat = await _read_stream(client, "chat")
        response = await _read_stream(client, "responses")

    assert chat[0].choices[0].delta.role is None
    assert [event.type for event in response].count("response.created") == 0


async def test_refusal_is_told_in_the_field_of_each_api() -> None:
    async with gpt() as (server, client):
        server.fault("refusal", times=3)
        chat = await _ask(client, "chat")
        response = await _ask(client, "responses")
        streamed = await _read_stream(client, "responses")

    assert chat.choices[0].message.refusal.startswith("I can't")
    assert response.output[0].content[0].type == "refusal"
    assert "response.refusal.done" in [event.type for event in streamed]


@pytest.mark.parametrize("endpoint", ["chat", "responses"])
async def test_slow_first_byte_runs_into_the_clients_timeout(endpoint: str) -> None:
    async with gpt() as (server, client):
        server.fault("slow_response", delay_s=5.0)
        with pytest.raises(openai.APITimeoutError):
            await _ask(client, endpoint, timeout=0.3)
        await _ask(client, endpoint)

    assert server.counters()["faults_taken"] == {"slow_response": 1}


async def test_answer_cut_at_its_length_says_so_in_both_apis() -> None:
    short = Answer([text("It is")], "max_tokens")
    async with gpt(short, short) as (_, client):
        chat = await _ask(client, "chat")
        response = await _ask(client, "responses")

    assert chat.choices[0].finish_reason == "length"
    assert (response.status, response.incomplete_details.reason) == (
        "incomplete",
        "max_output_tokens",
    )
