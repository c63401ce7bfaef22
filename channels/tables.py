"""Draws a table as text of fixed width: pure, one column per cell, wide characters counted."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence


def draw_table(rows: Sequence[Sequence[str]]) -> str:
    """The rows as lines of equal columns, the first one ruled off; empty without rows."""
    if not rows:
        return ""
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    lines = [" | ".join(map(_padded, row, widths)).rstrip() for row in rows]
    rule = "-+-".join("-" * width for width in widths)
    return "\n".join([lines[0], rule, *lines[1:]])


def _padded(cell: str, width: int) -> str:
    return cell + " " * (width - _width(cell))


def _width(text: str) -> int:
    """Columns in a fixed-width font: wide East Asian characters take two, marks none."""
    return sum(
        2 if unicodedata.east_asian_width(char) in "WF" else unicodedata.combining(char) == 0
        for char in text
    )
