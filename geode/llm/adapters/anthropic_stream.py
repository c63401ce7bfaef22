"""The events of one Anthropic answer become one whole reply, or nothing; pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import orjson

from geode.llm.adapters.anthropic_blocks import OpenBlock, blocks_to_message
from geode.messages import Message
from geode.steps import StopCause, Usage

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


class StreamFaultError(Exception):
    """The stream broke the protocol; it is treated like a cut."""


class StreamedError(Exception):
    """An `error` event inside an open stream: classified by its type, not by the HTTP status."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind
        self.message = message


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
        self._blocks: dict[int, OpenBlock] = {}
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
                self._blocks[int(event["index"])] = OpenBlock(dict(event["content_block"]))
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
            message=blocks_to_message(self._blocks),
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
