"""Guards against a turn that goes in circles: repeated calls and repeated errors; pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import orjson
import rfc8785

from geode.messages import JsonObject, TerminationReason, ToolCall, ToolResult

REPEATS_WARNED = 3
"""Runs of one call with the same result after which the model is told."""
REPEATS_MAX = 5
"""Runs of one call with the same result; further ones are refused."""
REFUSALS_MAX = 5
"""Refusals of this guard in one turn that end it."""
FAILED_BATCHES_WARNED = 3
FAILED_BATCHES_MAX = 6
"""Batches in a row in which nothing but errors came back."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """How often one call ran in a row with one result."""

    count: int
    result: str
    is_error: bool


@dataclass(frozen=True, slots=True)
class GuardState:
    """The counters of one turn; a new turn of a person starts with none."""

    repeats: Mapping[str, Repeat] = field(default_factory=dict[str, Repeat])
    refused: int = 0
    failed_batches: int = 0

    def to_json(self) -> JsonObject:
        """The counters as JSON."""
        return {
            "repeats": {k: [r.count, r.result, r.is_error] for k, r in self.repeats.items()},
            "refused": self.refused,
            "failed_batches": self.failed_batches,
        }

    @staticmethod
    def from_json(body: JsonObject) -> GuardState:
        """The counters that `to_json` wrote; missing ones are zero."""
        rows = cast("dict[str, tuple[int, str, bool]]", body.get("repeats") or {})
        return GuardState(
            repeats={key: Repeat(*row) for key, row in rows.items()},
            refused=cast("int", body.get("refused", 0)),
            failed_batches=cast("int", body.get("failed_batches", 0)),
        )


@dataclass(frozen=True, slots=True)
class BatchVerdict:
    """What the guard says before a batch runs."""

    keys: tuple[str, ...]
    refused: frozenset[int]
    """Positions in the batch that must not run."""
    state: GuardState
    end: TerminationReason | None = None


def digest_call(call: ToolCall) -> str:
    """One key for a name and its arguments, whatever the order of their keys."""
    if call.arguments is None:
        written = b"\0" + call.raw.encode(errors="replace")
    else:
        try:
            written = rfc8785.dumps(call.arguments)
        except (rfc8785.CanonicalizationError, UnicodeEncodeError):
            # Integers beyond 2^53 and lone surrogates have no canonical form; sorted keys do.
            written = repr(sorted(call.arguments.items())).encode(errors="replace")
    return _digest(call.name.encode(errors="replace") + b"\0" + written)


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=9).hexdigest()


def check_batch(state: GuardState, calls: Sequence[ToolCall]) -> BatchVerdict:
    """Refuse the calls that ran often enough with the same result, or end the turn."""
    keys = tuple(digest_call(call) for call in calls)
    planned: dict[str, int] = {}
    refused: set[int] = set()
    stuck: Repeat | None = None
    for position, key in enumerate(keys):
        known = state.repeats.get(key)
        runs = (known.count if known else 0) + planned.get(key, 0)
        if runs >= REPEATS_MAX:
            refused.add(position)
            stuck = known or stuck
        else:
            planned[key] = planned.get(key, 0) + 1
    total = state.refused + len(refused)
    after = GuardState(state.repeats, total, state.failed_batches) if refused else state
    end = None
    if refused and total >= REFUSALS_MAX:
        failed = stuck is not None and stuck.is_error
        end = (
            TerminationReason.REPEATED_ERRORS
            if failed
            else TerminationReason.REPEATED_SUCCESS_NO_PROGRESS
        )
    return BatchVerdict(keys, frozenset(refused), after, end)


@dataclass(frozen=True, slots=True)
class BatchFinding:
    """What the guard says after a batch ran."""

    state: GuardState
    warning: str = ""
    """For the model; empty when there is nothing to say."""
    end: TerminationReason | None = None


def observe_batch(
    verdict: BatchVerdict, calls: Sequence[ToolCall], results: Sequence[ToolResult]
) -> BatchFinding:
    """Count what came back; results stand in the order of the calls."""
    repeats = dict(verdict.state.repeats)
    warned: list[str] = []
    for position, (key, call, result) in enumerate(zip(verdict.keys, calls, results, strict=True)):
        if position in verdict.refused:
            continue
        digest = _digest(orjson.dumps([result.is_error]) + result.text.encode(errors="replace"))
        known = repeats.get(key)
        count = known.count + 1 if known is not None and known.result == digest else 1
        repeats[key] = Repeat(count, digest, result.is_error)
        if count == REPEATS_WARNED:
            warned.append(call.name)
    all_failed = bool(results) and all(result.is_error for result in results)
    failed = verdict.state.failed_batches + 1 if all_failed else 0
    state = GuardState(repeats, verdict.state.refused, failed)
    end = TerminationReason.REPEATED_ERRORS if failed >= FAILED_BATCHES_MAX else None
    return BatchFinding(state, _write_warning(warned, failed), end)


def _write_warning(warned: Sequence[str], failed: int) -> str:
    parts: list[str] = []
    if warned:
        names = ", ".join(dict.fromkeys(warned))
        parts.append(
            f"The same call of {names} gave the same result {REPEATS_WARNED} times. "
            "Use that result or do something else; soon it will be refused."
        )
    if failed == FAILED_BATCHES_WARNED:
        parts.append(
            f"{failed} batches in a row gave nothing but errors. Read them and change the plan, "
            "or tell the person what does not work."
        )
    return " ".join(parts)


REFUSAL = (
    f"Refused by the runtime: this exact call already ran {REPEATS_MAX} times in this turn with "
    "the same result. Use that result, do something else, or answer."
)
