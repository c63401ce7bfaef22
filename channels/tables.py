"""Draws a table in a fixed-width font, for platforms that know none; pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence


def draw_table(rows: Sequence[Sequence[str]]) -> str:
    """The rows with aligned columns, the first as the head; every row has as many cells."""
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
