"""Stopping a turn at a person's word: its work is cancelled, then read again as after a crash."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any, TypeVar

from geode.messages import SessionId
from geode.session.claims import Claim
from geode.store import conversation, sessions
from geode.store.database import Tx
from geode.store.leases import require_epoch

T = TypeVar("T")


async def run_unless_stopped(work: Coroutine[Any, Any, T], stop: asyncio.Event) -> T | None:
    """What the work came to; None once it was stopped and has ended.

    When the caller is cancelled the work is cancelled too, and has ended when this raises.
    """
    task = asyncio.create_task(work)
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait((task, stopping), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            task.cancel("stopped by a person")
            await asyncio.wait((task,))
    except asyncio.CancelledError:
        task.cancel("the turn was cancelled")
        await asyncio.wait((task,))
        raise
    finally:
        stopping.cancel()
    if task.cancelled() and stop.is_set():
        return None
    return task.result()


def read_again(tx: Tx, claim: Claim) -> Claim:
    """The claim with what its turn has stored since; raises `StaleEpochError` from a lost lease.

    In a unit of its own it comes after every write that the cancelled work had begun.
    """
    require_epoch(tx, claim.session_id, claim.epoch)
    row = sessions.read_session(tx, claim.session_id)
    return replace(
        claim,
        history=conversation.load_messages(tx, SessionId(row.id), claim.chapter),
        position=row.next_position,
        checkpoint=conversation.load_checkpoint(tx, claim.session_id),
    )
