"""A saved batch as JSON, and back: which calls it has and which results are there already; pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from geode.loop.ports import SavedBatch
from geode.loop.state import OpenBatch
from geode.messages import JsonObject, JsonValue, ToolCall, ToolResult


def describe_batch(batch: SavedBatch) -> JsonObject:
    """The JSON that names a batch's calls by their place in the proposing message."""
    proposed = batch.messages[-1].calls
    positions: list[JsonValue] = [
        next(place for place, known in enumerate(proposed) if known is call) for call in batch.calls
    ]
    return {"step": batch.step, "positions": positions}


def describe_open_batch(batch: OpenBatch) -> JsonObject:
    """The same of a batch that waits, with the results that there are."""
    return {
        "step": batch.step,
        "positions": list(range(len(batch.calls))),
        "done": {str(place): _describe(result) for place, result in batch.done.items()},
        "refused": cast("list[JsonValue]", sorted(batch.refused)),
    }


def read_batch(proposed: tuple[ToolCall, ...], body: JsonObject) -> OpenBatch:
    """What was saved of the proposed calls."""
    positions = cast("list[int]", body["positions"])
    done = cast("Mapping[str, JsonObject]", body.get("done") or {})
    refused = cast("list[int]", body.get("refused") or [])
    return OpenBatch(
        step=cast("int", body["step"]),
        calls=tuple(proposed[place] for place in positions),
        done={int(place): _read(result) for place, result in done.items()},
        refused=frozenset(refused),
    )


def _describe(result: ToolResult) -> JsonObject:
    return {
        "call_id": result.call_id,
        "text": result.text,
        "is_error": result.is_error,
        "names_urls": result.names_urls,
    }


def _read(body: JsonObject) -> ToolResult:
    return ToolResult(
        cast("str", body["call_id"]),
        cast("str", body["text"]),
        is_error=bool(body["is_error"]),
        names_urls=bool(body["names_urls"]),
    )
