"""What a check took, beside what it found: who judged, tokens, cost and time; pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from geode.messages import JsonObject, JsonValue
from geode.store.reviews import hash_candidate
from geode.store.timeline import TimelineEntry
from geode.verify.structure import Candidate
from geode.verify.verdict import VerifiedEnd

KIND = "verification"
_CODE = re.compile(r"[a-z0-9_.:-]{1,64}")


@dataclass(frozen=True, slots=True)
class CheckFacts:
    """What is known of a check only to whoever had it made."""

    judge_model: str
    elapsed_s: float


def tell_check(candidate: Candidate, verdict: VerifiedEnd, facts: CheckFacts) -> VerifiedEnd:
    """The verdict whose record also says what it took and, by hashes, what it was about."""
    body = _describe(candidate, verdict, facts)
    return replace(verdict, entries=_add(verdict.entries, body))


def _add(entries: Sequence[TimelineEntry], body: JsonObject) -> tuple[TimelineEntry, ...]:
    return tuple(
        replace(each, body={**body, **each.body}) if each.kind == KIND else each for each in entries
    )


def _describe(candidate: Candidate, verdict: VerifiedEnd, facts: CheckFacts) -> JsonObject:
    spend = verdict.spend
    usage = spend.usage
    cached = usage.cache_read_tokens + usage.cache_write_tokens
    codes: list[JsonValue] = [each for each in verdict.misses if _CODE.fullmatch(each)]
    return {
        "candidate": hash_candidate(candidate.text, candidate.reason.value),
        "request_hash": hashlib.sha256(
            candidate.request.encode("utf-8", "surrogatepass")
        ).hexdigest(),
        "miss_codes": codes,
        "judge_model": facts.judge_model if spend.calls else "",
        "judge_calls": spend.calls,
        "judge_input_tokens": usage.input_tokens + cached,
        "judge_output_tokens": usage.output_tokens,
        "judge_cost_micro_usd": spend.cost_micro_usd,
        "elapsed_ms": max(0, int(facts.elapsed_s * 1_000)),
    }
