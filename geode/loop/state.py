"""What a turn starts from, carries along and ends with; all of it survives as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import cast

from geode.loop.guards import GuardState
from geode.loop.quoting import write_note
from geode.messages import JsonObject, Message, TerminationReason, ToolCall, ToolResult
from geode.steps import Spend, Usage
from geode.store.approvals import NewApproval
from geode.store.timeline import TimelineEntry

CONTINUATIONS_MAX = 2
"""Repairs of one candidate: the first candidate and at most two more."""


@dataclass(frozen=True, slots=True)
class LoopState:
    """The loop's own state: saved with every batch and at the turn's end, never derived again."""

    step: int = 0
    """Model calls of this turn so far; part of every operation id, so it never goes back."""
    guards: GuardState = field(default_factory=GuardState)
    spent_us: int = 0
    """Running time of this turn, waiting and restarts not counted."""
    usage: Usage = field(default_factory=Usage)
    cost_micro_usd: int | None = 0
    """None once a call had no known price."""
    context_start: int = 0
    """The first message of the chapter that the model still sees word for word."""
    summary: str = ""
    """What stands for the messages before `context_start`."""
    attempts: int = 0
    """Continuations used, of `CONTINUATIONS_MAX`."""
    repairing: Spend = field(default_factory=Spend)
    """What the attempts after the first used; a part of `usage` and `cost_micro_usd`."""
    judging: Spend = field(default_factory=Spend)
    """What the judge used; it comes on top."""
    granted_us: int = 0
    """Of `spent_us`, what was spent before a person asked for a revision: that gives new time."""
    granted_steps: int = 0
    """Of `step`, likewise."""
    results: int = 0
    """Tool results of this turn that are not errors."""
    observed_tokens: int = 0
    """What the provider last measured for the conversation; 0: not measured since the last cut."""
    observed_count: int = 0
    """How many messages of the chapter that measure covers."""
    has_uncertain: bool = False
    """An effect of this turn has an unknown outcome: nothing is repaired automatically."""
    hidden_pictures: tuple[str, ...] = ()
    """Hashes of pictures in requests that the provider refused; they are not shown again."""
    shorten_asked: int = 0
    """How often people asked in this chapter that it is shortened."""
    shorten_done: int = 0
    """The last of these askings that was obeyed; stored together with what came of it."""

    def to_json(self) -> JsonObject:
        """The state as JSON."""
        return {
            "step": self.step,
            "guards": self.guards.to_json(),
            "spent_us": self.spent_us,
            "usage": [
                self.usage.input_tokens,
                self.usage.output_tokens,
                self.usage.cache_read_tokens,
                self.usage.cache_write_tokens,
            ],
            "cost_micro_usd": self.cost_micro_usd,
            "context_start": self.context_start,
            "summary": self.summary,
            "attempts": self.attempts,
            "repairing": self.repairing.to_json(),
            "judging": self.judging.to_json(),
            "granted_us": self.granted_us,
            "granted_steps": self.granted_steps,
            "results": self.results,
            "observed_tokens": self.observed_tokens,
            "observed_count": self.observed_count,
            "has_uncertain": self.has_uncertain,
            "hidden_pictures": list(self.hidden_pictures),
            "shorten_asked": self.shorten_asked,
            "shorten_done": self.shorten_done,
        }

    @staticmethod
    def from_json(body: JsonObject) -> LoopState:
        """The state that `to_json` wrote; what an older version did not write keeps its default."""
        guards = GuardState.from_json(cast("JsonObject", body.get("guards") or {}))
        usage = Usage(*cast("list[int]", body.get("usage") or []))
        cost = cast("int | None", body.get("cost_micro_usd", 0))
        numbers = {
            name: cast("int", body[name])
            for name in (
                "step",
                "spent_us",
                "context_start",
                "attempts",
                "granted_us",
                "granted_steps",
                "results",
                "observed_tokens",
                "observed_count",
                "shorten_asked",
                "shorten_done",
            )
            if name in body
        }
        return LoopState(
            guards=guards,
            usage=usage,
            cost_micro_usd=cost,
            repairing=Spend.from_json(cast("JsonObject", body.get("repairing") or {})),
            judging=Spend.from_json(cast("JsonObject", body.get("judging") or {})),
            summary=cast("str", body.get("summary", "")),
            has_uncertain=bool(body.get("has_uncertain", False)),
            hidden_pictures=tuple(cast("list[str]", body.get("hidden_pictures") or [])),
            **numbers,
        )

    def begin_revision(self) -> LoopState:
        """The state of an attempt that a person asked for: new time, no repair behind it."""
        return replace(
            self,
            attempts=CONTINUATIONS_MAX,
            guards=GuardState(),
            granted_us=self.spent_us,
            granted_steps=self.step,
        )

    def next_turn(self) -> LoopState:
        """The state the next turn of the chapter starts from: only the view of it stays.

        A new chapter starts from `LoopState()`.
        """
        return LoopState(
            context_start=self.context_start,
            summary=self.summary,
            observed_tokens=self.observed_tokens,
            observed_count=self.observed_count,
            hidden_pictures=self.hidden_pictures,
            shorten_asked=self.shorten_asked,
            shorten_done=self.shorten_done,
        )


@dataclass(frozen=True, slots=True)
class OpenBatch:
    """A saved batch of which some calls have no result yet."""

    step: int
    calls: tuple[ToolCall, ...]
    """All calls of the proposing message; a call's place is its position in the operation id."""
    done: Mapping[int, ToolResult] = field(default_factory=dict[int, ToolResult])
    """The results that there are, by place."""
    refused: frozenset[int] = frozenset()
    """Places that the loop's own guards refused."""


