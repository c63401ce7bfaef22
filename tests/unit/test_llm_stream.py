"""Bytes become events, events become one whole answer or nothing."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode.llm.adapters.anthropic_stream import (
    AnswerBuilder,
    FinishedAnswer,
    StreamedError,
    StreamFaultError,
)
from geode.llm.sse import EVENT_BYTES_MAX, EventTooLongError, SseParser
from geode.messages import Text, ToolCall
from geode.steps import StopCause, Usage

START: dict[str, Any] = {
    "type": "message_start",
    "message": {"model": "claude-x", "usage": {"input_tokens": 7, "output_tokens": 1}},
}
STOP: dict[str, Any] = {"type": "message_stop"}


def finish(*events: dict[str, Any], stop_reason: str = "end_turn") -> FinishedAnswer:
    """The answer of a stream with these events in its middle."""
    builder = AnswerBuilder()
    end = {
        "type": "message_delta",
        "delta": {"stop_reason": stop_reason},
        "usage": {"output_tokens": 9},
    }
    for event in (START, *events, end, STOP):
        builder.take(orjson.dumps(event))
    return builder.finish()


def begin(index: int, block: dict[str, Any]) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def text_block(index: int, *pieces: str) -> list[dict[str, Any]]:
    deltas = [delta(index, "text_delta", text=piece) for piece in pieces]
    return [begin(index, {"type": "text", "text": ""}), *deltas]


def call_block(index: int, *pieces: str, **extra: Any) -> list[dict[str, Any]]:
    block = {"type": "tool_use", "id": f"toolu_{index}", "name": "w", "input": {}, **extra}
    return [
        begin(index, block),
        *(delta(index, "input_json_delta", partial_json=p) for p in pieces),
    ]


def test_text_and_calls_are_assembled_from_their_pieces() -> None:
    answer = finish(
        *text_block(0, "Let ", "me"),
        *call_block(1, "", '{"city":', '"Oslo"}'),
        stop_reason="tool_use",
    )

    assert answer.message.blocks == (
        Text("Let me"),
        ToolCall("toolu_1", "w", {"city": "Oslo"}),
    )
    assert answer.message.opaque == b""
    assert (answer.stop, answer.model) == (StopCause.TOOL_USE, "claude-x")
    assert answer.usage == Usage(input_tokens=7, output_tokens=9)


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        ("end_turn", StopCause.END),
        ("stop_sequence", StopCause.END),
        ("tool_use", StopCause.TOOL_USE),
        ("max_tokens", StopCause.MAX_TOKENS),
        ("refusal", StopCause.REFUSAL),
        ("pause_turn", StopCause.PAUSE),
        ("model_context_window_exceeded", StopCause.CONTEXT_WINDOW),
        ("something_new", StopCause.UNKNOWN),
        ("", StopCause.UNKNOWN),
    ],
)
def test_stop_reason_maps_to_our_closed_set(reason: str, cause: StopCause) -> None:
    answer = finish(*text_block(0, "x"), stop_reason=reason)

    assert answer.stop is cause
    assert answer.stop_reason == reason


def test_signed_reasoning_is_kept_byte_for_byte_in_its_place() -> None:
    answer = finish(
        begin(0, {"type": "thinking", "thinking": "", "signature": ""}),
        delta(0, "thinking_delta", thinking="so "),
        delta(0, "thinking_delta", thinking="é"),
        delta(0, "signature_delta", signature="Sig=="),
        begin(1, {"type": "redacted_thinking", "data": "Xx/+"}),
        *text_block(2, " \n"),
        *text_block(3, "hi"),
        *call_block(4, '{"a":1}', caller={"type": "direct"}),
    )

    assert answer.message.opaque == orjson.dumps(
        [
            {"type": "thinking", "thinking": "so é", "signature": "Sig=="},
            {"type": "redacted_thinking", "data": "Xx/+"},
            {"type": "text", "text": "hi"},
            {
                "type": "tool_use",
                "id": "toolu_4",
                "name": "w",
                "input": {"a": 1},
                "caller": {"type": "direct"},
            },
        ]
    )
    assert answer.message.text == "hi"


def test_reasoning_without_signature_or_without_an_answer_is_not_kept() -> None:
    cut = finish(
        begin(0, {"type": "thinking", "thinking": "", "signature": ""}),
        delta(0, "thinking_delta", thinking="half a th"),
        stop_reason="max_tokens",
    )
    alone = finish(
        begin(0, {"type": "thinking", "thinking": "all of it", "signature": "S"}),
    )

    assert (cut.message.blocks, cut.message.opaque) == ((), b"")
    assert (alone.message.blocks, alone.message.opaque) == ((), b"")


def test_unknown_blocks_and_citations_survive_as_opaque() -> None:
    answer = finish(
        begin(0, {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}}),
        delta(0, "input_json_delta", partial_json='{"q":"x"}'),
        *text_block(1, "cited"),
        delta(1, "citations_delta", citation={"url": "u"}),
    )

    assert orjson.loads(answer.message.opaque) == [
        {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"q": "x"}},
        {"type": "text", "text": "cited", "citations": [{"url": "u"}]},
    ]
    assert answer.message.blocks == (Text("cited"),)


@pytest.mark.parametrize("pieces", [(), ("",), (" ",)], ids=["none", "empty", "blank"])
def test_blank_text_leaves_no_block(pieces: tuple[str, ...]) -> None:
    assert finish(*text_block(0, *pieces)).message.blocks == ()
    assert finish().message.blocks == ()


def test_character_cut_in_two_pieces_is_joined() -> None:
    builder = AnswerBuilder()
    for raw in (
        orjson.dumps(START),
        orjson.dumps(begin(0, {"type": "text", "text": ""})),
        b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\\ud83d"}}',
        b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\\ude00"}}',
        orjson.dumps({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
        orjson.dumps(STOP),
    ):
        builder.take(raw)

    assert builder.finish().message.text == "a😀"


def test_answer_keeps_arguments_storable_though_a_character_came_in_halves() -> None:
    def deltas(*pieces: bytes) -> ToolCall:
        builder = AnswerBuilder()
        builder.take(orjson.dumps(START))
        builder.take(orjson.dumps(begin(0, {"type": "tool_use", "id": "a", "name": "look"})))
        for piece in pieces:
            builder.take(
                b'{"type":"content_block_delta","index":0,"delta":'
                b'{"type":"input_json_delta","partial_json":"' + piece + b'"}}'
            )
        builder.take(
            b'{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}'
        )
        builder.take(orjson.dumps(STOP))
        (call,) = builder.finish().message.calls
        return call

    whole = deltas(rb"{\"at\": \"\ud83d", rb"\ude00\"}")
    broken = deltas(rb"{\"at\": \"\ud83d")

    assert whole.arguments == {"at": "\U0001f600"}
    assert broken.arguments is None
    assert broken.raw.encode()


def test_whole_input_in_the_first_event_is_used_when_no_piece_follows() -> None:
    answer = finish(*call_block(0, input={"city": "Oslo"}))

    assert answer.message.calls[0].arguments == {"city": "Oslo"}


def test_deltas_are_told_as_they_arrive() -> None:
    told: list[str] = []
    builder = AnswerBuilder(told.append)

    for event in (START, *text_block(0, "a", "", "b"), *call_block(1, "{}")):
        builder.take(orjson.dumps(event))

    assert told == ["a", "b"]


def test_answer_is_refused_until_the_stream_said_it_is_whole() -> None:
    builder = AnswerBuilder()
    for event in (START, *text_block(0, "Hel")):
        builder.take(orjson.dumps(event))

    with pytest.raises(StreamFaultError, match="ended before the answer did"):
        builder.finish()


def test_stop_without_a_start_is_no_answer() -> None:
    builder = AnswerBuilder()
    builder.take(orjson.dumps(STOP))

    with pytest.raises(StreamFaultError):
        builder.finish()


def test_error_event_carries_its_type() -> None:
    builder = AnswerBuilder()

    with pytest.raises(StreamedError) as caught:
        builder.take(b'{"type":"error","error":{"type":"overloaded_error","message":"busy"}}')

    assert (caught.value.kind, caught.value.message) == ("overloaded_error", "busy")


@pytest.mark.parametrize(
    "raw",
    [
        b"{not json",
        b"[]",
        b'{"type":"content_block_delta","index":5,"delta":{"type":"text_delta","text":"x"}}',
        b'{"type":"content_block_start","index":0}',
        b'{"type":"message_start","message":null}',
    ],
)
def test_malformed_event_is_a_fault_of_the_stream(raw: bytes) -> None:
    with pytest.raises(StreamFaultError):
        AnswerBuilder().take(raw)


@given(st.lists(st.integers(0, 200)), st.sampled_from([b"\n", b"\r\n"]))
def test_events_do_not_depend_on_where_the_bytes_are_cut(cuts: list[int], end: bytes) -> None:
    lines = [b"event: a", b'data: {"x":"\xc3\xa9"}', b"", b": note", b"data: 1", b"data: 2", b""]
    stream = end.join([*lines, b"data: never finished"])
    places = sorted({min(cut, len(stream)) for cut in cuts})

    parser, events = SseParser(), list[bytes]()
    for start, stop in zip([0, *places], [*places, len(stream)], strict=True):
        events += parser.feed(stream[start:stop])

    assert events == [b'{"x":"\xc3\xa9"}', b"1\n2"]


@pytest.mark.parametrize("line", [b"data: ", b"data: \ndata: "])
def test_event_without_end_is_refused_before_it_fills_the_memory(line: bytes) -> None:
    parser = SseParser()
    piece = line + b"x" * 1_000_000

    def flood() -> None:
        for _ in range(EVENT_BYTES_MAX // 1_000_000 + 2):
            parser.feed(piece)

    with pytest.raises(EventTooLongError):
        flood()
