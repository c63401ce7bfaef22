"""A turn whose asker wants no check: the structure still holds, and the answer says so; pure."""

from __future__ import annotations

from geode.messages import JsonObject, JsonValue
from geode.reply.sentences import NOT_VERIFIED
from geode.store.timeline import TimelineEntry
from geode.verify.decide import Action
from geode.verify.structure import Candidate, check_structure
from geode.verify.turn_check import VerifiedEnd

SKIPPED = "skipped"


def skip_verification(candidate: Candidate) -> VerifiedEnd | None:
    """Accept it unjudged and say that in it; None: it has not even the form of an answer."""
    structure, turn = check_structure(candidate), candidate.turn
    if not structure.is_sound:
        return None
    body: JsonObject = {
        "action": Action.ACCEPT.value,
        "rule": SKIPPED,
        "outcome": SKIPPED,
        "structure": structure.code.value,
        "attempt": turn.attempt if turn is not None else 0,
        "misses": [],
        "by": list[JsonValue](turn.requesters if turn is not None else ()),
    }
    return VerifiedEnd(
        action=Action.ACCEPT,
        reason=candidate.reason,
        text=f"{candidate.text}\n\n{NOT_VERIFIED}",
        outcome=SKIPPED,
        rule=SKIPPED,
        entries=(TimelineEntry("verification", body, turn.turn_id if turn is not None else ""),),
    )
