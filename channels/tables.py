"""Draws a table as text of fixed width: pure, one column per cell, or one line per cell."""

from __future__ import annotations

from collections.abc import Sequence

from wcwidth import wcswidth

COLUMNS_MAX = 72
"""A wider table would be wrapped in the middle of its rows by every client on a small screen."""


def draw_table(rows: Sequence[Sequence[str]]) -> str:
    """The rows as lines of equal columns, the first one ruled off; empty without rows.

    One that is too wide is told row by row instead, each cell under its column's name.
    """
    if not rows:
        return ""
    widths = [max(map(width_of, column)) for column in zip(*rows, strict=True)]
    if sum(widths) + 3 * (len(widths) - 1) > COLUMNS_MAX and len(rows) > 1:
        return _tell_rows(rows)
    lines = [" | ".join(map(_padded, row, widths)).rstrip() for row in rows]
    rule = "-+-".join("-" * width for width in widths)
    return "\n".join([lines[0], rule, *lines[1:]])


def width_of(text: str) -> int:
    """Columns in a fixed-width font: wide East Asian characters and emoji take two, marks none."""
    found = wcswidth(text)
    return found if found >= 0 else len(text)


def _tell_rows(rows: Sequence[Sequence[str]]) -> str:
    head, *below = rows
    told = ["\n".join(map(_tell_cell, head, row)) for row in below]
    return "\n\n".join(told)


def _tell_cell(name: str, cell: str) -> str:
    return f"{name}: {cell}".strip() if name else cell


def _padded(cell: str, width: int) -> str:
    return cell + " " * (width - width_of(cell))
