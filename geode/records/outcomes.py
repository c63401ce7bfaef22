"""What a receipt says to the model and to operators: pure, the same bytes after a restart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from geode.messages import ReceiptId, ToolResult
from geode.store.approvals import NewApproval
from geode.store.receipts import BY_RUNTIME, HAPPENED, Receipt, ReceiptState, Settlement
from geode.store.timeline import TimelineEntry


@dataclass(frozen=True, slots=True)
class Prepared:
    """The receipt is committed: the effect may begin after one more look at the epoch."""


@dataclass(frozen=True, slots=True)
class Stored:
    """The effect is not to run: this is what it, or its equal in this turn, came to."""

    result: ToolResult


@dataclass(frozen=True, slots=True)
class Blocked:
    """The effect may not run: an open receipt names one of its keys."""

    by: Receipt

    @property
    def sentence(self) -> str:
        """Why, and what a person can do."""
        if self.by.state is ReceiptState.UNCERTAIN:
            return (
                f"Not run: an earlier {self.by.tool} on the same resource has an unknown outcome. "
                f"An operator can settle it: {settle_command(self.by.id)}"
            )
        return (
            f"Not run: an earlier {self.by.tool} on the same resource was interrupted "
            f"and is not settled yet (receipt {self.by.id})."
        )


PrepareOutcome: TypeAlias = Prepared | Stored | Blocked


@dataclass(frozen=True, slots=True)
class BatchOutcome:
    """What a batch of calls came to."""

    results: tuple[ToolResult | None, ...]
    """One per call, in call order; None for a call that waits for a person."""
    entries: tuple[TimelineEntry, ...] = ()
    """Not yet written; they belong into the save that holds the results."""
    uncertain: tuple[ReceiptId, ...] = ()
    """Effects whose outcome only a person can tell."""
    asks: tuple[NewApproval, ...] = ()
    """What people are to be asked about the calls that wait."""


def settle_command(receipt_id: ReceiptId) -> str:
    """What an operator types to settle a receipt."""
    return f"geode effects settle {receipt_id} happened|did-not"


def explain_uncertain(tool: str, receipt_id: ReceiptId, why: str) -> str:
    """The error result of an effect whose outcome is unknown."""
    return (
        f"The outcome of {tool} is unknown: {why} It is not run again by itself. "
        f"An operator can settle it: {settle_command(receipt_id)}"
    )


def result_of(receipt: Receipt, call_id: str) -> ToolResult:
    """The one result a settled or uncertain receipt stands for, live and after a restart."""
    known = Settlement(receipt.state, receipt.result, receipt.error, receipt.settled_by)
    return result_of_settlement(receipt.tool, call_id, known)


def result_of_settlement(tool: str, call_id: str, known: Settlement) -> ToolResult:
    """The result of a call of this tool whose effect is known to this degree."""
    if known.state is ReceiptState.COMMITTED and not known.error:
        return ToolResult(call_id, known.result)
    if known.state is not ReceiptState.RECONCILED:
        return ToolResult(call_id, known.error, is_error=True)
    if known.result == HAPPENED:
        return ToolResult(call_id, f"{tool} did happen ({_source_of(known)}).")
    return ToolResult(call_id, f"{tool} did not happen ({_source_of(known)}).", is_error=True)


def _source_of(known: Settlement) -> str:
    if known.settled_by == BY_RUNTIME:
        why = f": {known.error}" if known.error else ""
        return f"read back after it ended without an answer{why}"
    return f"settled by {known.settled_by}"
