"""What the loop needs from the rooms around it, and who asks in its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from geode.loop.state import LoopState
from geode.messages import (
    Image,
    Message,
    Mode,
    ProgressStep,
    SessionId,
    ToolCall,
    ToolResult,
    TurnId,
)
from geode.steps import BoundToolPlan, ToolContext
from geode.store.approvals import NewApproval
from geode.store.timeline import TimelineEntry


@dataclass(frozen=True, slots=True)
class TurnIdentity:
    """In whose name a turn's calls are made."""

    session_id: SessionId
    turn_id: TurnId
    epoch: int
    mode: Mode
    binding: str
    requesters: tuple[str, ...] = ()
    chapter: int = 0

    def make_context(self, model: str, step: int, position: int, deadline: float) -> ToolContext:
        """The identity of one call of the saved batch."""
        return ToolContext(
            session_id=self.session_id,
            turn_id=self.turn_id,
            step=step,
            position=position,
            epoch=self.epoch,
            mode=self.mode,
            binding=self.binding,
            model=model,
            requesters=self.requesters,
            chapter=self.chapter,
            deadline=deadline,
        )


@dataclass(frozen=True, slots=True)
class SavedBatch:
    """Everything that must be durable before the first tool of a batch runs."""

    step: int
    calls: tuple[ToolCall, ...]
    """The proposed calls; a call's index is its position in the operation id."""
    messages: tuple[Message, ...]
    """Messages that are not stored yet, the proposing one last."""
    state: LoopState
    entries: tuple[TimelineEntry, ...]


class TurnRecords(Protocol):
    """The store, as the loop sees it."""

    async def save_batch(self, batch: SavedBatch) -> None:
        """Store messages, pending calls, state and entries in one transaction, epoch checked.

        Raises `StoreError` when nothing was stored; then no tool of the batch runs.
        """
        ...


class Progress(Protocol):
    """What may leave the process before a candidate is accepted; never candidate text."""

    def step(self, phase: str, tools: tuple[str, ...] = ()) -> None:
        """The turn entered a phase (`thinking`, `tools`, `shortening`); returns at once."""
        ...

    def note(self, sentence: str) -> None:
        """One plain sentence for the person, such as a wait for the provider."""
        ...

    def plan(self, steps: tuple[ProgressStep, ...]) -> None:
        """The session's own plan, above what was done; returns at once."""
        ...


class Pictures(Protocol):
    """Where a session's pictures are kept, as the loop sees it."""

    async def load(self, wanted: Sequence[Image]) -> Mapping[str, bytes]:
        """The base64 of each picture by its SHA-256; one that is gone or changed is left out."""
        ...


class ToolOutcome(Protocol):
    """What a processed batch came to."""

    @property
    def results(self) -> Sequence[ToolResult | None]:
        """One per call, in the order of the calls; None for a call that waits for a person."""
        ...

    @property
    def asks(self) -> Sequence[NewApproval]:
        """What people are to be asked about the calls that wait."""
        ...

    @property
    def entries(self) -> Sequence[TimelineEntry]:
        """Timeline entries that are not stored yet."""
        ...

    @property
    def uncertain(self) -> object:
        """Truthy when an effect of the batch has an unknown outcome."""
        ...


class ToolProcessor(Protocol):
    """The gate, as the loop sees it."""

    async def process(
        self,
        calls: Sequence[ToolCall],
        plan: BoundToolPlan,
        make_context: Callable[[int], ToolContext],
    ) -> ToolOutcome:
        """Run what may run of a saved batch; `make_context` takes the index in `calls`.

        Refusals and failures are results, never exceptions.
        """
        ...
