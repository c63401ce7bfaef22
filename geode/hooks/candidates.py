"""What a hook is shown of an answer and what it may say: it adds checks, it never passes one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from geode.hooks.decisions import Proceed
from geode.messages import Mode


@dataclass(frozen=True, slots=True)
class ShownObservation:
    """The result of one tool call of the turn."""

    tool: str
    text: str
    is_error: bool = False
    is_personal: bool = False


@dataclass(frozen=True, slots=True)
class ShownCandidate:
    """What a turn wants to answer, before anybody has judged it."""

    request: str
    text: str
    reason: str
    """The deliverable stop: natural, forced_text, actionable_partial."""
    observations: tuple[ShownObservation, ...] = ()
    has_uncertain: bool = False
    attempt: int = 0
    """Repairs before this candidate."""
    session_id: str = ""
    turn_id: str = ""
    mode: Mode | None = None
    binding: str = ""
    requesters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class JudgedCandidate:
    """The candidate, what was found, and what happens to it unless a hook says otherwise."""

    candidate: ShownCandidate
    outcome: str
    """passed, failed, verification_error."""
    misses: tuple[str, ...]
    reflection: str
    is_retry_worthwhile: bool
    action: str
    """accept, revise, escalate."""


@dataclass(frozen=True, slots=True)
class Strengthen:
    """The candidate must also meet these requirements, and has these misses in any case."""

    hook: str
    requirements: tuple[str, ...] = ()
    """Whole sentences for the judge."""
    misses: tuple[str, ...] = ()
    """Code words such as `no_source_link`."""
    reason: str = ""
    """What the next attempt is told of the misses."""
    has_failed: bool = False
    """The hook gave no valid answer in time: nobody knows what it would have missed."""


@dataclass(frozen=True, slots=True)
class Accept:
    """The candidate is to be delivered, if it passed."""


@dataclass(frozen=True, slots=True)
class Revise:
    """The same request is to be run again, with the reason as input."""

    hook: str
    reason: str


@dataclass(frozen=True, slots=True)
class Escalate:
    """A person is to decide."""

    hook: str
    reason: str
    has_failed: bool = False


@dataclass(frozen=True, slots=True)
class Continue:
    """The turn is to go on before it ends, with the reason as input."""

    hook: str
    reason: str


PreVerify: TypeAlias = Proceed | Strengthen
PostVerify: TypeAlias = Proceed | Accept | Revise | Escalate
Stop: TypeAlias = Proceed | Continue | Escalate
"""`Escalate` only where a hook failed; none can answer it."""
