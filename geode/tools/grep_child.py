"""Searches files beneath a given descriptor; runs as a child, as a pattern may never end."""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator

from geode.errors import ToolError
from geode.tools import beneath
from geode.tools.child_limits import limit_child
from geode.tools.content import name_binary
from geode.tools.output import escape_controls
from geode.tools.paths import is_reserved, parse_path, show_name

FILE_BYTES_MAX = 8_000_000
LINE_CHARS_MAX = 4_000
SHOWN_CHARS_MAX = 300
"""What is shown of a matching line."""

Matcher = Callable[[str], "int | None"]


def main() -> None:
    """Read one order from stdin and write one JSON pair per line."""
    limit_child(cpu_s=10, memory_bytes=1 << 30)
    order = json.load(sys.stdin)
    try:
        find, note = compile_matcher(order["pattern"])
        matches = search(order["base"], order["path"], find)
        _write_matches(matches, order["matches_max"])
        if note:
            _write("note", note)
    except ToolError as exc:
        _write("refused", str(exc))


def compile_matcher(pattern: str) -> tuple[Matcher, str]:
    """The start of a match in a line, by expression or, when that is invalid, by plain text."""
    composed = unicodedata.normalize("NFC", pattern)
    try:
        expression = re.compile(composed)
    except (re.error, OverflowError, RecursionError, MemoryError) as exc:
        note = f"[the pattern is not a valid expression ({exc}); it was searched as plain text]"
        return (lambda line: line.find(composed) if composed in line else None), note

    def find(line: str) -> int | None:
        match = expression.search(line)
        return None if match is None else match.start()

    return find, ""


def search(base: int, place: str, find: Matcher) -> Iterator[str]:
    """Every matching line as `path:line: text`, in the order of the names."""
    path = parse_path(place)
    *parents, name = path.given or (".",)
    with beneath.open_folder(base, tuple(parents)) as folder:
        status = None if name == "." else beneath.look_up(folder, name)
        if status is not None and not beneath.is_folder(status):
            with beneath.open_file(folder, name, path.text) as descriptor:
                yield from _search_file(descriptor, path.text, find)
            return
    with beneath.open_folder(base, path.given) as folder:
        for entry in beneath.walk(folder, path.names):
            if not entry.is_file or is_reserved(entry.name):
                continue
            shown = show_name("/".join(entry.names))
            try:
                with beneath.open_file(entry.folder, entry.name, shown) as descriptor:
                    yield from _search_file(descriptor, shown, find)
            except ToolError:
                continue


def _search_file(descriptor: int, shown: str, find: Matcher) -> Iterator[str]:
    raw = beneath.read_at(descriptor, 0, FILE_BYTES_MAX)
    if name_binary(raw) is not None:
        return
    for number, line in enumerate(raw.decode("utf-8", "replace").split("\n"), 1):
        text = line[:LINE_CHARS_MAX]
        start = find(text if text.isascii() else unicodedata.normalize("NFC", text))
        if start is not None:
            yield f"{shown}:{number}: {_excerpt(text.rstrip(), start)}"


def _excerpt(line: str, start: int) -> str:
    if len(line) <= SHOWN_CHARS_MAX:
        return escape_controls(line)
    begin = max(0, min(start - SHOWN_CHARS_MAX // 3, len(line) - SHOWN_CHARS_MAX))
    cut = line[begin : begin + SHOWN_CHARS_MAX]
    return ("…" if begin else "") + escape_controls(cut) + "…"


def _write_matches(matches: Iterator[str], matches_max: int) -> None:
    for number, match in enumerate(matches, 1):
        if number > matches_max:
            _write("note", f"[… only the first {matches_max} matches are shown …]")
            return
        _write("match", match)


def _write(kind: str, text: str) -> None:
    # Flushed each time: what was found counts even if the next line never ends.
    sys.stdout.write(json.dumps([kind, text]) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
