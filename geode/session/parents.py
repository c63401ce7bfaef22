"""What a running turn shares with the children it begins, and what they bring back to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from weakref import WeakValueDictionary

from geode.loop.limits import LoopLimits
from geode.loop.ports import Progress
from geode.messages import ReceiptId, SessionId
from geode.session.claims import Claim
from geode.session.leases import Lease
from geode.steps import BoundToolPlan, ToolContext


@dataclass(slots=True, eq=False, weakref_slot=True)
class ParentTurn:
    """A turn that may begin children; it lives as long as its `Session` does."""

    claim: Claim
    lease: Lease
    plan: BoundToolPlan
    limits: LoopLimits
    progress: Progress
    cost_micro_usd: int
    """What its children have cost so far: it counts against the turn's own limit."""
    uncertain: list[ReceiptId] = field(default_factory=list[ReceiptId])
    """Effects of its children whose outcome nobody knows, not yet taken over by the turn."""

    def read_cost(self) -> int:
        """What its children have cost so far, in micro-USD."""
        return self.cost_micro_usd

    def take_uncertain(self) -> tuple[ReceiptId, ...]:
        """What its children left uncertain since the last look."""
        taken = tuple(self.uncertain)
        self.uncertain.clear()
        return taken


class ParentTurns:
    """The turns of this process that may begin children, as long as they run."""

    def __init__(self) -> None:
        self._running: WeakValueDictionary[tuple[SessionId, int], ParentTurn] = (
            WeakValueDictionary()
        )

    def enter(self, parent: ParentTurn) -> None:
        """The turn begins or goes on."""
        self._running[parent.claim.session_id, parent.claim.epoch] = parent

    def find(self, context: ToolContext) -> ParentTurn | None:
        """The turn that makes this call."""
        return self._running.get((context.session_id, context.epoch))
