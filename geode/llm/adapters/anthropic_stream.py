"""The events of one Anthropic answer become one whole reply, or nothing; pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import orjson

from geode.llm.adapters.anthropic_wire import WIRE, dump_json
from geode.llm.arguments import parse_call
from geode.messages import Block, Message, StopCause, Text, Usage

STOP_CAUSES: Mapping[str, StopCause] = {
    "end_turn": StopCause.END,
    "stop_sequence": StopCause.END,
    "tool_use": StopCause.TOOL_USE,
    "max_tokens": StopCause.MAX_TOKENS,
    "refusal": StopCause.REFUSAL,
    "pause_turn": StopCause.PAUSE,
    "model_context_window_exceeded": StopCause.CONTEXT_WINDOW,
}

_DELTA_KEYS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}
_REASONING = frozenset({"thinking", "redacted_thinking"})
_TEXT_KEYS = frozenset({"type", "text"})
_CALL_KEYS = frozenset({"type", "id", "name", "input"})


class StreamFaultError(Exception):
    """The stream broke the protocol; it is treated like a cut."""


class StreamedError(Exception):
    """An `error` event inside an open stream: classified by its type, not by the HTTP status."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind
        self.message = message


@dataclass(slots=True)
class _OpenBlock:
    block: dict[str, Any]
    pieces: dict[str, list[str]] = field(default_factory=dict[str, list[str]])


@dataclass(frozen=True, slots=True)
class FinishedAnswer:
    """A whole answer in neutral form, with the provider's own word for why it stopped."""

    message: Message
    stop: StopCause
    stop_reason: str
    usage: Usage
    model: str


class AnswerBuilder:
    """Takes events in order; `finish` gives the answer only after the stream's own end."""

    def __init__(self, on_delta: Callable[[str], None] | None = None) -> None:
        self._on_delta = on_delta
        self._blocks: dict[int, _OpenBlock] = {}
        self._usage: dict[str, int] = {}
        self._model = ""
        self._stop_reason = ""
        self._is_started = False
        self.is_whole = False
        """The stream's last event arrived."""

    def take(self, data: bytes) -> None:
        """Apply one event; unknown kinds are ignored, as the protocol asks."""
        event = _load_event(data)
        try:
            self._apply(event)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise StreamFaultError(f"an event of the stream is malformed: {error!r}") from error

    def _apply(self, event: dict[str, Any]) -> None:
        match event.get("type"):
            case "content_block_delta":
                self._take_delta(event["index"], event["delta"])
            case "content_block_start":
                self._blocks[int(event["index"])] = _OpenBlock(dict(event["content_block"]))
            case "message_start":
                self._is_started = True
                self._model = str(event["message"].get("model") or "")
                self._take_usage(event["message"].get("usage"))
            case "message_delta":
                self._stop_reason = str(event["delta"].get("stop_reason") or self._stop_reason)
                self._take_usage(event.get("usage"))
            case "message_stop":
                self.is_whole = self._is_started
            case "error":
                told = cast("dict[str, object]", event.get("error") or {})
                raise StreamedError(str(told.get("type") or ""), str(told.get("message") or ""))
            case _:
                pass

    def _take_delta(self, index: int, delta: dict[str, Any]) -> None:
        opened = self._blocks[index]
        kind = delta["type"]
        key = _DELTA_KEYS.get(kind)
        if key is not None:
            opened.pieces.setdefault(key, []).append(delta[key])
            if key == "text" and self._on_delta is not None and delta[key]:
                self._on_delta(delta[key])
        elif kind == "input_json_delta":
            opened.pieces.setdefault("input", []).append(delta["partial_json"])
        elif kind == "citations_delta":
            cited = list(opened.block.get("citations") or ())
            opened.block["citations"] = [*cited, delta["citation"]]

    def _take_usage(self, usage: object) -> None:
        counts = cast("dict[str, object]", usage) if isinstance(usage, dict) else {}
        self._usage |= {key: n for key, n in counts.items() if isinstance(n, int)}

    def finish(self) -> FinishedAnswer:
        """The answer; raises `StreamFaultError` when the stream ended before its own end."""
        if not self.is_whole:
            raise StreamFaultError("the stream ended before the answer did")
        return FinishedAnswer(
            message=self._message(),
            stop=STOP_CAUSES.get(self._stop_reason, StopCause.UNKNOWN),
            stop_reason=self._stop_reason,
            usage=Usage(
                input_tokens=self._usage.get("input_tokens", 0),
                output_tokens=self._usage.get("output_tokens", 0),
                cache_read_tokens=self._usage.get("cache_read_input_tokens", 0),
                cache_write_tokens=self._usage.get("cache_creation_input_tokens", 0),
            ),
            model=self._model,
        )

    def _message(self) -> Message:
        neutral: list[Block] = []
        own: list[dict[str, Any]] = []
        for index in sorted(self._blocks):
            block, call_text = _close_block(self._blocks[index], index)
            kind = block.get("type")
            if kind == "text":
                if not block["text"].strip():
                    continue
                neutral.append(Text(block["text"]))
            elif kind == "tool_use":
                call = parse_call(str(block["id"]), str(block["name"]), call_text)
                neutral.append(call)
                block["input"] = call.arguments or {}
            elif kind == "thinking" and not block.get("signature"):
                continue  # cut in the middle: the provider would refuse it unsigned
            own.append(block)
        while own and own[-1].get("type") in _REASONING:
            own.pop()  # an assistant message that ends with reasoning is refused
        is_plain = all(_is_plain(block) for block in own)
        opaque = b"" if is_plain else dump_json(own)
        return Message("assistant", tuple(neutral), provider=WIRE, opaque=opaque)


def _close_block(opened: _OpenBlock, index: int) -> tuple[dict[str, Any], str]:
    """The block with its pieces joined, and a call's argument text."""
    block = opened.block
    for key in ("text", "thinking", "signature"):
        pieces = opened.pieces.get(key)
        if pieces is not None:
            block[key] = clean_text(str(block.get(key) or "") + "".join(pieces))
    if block.get("type") == "text":
        block["text"] = clean_text(str(block.get("text") or ""))
    call_text = "".join(opened.pieces.get("input", ()))
    if block.get("type") == "tool_use":
        block["id"] = block.get("id") or f"toolu_{index}"
        block["name"] = block.get("name") or ""
        if not call_text.strip() and block.get("input"):
            call_text = json.dumps(block["input"])
    elif call_text:
        block["input"] = _load_or_keep(call_text)
    return block, call_text


def _is_plain(block: Mapping[str, object]) -> bool:
    """Whether our neutral form loses nothing of the block, so that its bytes need no keeping."""
    known = _TEXT_KEYS if block["type"] == "text" else _CALL_KEYS
    if block["type"] not in {"text", "tool_use"}:
        return False
    return all(key in known or value is None for key, value in block.items())


def clean_text(text: str) -> str:
    """Surrogate pairs that arrived in two pieces become one character; lone ones are replaced."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _load_or_keep(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return {}


def _load_event(data: bytes) -> dict[str, Any]:
    try:
        event = orjson.loads(data)
    except orjson.JSONDecodeError:
        # The standard parser also takes half a surrogate pair, which a provider may cut in two.
        try:
            event = json.loads(data)
        except ValueError as error:
            raise StreamFaultError("an event of the stream is not JSON") from error
    if not isinstance(event, dict):
        raise StreamFaultError("an event of the stream is not an object")
    return cast("dict[str, Any]", event)
