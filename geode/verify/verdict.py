"""What was found of a candidate, and what it comes to: the action, its note, its records; pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from geode.hooks.candidates import Continue, Escalate, PostVerify, Revise, Stop, Strengthen
from geode.hooks.decisions import Proceed
from geode.messages import JsonObject, TerminationReason
from geode.steps import Spend
from geode.store.reviews import hash_candidate
from geode.store.timeline import TimelineEntry
from geode.verify.decide import Action, Decision
from geode.verify.judge import Judgement, JudgeOutcome
from geode.verify.structure import Candidate, StructureVerdict


@dataclass(frozen=True, slots=True)
class Findings:
    """All that one verification heard, and the last decision."""

    candidate: Candidate
    """With the requirements of hooks."""
    structure: StructureVerdict
    judgement: Judgement | None
    """With the misses of hooks; None: not asked for."""
    added: tuple[Strengthen, ...]
    decision: Decision
    post_verify: PostVerify = field(default_factory=Proceed)
    stop: Stop = field(default_factory=Proceed)


@dataclass(frozen=True, slots=True)
class VerifiedEnd:
    """What became of a candidate; the driver of the turn does the rest.

    `ACCEPT`: deliver `text` under `reason`. `REVISE`: run the loop again (`continue_turn`) with
    `note`. `ESCALATE`: keep `text`, deliver nothing. `FAIL`: tell `reason` and `detail`.
    """

    action: Action
    reason: TerminationReason
    text: str
    outcome: str
    """For the turn's row: the judge's outcome, or the structural code when that failed."""
    note: str = ""
    detail: str = ""
    misses: tuple[str, ...] = ()
    rule: str = ""
    """Of the decision."""
    reflection: str = ""
    spend: Spend = field(default_factory=Spend)
    """What the judge used."""
    entries: tuple[TimelineEntry, ...] = ()


_FAILURES: Mapping[str, tuple[TerminationReason, str]] = {
    "model_action_required": (TerminationReason.MODEL_ACTION_REQUIRED, ""),
    "empty_turn_budget_exhausted": (
        TerminationReason.PROVIDER_ERROR,
        "Its answer was empty, and there can be no other attempt.",
    ),
}


def close_findings(findings: Findings) -> VerifiedEnd:
    """The end of a verification, with the rows that tell of it."""
    candidate, judgement, decision = findings.candidate, findings.judgement, findings.decision
    reason, detail = candidate.reason, ""
    if decision.action is Action.FAIL:
        reason, detail = _FAILURES[decision.rule]
    elif decision.action is Action.ESCALATE:
        reason = TerminationReason.EXTERNAL_VERIFICATION_REQUIRED
    return VerifiedEnd(
        action=decision.action,
        reason=reason,
        text=candidate.text,
        outcome=_outcome(findings),
        note=_write_note(findings) if decision.action is Action.REVISE else "",
        detail=detail,
        misses=_list_misses(findings),
        rule=decision.rule,
        reflection=judgement.reflection if judgement is not None else "",
        spend=judgement.spend if judgement is not None else Spend(),
        entries=_list_entries(findings),
    )


def _outcome(findings: Findings) -> str:
    judgement = findings.judgement
    return judgement.outcome.value if judgement is not None else findings.structure.code.value


def _list_misses(findings: Findings) -> tuple[str, ...]:
    judgement = findings.judgement
    found = judgement.misses if judgement is not None else (findings.structure.code.value,)
    objections = tuple(
        f"{said.hook}: {said.reason}"
        for said in (findings.post_verify, findings.stop)
        if isinstance(said, Revise | Escalate | Continue)
    )
    return (*found, *objections)


def _write_note(findings: Findings) -> str:
    """What the next attempt is told; the words of hooks are input there, as people's are."""
    lines = [findings.structure.note, _write_miss(findings.judgement)]
    if isinstance(findings.post_verify, Revise):
        asked = findings.post_verify.reason
        lines.append(f"A check of this place asks for another version of your answer: {asked}")
    if isinstance(findings.stop, Continue):
        asked = findings.stop.reason
        lines.append(f"A check of this place asks you to go on before you end: {asked}")
    return "\n".join(line for line in lines if line)


def _write_miss(judgement: Judgement | None) -> str:
    if judgement is None or judgement.outcome is not JudgeOutcome.FAILED:
        return ""
    missed = "; ".join(judgement.misses) or "the answer does not meet the request"
    return f"Your answer was not accepted: {missed}. {judgement.reflection}".strip()


def _list_entries(findings: Findings) -> tuple[TimelineEntry, ...]:
    """Facts and hashes: what was said stands in the conversation and in the review."""
    candidate, decision = findings.candidate, findings.decision
    turn = candidate.turn
    digest = hash_candidate(candidate.text, candidate.reason.value)
    common: JsonObject = {
        "candidate": digest,
        "attempt": turn.attempt if turn is not None else 0,
    }
    rows = {
        "verification": common | _describe_decision(findings),
        "verification_evidence": common | _describe_evidence(candidate),
    }
    if decision.action is Action.ESCALATE:
        rows["verification_pending"] = common | {
            "rule": decision.rule,
            "reason": candidate.reason.value,
            "chars": len(candidate.text),
        }
    turn_id = turn.turn_id if turn is not None else ""
    return tuple(TimelineEntry(kind, body, turn_id) for kind, body in rows.items())


def _describe_evidence(candidate: Candidate) -> JsonObject:
    seen = candidate.observations
    return {
        "request_hash": _hash([candidate.request]),
        "observations": len(seen),
        "observations_hash": _hash([f"{each.tool}\0{each.text}" for each in seen]),
        "is_personal": candidate.is_personal,
        "has_uncertain": candidate.has_uncertain,
        "requirements": len(candidate.requirements),
        "requirements_hash": _hash(candidate.requirements),
    }


def _describe_decision(findings: Findings) -> JsonObject:
    misses = _list_misses(findings)
    return {
        "action": findings.decision.action.value,
        "rule": findings.decision.rule,
        "outcome": _outcome(findings),
        "structure": findings.structure.code.value,
        "miss_count": len(misses),
        "misses_hash": _hash(misses),
        "codes": [miss for each in findings.added for miss in each.misses],
        "post_verify": _describe_word(findings.post_verify),
        "stop": _describe_word(findings.stop),
    }


def _describe_word(said: PostVerify | Stop) -> str:
    """What hooks said in one word, and which: `revise PostVerify[1]`."""
    match said:
        case Escalate(hook=hook, has_failed=True):
            return f"failed {hook}"
        case Escalate(hook=hook) | Revise(hook=hook) | Continue(hook=hook):
            return f"{type(said).__name__.lower()} {hook}"
        case _:
            return type(said).__name__.lower()


def _hash(texts: Sequence[str]) -> str:
    return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()
