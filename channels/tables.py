"""Draws a table as text of fixed width: pure, one column per cell, wide characters counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from wcwidth import width

Align = Literal["left", "right", "center"]
Rows = Sequence[Sequence[str]]
_GAP_COLUMNS = 3


def table_width(rows: Rows) -> int:
    """How many columns of a fixed-width font the drawing of these rows takes."""
    widths = _column_widths(rows)
    return sum(widths) + _GAP_COLUMNS * max(len(widths) - 1, 0)


def draw_table(rows: Rows, aligns: Sequence[Align] = ()) -> str:
    """The rows as lines of equal columns, the first one ruled off; empty without rows."""
    if not rows:
        return ""
    widths = _column_widths(rows)
    sides = (*aligns, *["left"] * (len(widths) - len(aligns)))
    lines = [" | ".join(map(_padded, row, widths, sides)).rstrip() for row in rows]
    rule = "-+-".join("-" * columns for columns in widths)
    return "\n".join([lines[0], rule, *lines[1:]])


def _column_widths(rows: Rows) -> list[int]:
    return [max(map(_width, column)) for column in zip(*rows, strict=True)]


def _padded(cell: str, columns: int, align: str) -> str:
    missing = columns - _width(cell)
    before = {"right": missing, "center": missing // 2}.get(align, 0)
    return " " * before + cell + " " * (missing - before)


def _width(text: str) -> int:
    """Columns in a fixed-width font: joined emoji and wide letters take two, marks none."""
    return width(text, control_codes="ignore")
