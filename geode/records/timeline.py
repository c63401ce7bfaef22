"""Reads sessions' timelines back, and finds the first row that is not what was written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from geode.messages import SessionId
from geode.store.database import Store, Tx
from geode.store.timeline import chain_hash
from geode.store.timeline_chain import (
    ChainEnds,
    ChainRow,
    find_before,
    find_stray,
    list_ends,
    read_ends,
    read_rows,
)

PAGE_ROWS = 1_000
SESSIONS_MAX = 50
ROWS_MAX = 100_000
"""After so many an answer is given, and the next one goes on from there."""
LOOKS_MAX = 3
"""A chain that is pruned while it is followed is followed once more."""


@dataclass(frozen=True, slots=True)
class ChainFault:
    """The first thing that is wrong with a session's chain."""

    session_id: str
    seq: int
    fault: str
    """altered | missing | out of order | cut off | no session"""
    kind: str = ""
    at_us: int = 0


@dataclass(frozen=True, slots=True)
class Verified:
    """What was verified."""

    sessions: int = 0
    rows: int = 0
    faults: tuple[ChainFault, ...] = ()
    after: str = ""
    """The last session that was looked at; empty once all were."""


class SessionTimeline:
    """The history of sessions: append-only rows, each chained to the one before it.

    It is observation: nothing is restored from it, and it proves no effect.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    async def read(self, session_id: str, after: int = 0) -> list[ChainRow]:
        """One page of a session's rows behind that one, in order; empty at the end."""
        return await self._store.read(lambda tx: read_rows(tx, session_id, after, PAGE_ROWS))

    async def verify(self, session_id: str) -> Verified | None:
        """One session's chain, from its anchor to its head; None: there is no such session."""
        ends = await self._store.read(lambda tx: read_ends(tx, session_id))
        return None if ends is None else await self._verify_chain(ends)

    async def verify_some(self, after: str) -> Verified:
        """The chains of some sessions behind that one; ask again with `after` until it is empty."""
        found = await self._store.read(lambda tx: list_ends(tx, after, SESSIONS_MAX))
        total = Verified()
        for ends in found:
            one = await self._verify_chain(ends)
            total = Verified(
                total.sessions + 1, total.rows + one.rows, (*total.faults, *one.faults)
            )
            if total.rows >= ROWS_MAX or total.sessions == SESSIONS_MAX:
                return Verified(total.sessions, total.rows, total.faults, ends.session_id)
        stray = await self._store.read(find_stray)
        lost = () if stray is None else (ChainFault(stray, 0, "no session"),)
        return Verified(total.sessions, total.rows, (*total.faults, *lost))

    async def _verify_chain(self, ends: ChainEnds) -> Verified:
        """Follow it, again when it was pruned meanwhile: what stays must hold by itself."""
        one = await self._follow(ends)
        for _ in range(LOOKS_MAX):
            now = await self._store.read(partial(read_ends, session_id=ends.session_id))
            if not one.faults or now is None or now.anchor_seq == ends.anchor_seq:
                break
            ends = now
            one = await self._follow(ends)
        return one

    async def _follow(self, ends: ChainEnds) -> Verified:
        """Read page by page; a row that is appended meanwhile is behind the head and not read."""
        if ends.anchor_rows != ends.anchor_seq:
            fault = ChainFault(ends.session_id, ends.anchor_seq, "altered", "anchor")
            return Verified(1, 0, (fault,))
        before = await self._store.read(
            partial(find_before, session_id=ends.session_id, anchor_seq=ends.anchor_seq)
        )
        if before is not None:
            return Verified(1, 0, (ChainFault(ends.session_id, before, "out of order"),))
        seq, digest, count = ends.anchor_seq, ends.anchor_hash, 0
        while seq < ends.seq:
            rows = [r for r in await self._read_behind(ends, seq) if r.seq <= ends.seq]
            fault, seq, digest = follow_chain(ends.session_id, rows, seq, digest)
            if fault is not None:
                return Verified(1, count, (fault,))
            if not rows:
                return Verified(1, count, (ChainFault(ends.session_id, seq + 1, "cut off"),))
            count += len(rows)
        if (seq, digest) != (ends.seq, ends.hash):
            return Verified(1, count, (ChainFault(ends.session_id, ends.seq, "cut off"),))
        extra = await self._store.read(lambda tx: _find_extra(tx, ends.session_id))
        return Verified(1, count, () if extra is None else (extra,))

    async def _read_behind(self, ends: ChainEnds, seq: int) -> Sequence[ChainRow]:
        # The first page begins at the beginning: a row in front of the anchor is not to be there.
        after = -1 if seq == ends.anchor_seq else seq
        session_id = ends.session_id
        return await self._store.read(lambda tx: read_rows(tx, session_id, after, PAGE_ROWS))


def _find_extra(tx: Tx, session_id: SessionId) -> ChainFault | None:
    """A row behind the session's head of now: nobody appended it."""
    ends = read_ends(tx, session_id)
    rows = () if ends is None else read_rows(tx, session_id, ends.seq, 1)
    for row in rows:
        return ChainFault(session_id, row.seq, "out of order", row.kind, row.at_us)
    return None


def follow_chain(
    session_id: SessionId, rows: Sequence[ChainRow], seq: int, digest: str
) -> tuple[ChainFault | None, int, str]:
    """The first fault of rows that follow that row, or None; and the last good row; pure."""
    for row in rows:
        fault = _find_fault(row, seq, digest)
        if fault:
            found = ChainFault(session_id, row.seq, fault, row.kind, row.at_us)
            return found, seq, digest
        seq, digest = row.seq, row.hash
    return None, seq, digest


def _find_fault(row: ChainRow, seq: int, digest: str) -> str:
    if row.seq > seq + 1:
        return "missing"
    if row.seq <= seq:
        return "out of order"
    own = chain_hash(row.prev_hash, row.seq, row.kind, row.turn_id, row.body, row.at_us)
    if own != row.hash or row.prev_hash != digest:
        return "altered"
    return ""
