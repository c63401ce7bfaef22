"""The files of evidence: one a UTC day, for their owner alone, each line whole or closed."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, cast

import orjson

FILE_MODE = 0o600
FOLDER_MODE = 0o700
TAIL_BYTES = 65_536
"""Many times the longest line."""
FILES_READ_MAX = 8
"""Of the newest ones the highest number counts: a clock that was set back names older days."""
_NAME = re.compile(r"evidence-(\d{4}-\d{2}-\d{2})\.jsonl")


def name_file(folder: Path, at_us: int) -> Path:
    """The file of the day."""
    return folder / f"evidence-{datetime.fromtimestamp(at_us // 1_000_000, UTC):%Y-%m-%d}.jsonl"


def list_files(folder: Path) -> list[Path]:
    """Every file of evidence, oldest day first."""
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if _NAME.fullmatch(path.name))


def read_number(folder: Path) -> int:
    """The number of the last row that was written whole; 0: none was. Raises `OSError`."""
    return max((_read_last(path) for path in list_files(folder)[-FILES_READ_MAX:]), default=0)


def append_lines(path: Path, lines: Sequence[bytes]) -> None:
    """Put lines behind what is there, a torn last line closed before; raises `OSError`."""
    path.parent.mkdir(mode=FOLDER_MODE, exist_ok=True)
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(path, flags, FILE_MODE)
    try:
        found = os.fstat(descriptor)
        if found.st_mode & 0o777 != FILE_MODE:
            os.fchmod(descriptor, FILE_MODE)
        is_torn = found.st_size > 0 and os.pread(descriptor, 1, found.st_size - 1) != b"\n"
        left = memoryview((b"\n" if is_torn else b"") + b"".join(line + b"\n" for line in lines))
        while left:
            left = left[os.write(descriptor, left) :]
    finally:
        os.close(descriptor)


def prune_files(folder: Path, before: date) -> int:
    """Drop the days before that one; how many went. Raises `OSError`."""
    old = [path for path in list_files(folder) if path.name < f"evidence-{before:%Y-%m-%d}.jsonl"]
    for path in old:
        path.unlink(missing_ok=True)
    return len(old)


def _read_last(path: Path) -> int:
    with path.open("rb") as opened:
        opened.seek(max(0, opened.seek(0, os.SEEK_END) - TAIL_BYTES))
        lines = opened.read().split(b"\n")
    numbers = (_number_of(line) for line in reversed(lines))
    return next((number for number in numbers if number > 0), 0)


def _number_of(line: bytes) -> int:
    try:
        row: Any = orjson.loads(line)
    except orjson.JSONDecodeError:
        return 0
    number = cast("dict[str, Any]", row).get("n") if isinstance(row, dict) else None
    return number if isinstance(number, int) else 0
