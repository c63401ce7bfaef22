"""Asks a tool to read the world back when the outcome of its effect was never learned."""

from __future__ import annotations

import asyncio

from geode.messages import JsonObject
from geode.records.guard import run_guarded
from geode.steps import Tool, ToolContext
from geode.store.receipts import BY_RUNTIME, DID_NOT, HAPPENED, ReceiptState, Settlement

READ_BACK_S = 10.0


async def read_back(tool: Tool | None, context: ToolContext, arguments: JsonObject) -> bool | None:
    """Whether the effect happened; None when the tool is gone, cannot tell, or fails to."""
    if tool is None or tool.reconcile is None:
        return None
    reconcile = tool.reconcile
    try:
        async with asyncio.timeout(READ_BACK_S):
            answer = await run_guarded(tool.name, lambda: reconcile(context, arguments))
    except TimeoutError:
        return None
    # Only a plain yes or no counts.
    return answer if isinstance(answer, bool) else None


def settlement_read_back(*, happened: bool, error: str = "") -> Settlement:
    """Settled by the runtime, which looked."""
    return Settlement(
        ReceiptState.RECONCILED, word_of(happened=happened), error, settled_by=BY_RUNTIME
    )


def word_of(*, happened: bool) -> str:
    """The stored word for a reconciled effect."""
    return HAPPENED if happened else DID_NOT
