"""Turns a handler's ending into the words of a receipt, a result and a timeline row; pure."""

from __future__ import annotations

from geode.gate.dispatch import HandlerEnd, Unknown
from geode.messages import ReceiptId, ToolResult
from geode.records.call_entries import CallEnding
from geode.records.outcomes import explain_uncertain
from geode.steps import Applied, Done, NotApplied
from geode.store.receipts import ReceiptState, Settlement
from geode.tools.output import cap_text


def say(text: str) -> str:
    """Text as it is stored and shown: capped, valid, never empty."""
    return cap_text(text.replace("\0", "\ufffd")) if text.strip() else "(no text)"


def settlement_of(tool: str, receipt_id: ReceiptId, end: HandlerEnd) -> Settlement:
    """What the receipt of an effect that ended so comes to."""
    match end:
        case Done():
            return Settlement(ReceiptState.COMMITTED, result=say(end.text))
        case Applied():
            return Settlement(ReceiptState.COMMITTED, error=say(end.error))
        case NotApplied():
            return Settlement(ReceiptState.NOT_APPLIED, error=say(end.reason))
        case Unknown():
            error = say(explain_uncertain(tool, receipt_id, end.why))
            return Settlement(ReceiptState.UNCERTAIN, error=error)


def result_of_end(call_id: str, tool: str, end: HandlerEnd) -> ToolResult:
    """The result of a call without a receipt."""
    match end:
        case Done():
            return ToolResult(call_id, say(end.text), names_urls=end.names_urls)
        case Applied():
            return ToolResult(call_id, say(end.error), is_error=True)
        case NotApplied():
            return ToolResult(call_id, say(end.reason), is_error=True)
        case Unknown():
            return ToolResult(call_id, say(f"{tool} gave no result: {end.why}"), is_error=True)


def ending_of(end: HandlerEnd) -> CallEnding:
    """The timeline's word for the ending of a call without a receipt."""
    match end:
        case Done():
            return "done"
        case Applied():
            return "applied_with_error"
        case NotApplied():
            return "not_applied"
        case Unknown():
            return "failed"


def ending_of_settlement(settlement: Settlement) -> CallEnding:
    """The timeline's word for a settled effect."""
    match settlement.state:
        case ReceiptState.COMMITTED:
            return "applied_with_error" if settlement.error else "done"
        case ReceiptState.NOT_APPLIED:
            return "not_applied"
        case ReceiptState.RECONCILED:
            return "reconciled"
        case _:
            return "uncertain"