@dataclass(frozen=True, slots=True)
class TurnStart:
    """What the loop is given for one run."""

    history: tuple[Message, ...]
    """The chapter's stored messages from `history_offset` on, the request included."""
    state: LoopState = field(default_factory=LoopState)
    remaining_s: float | None = None
    """What is left of the turn's time budget; None: no limit."""
    first_request: str = ""
    """The chapter's first request; empty: the first message of `history` that a person wrote."""
    history_offset: int = 0
    """Messages of the chapter before `history[0]`; at most `state.context_start`."""
    open_batch: OpenBatch | None = None
    """Calls of the last message that are to be brought to their results first."""


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """What one run of the loop came to; the caller stores `unsaved` and `entries`."""

    reason: TerminationReason
    text: str
    """The candidate of a deliverable end, else empty; not yet verified."""
    unsaved: tuple[Message, ...]
    state: LoopState
    entries: tuple[TimelineEntry, ...]
    saved: tuple[Message, ...] = ()
    """What the run stored with its batches: it stands between the history and `unsaved`."""
    detail: str = ""
    """A whole sentence with the particulars of a failure."""

    @property
    def usage(self) -> Usage:
        """Tokens of the whole turn."""
        return self.state.usage

    @property
    def cost_micro_usd(self) -> int | None:
        """Cost of the whole turn; None: unknown."""
        return self.state.cost_micro_usd


@dataclass(frozen=True, slots=True)
class TurnPause:
    """A run stopped where calls of its batch wait for people; the rest of the batch is done."""

    batch: OpenBatch
    asks: tuple[NewApproval, ...]
    """What people are to be asked, in call order; all of it in the caller's one transaction."""
    state: LoopState
    entries: tuple[TimelineEntry, ...]
    """Not stored yet; every message is."""


def continue_turn(
    start: TurnStart, end: TurnEnd, note: str, remaining_s: float | None
) -> TurnStart:
    """The start of another run of the same request, one continuation of the budget used.

    The caller stores what its history has more than what `start` and `end.saved` held.
    """
    return replace(
        start,
        history=(*start.history, *end.saved, *end.unsaved, write_note(note)),
        state=replace(end.state, attempts=end.state.attempts + 1),
        remaining_s=remaining_s,
        open_batch=None,
    )
