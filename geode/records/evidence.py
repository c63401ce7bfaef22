"""Diagnostics beside the store, a line of JSON for each thing that was committed; proof of nothing.

The hashes find the timeline's row. A row that is there proves no effect, one that is missing none.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import orjson

from geode.log import get_logger
from geode.messages import JsonObject
from geode.ports import Redactor
from geode.records.evidence_file import append_lines, name_file, read_number
from geode.records.evidence_rows import evidence_of, show_moment
from geode.store.timeline import AppendedEntry

log = get_logger(__name__)

EVIDENCE = "evidence"
"""The folder's name in the state folder."""
WAITING_MAX = 4_096
"""Entries that the disk may be behind; beyond, the newest are lost."""
BATCH_MAX = 256
CLOSE_S = 2.0
LOST = "evidence_lost"
WITHHELD = "withheld"


class EvidenceLedger:
    """Redacted JSONL under `evidence/`, best effort: its failure changes nothing but a log line.

    Told by the store's writer what it has committed, in order; one thread of its own writes.
    """

    def __init__(self, state_folder: Path, redactor: Redactor) -> None:
        self.folder = state_folder / EVIDENCE
        self.lost = 0
        """Rows that were not written, because the disk was too slow or refused them."""
        self._redactor = redactor
        # Bounded by `record`, so that the end always fits behind what waits.
        self._waiting: queue.SimpleQueue[AppendedEntry | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._is_closed = False
        self._last: int | None = None
        """The last number on disk; None: to be read."""
        self._untold = 0
        """Of `lost`, what no row tells of yet."""
        self._counting = threading.Lock()

    def record(self, appended: Sequence[AppendedEntry]) -> None:
        """Take what was committed and return at once; never raises."""
        if self._is_closed:
            return
        for each in appended:
            if self._waiting.qsize() >= WAITING_MAX:
                self._lose(1, "the disk is too slow")
            else:
                self._waiting.put(each)
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name="geode-evidence", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Write what waits, for a moment at most; blocks. Safe to call twice."""
        if not self._is_closed:
            self._is_closed = True
            self._waiting.put(None)
        if self._thread is not None:
            self._thread.join(CLOSE_S)

    def _serve(self) -> None:
        is_last = False
        while not is_last:
            batch, is_last = self._take_batch()
            if batch:
                self._write(batch)

    def _take_batch(self) -> tuple[list[AppendedEntry], bool]:
        batch: list[AppendedEntry] = []
        found = self._waiting.get()
        while found is not None:
            batch.append(found)
            if len(batch) == BATCH_MAX or self._waiting.empty():
                return batch, False
            found = self._waiting.get()
        return batch, True

    def _write(self, batch: Sequence[AppendedEntry]) -> None:
        rows = [(each.at_us, row) for each in batch if (row := evidence_of(each)) is not None]
        for path, group in groupby(rows, key=lambda row: name_file(self.folder, row[0])):
            self._append(path, list(group))

    def _append(self, path: Path, rows: Sequence[tuple[int, JsonObject]]) -> None:
        untold = self._untold
        told = [row for _, row in rows]
        if untold:
            told.insert(0, {"at": show_moment(rows[0][0]), "kind": LOST, "count": untold})
        try:
            last = read_number(self.folder) if self._last is None else self._last
            numbered = [{"n": n, **row} for n, row in enumerate(told, start=last + 1)]
            append_lines(path, [self._redact(row) for row in numbered])
        except OSError as error:
            self._last = None  # some lines may stand there
            self._lose(len(rows), error.strerror or type(error).__name__)
        else:
            self._last = last + len(numbered)
            with self._counting:
                self._untold -= untold

    def _redact(self, row: JsonObject) -> bytes:
        line = orjson.dumps(row).decode()
        redacted = self._redactor.redact(line)
        if redacted != line:
            try:
                orjson.loads(redacted)
            except orjson.JSONDecodeError:
                return orjson.dumps({"n": row["n"], "at": row["at"], "kind": WITHHELD})
        return redacted.encode()

    def _lose(self, count: int, why: str) -> None:
        with self._counting:
            is_first = not self._untold
            self.lost += count
            self._untold += count
        if is_first:
            log.warning("evidence_not_written", why=why, folder=str(self.folder))
