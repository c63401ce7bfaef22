"""Drops what is older than the operator wants to keep; what is open or unsettled stays."""

from __future__ import annotations

import asyncio
import shutil
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from geode.log import get_logger
from geode.messages import SessionId
from geode.ports import Clock
from geode.records.evidence_file import prune_files
from geode.settings_retention import RetentionSettings
from geode.store.database import Store
from geode.store.sessions import filter_quiet
from geode.store.timeline_chain import list_oldest, prune_rows, sum_bytes

log = get_logger(__name__)

DAY_US = 86_400_000_000
ROWS_MAX = 500
"""Of one write: other work waits no longer than that."""
BOUND_ROWS = 20
"""Likewise, where no more is to go than must."""
SESSIONS_MAX = 10_000
ASKED_MAX = 200
FILES = "files"
EVIDENCE = "evidence"


class Retention:
    """One pass over everything that is kept for a while only."""

    def __init__(
        self, store: Store, clock: Clock, folder: Path, settings: RetentionSettings
    ) -> None:
        """`folder` is the state folder."""
        self._store = store
        self._clock = clock
        self._folder = folder
        self._settings = settings

    async def prune(self) -> None:
        """Prune what is due now; raises `StoreError` and then goes on with the next pass."""
        kept = self._settings
        if kept.timeline_days is not None:
            await self._prune_timeline(self._clock.now_us() - kept.timeline_days * DAY_US)
        if kept.timeline_bytes is not None:
            await self._bound_timeline(kept.timeline_bytes)
        if kept.files_days is not None:
            await self._prune_files(self._clock.now_us() - kept.files_days * DAY_US)
        if kept.evidence_days is not None:
            await self._prune_evidence(kept.evidence_days)

    async def _prune_timeline(self, before_us: int) -> None:
        for session_id in await self._store.read(
            lambda tx: list_oldest(tx, before_us, SESSIONS_MAX)
        ):
            while await self._prune_session(session_id, before_us) == ROWS_MAX:
                continue

    async def _prune_session(
        self, session_id: SessionId, before_us: int, limit: int = ROWS_MAX
    ) -> int:
        now_us = self._clock.now_us()
        unit = partial(
            prune_rows, session_id=session_id, before_us=before_us, limit=limit, now_us=now_us
        )
        return await self._store.write("timeline.prune", unit)

    async def _bound_timeline(self, bytes_max: int) -> None:
        """The oldest sessions' first rows go until the rest fits, or nothing more may go."""
        now_us = self._clock.now_us() + 1
        oldest = await self._store.read(lambda tx: list_oldest(tx, now_us, SESSIONS_MAX))
        for session_id in oldest:
            gone = BOUND_ROWS
            while gone == BOUND_ROWS:
                if await self._store.read(sum_bytes) <= bytes_max:
                    return
                gone = await self._prune_session(session_id, now_us, BOUND_ROWS)
        if await self._store.read(sum_bytes) > bytes_max:
            log.warning("timeline_too_large", bytes_max=bytes_max)

    async def _prune_files(self, before_us: int) -> None:
        folder = self._folder / FILES
        try:
            names = await asyncio.to_thread(_list_folders, folder)
        except OSError as error:
            log.warning("files_not_pruned", reason=str(error))
            return
        for start in range(0, len(names), ASKED_MAX):
            asked = names[start : start + ASKED_MAX]
            quiet = await self._store.read(lambda tx, of=asked: filter_quiet(tx, of, before_us))
            await asyncio.to_thread(_remove_folders, [folder / name for name in quiet])

    async def _prune_evidence(self, days: int) -> None:
        today = datetime.fromtimestamp(self._clock.now_us() / 1_000_000, UTC).date()
        before = today - timedelta(days=days)
        try:
            await asyncio.to_thread(prune_files, self._folder / EVIDENCE, before)
        except OSError as error:
            log.warning("evidence_not_pruned", reason=str(error))


def _list_folders(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def _remove_folders(folders: list[Path]) -> None:
    for folder in folders:
        if folder.is_dir() and not folder.is_symlink():
            shutil.rmtree(folder, ignore_errors=True)
