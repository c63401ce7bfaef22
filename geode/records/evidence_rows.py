"""Which rows of the timeline become evidence, and what of each: ids, codes, hashes; pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from datetime import UTC, datetime

from geode.messages import JsonObject, JsonValue
from geode.store.timeline import AppendedEntry

VERIFICATION_POLICY = "verification_policy"
CODES_MAX = 32
_CODE = re.compile(r"[A-Za-z0-9_.:@/\[\] -]{1,128}")
_SPOKEN = frozenset({"tool", "by", "post_verify", "stop", "miss_codes", "codes"})
"""Fields that may hold somebody's own words: what does not look like a code becomes its hash."""

_JUDGE = tuple(f"judge_{name}" for name in ("model", "calls", "input_tokens", "output_tokens"))
_KINDS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "turn_started": ("turn_started", ("number", "chapter", "model")),
    "turn_ended": ("turn_ended", ("reason", "verification", "completed")),
    "tool_call": ("tool_call", ("operation", "tool", "effect", "rule")),
    "tool_refused": ("tool_refused", ("operation", "tool", "rule")),
    "tool_outcome": ("tool_outcome", ("operation", "tool", "ending", "elapsed_ms")),
    "approval_asked": ("approval_asked", ("operation", "tool", "state")),
    "approval_ended": ("approval_ended", ("operation", "tool", "state", "scope", "by")),
    "verification": (
        VERIFICATION_POLICY,
        (
            *("attempt", "structure", "outcome", "rule", "action", "candidate", "request_hash"),
            *("miss_codes", "miss_count", "misses_hash", "codes", "post_verify", "stop"),
            *_JUDGE,
            *("judge_cost_micro_usd", "elapsed_ms"),
        ),
    ),
    "review_asked": ("review_asked", ("review", "candidate", "outcome", "rule")),
    "review_decided": ("review_decided", ("review", "candidate", "outcome", "state", "by")),
}


def evidence_of(appended: AppendedEntry) -> JsonObject | None:
    """The row that an entry of the timeline is told by; None: it is none, or says only words."""
    entry = appended.entry
    if entry.kind not in _KINDS:
        return None
    kind, fields = _KINDS[entry.kind]
    told = {
        name: _codes(entry.body[name]) if name in _SPOKEN else entry.body[name]
        for name in fields
        if name in entry.body
    }
    return {
        "at": show_moment(appended.at_us),
        "kind": kind,
        "session": appended.session_id,
        "turn": entry.turn_id,
        **told,
        "timeline_seq": appended.seq,
        "timeline_hash": appended.hash,
    }


def show_moment(at_us: int) -> str:
    """UTC to the millisecond, as ISO 8601 has it."""
    moment = datetime.fromtimestamp(at_us / 1_000_000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


def _codes(value: JsonValue) -> JsonValue:
    if isinstance(value, list):
        return [_codes(each) for each in value[:CODES_MAX]]
    if not isinstance(value, str) or not value or _CODE.fullmatch(value):
        return value
    return f"#{hashlib.sha256(value.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"
