"""Plain text for a terminal: aligned columns, nothing that a cell could do to the screen; pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

CELL_CHARS_MAX = 72
LAST_CHARS_MAX = 160


def show_text(value: object, chars_max: int = CELL_CHARS_MAX) -> str:
    """One printable line: control and direction characters are escaped, the rest is cut."""
    text = "".join(c if c.isprintable() else _escape(c) for c in str(value))
    return text if len(text) <= chars_max else f"{text[: chars_max - 1]}…"


def show_time(at_us: object) -> str:
    """UTC to the second, or a dash for never."""
    if not isinstance(at_us, int) or at_us <= 0:
        return "-"
    return f"{datetime.fromtimestamp(at_us // 1_000_000, UTC):%Y-%m-%d %H:%M:%S}"


def render_table(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Columns as wide as their widest cell, under headings; the last column may be longest."""
    cells = [list(headings)]
    for *row, last in rows:
        cells.append([*(show_text(cell) for cell in row), show_text(last, LAST_CHARS_MAX)])
    widths = [max(len(row[column]) for row in cells) for column in range(len(headings))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]
    return "\n".join(lines)


def render_pairs(pairs: Sequence[tuple[str, object]]) -> str:
    """One `name  value` line each, names aligned."""
    width = max((len(name) for name, _ in pairs), default=0)
    return "\n".join(f"{name.ljust(width)}  {show_text(value, 200)}" for name, value in pairs)


def _escape(character: str) -> str:
    if character in "\r\n\t":
        return " "
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
