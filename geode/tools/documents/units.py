"""What a document is read as: a headline, then pages, paragraphs or rows with their numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

CELL_CHARS_MAX = 2_000
CELLS_MAX = 256
"""Of one row that are shown."""


@dataclass(frozen=True, slots=True)
class Unit:
    """The smallest piece that a reader can go on from."""

    number: int
    """As `offset` names it, from one."""
    text: str
    sheet: str = ""
    """The sheet that the number counts in."""


@dataclass(frozen=True, slots=True)
class Document:
    """An open document; its units are read while they are asked for."""

    headline: str
    noun: str
    """What a unit is: page, paragraph, row."""
    units: Iterator[Unit]


def write_row(cells: list[str]) -> str:
    """One row of a table; empty for a row in which nothing stands."""
    shown = [_write_cell(cell) for cell in cells[:CELLS_MAX]]
    if len(cells) > CELLS_MAX and any(cell.strip() for cell in cells[CELLS_MAX:]):
        shown.append(f"… ({len(cells) - CELLS_MAX:,} more columns)")
    while shown and not shown[-1]:
        shown.pop()
    return " | ".join(shown)


def _write_cell(text: str) -> str:
    line = " ".join(text[: CELL_CHARS_MAX * 2].split()).replace("|", "\\|")
    return line if len(line) <= CELL_CHARS_MAX else f"{line[:CELL_CHARS_MAX]}…"
