"""What changed between two definitions of a tool, so that a person can judge every character."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator

from geode.reply.escaping import escape_unseen
from geode.store.pinned_tools import Pin

LINE_CHARS_MAX = 160


def compare_definitions(pin: Pin) -> list[str]:
    """The accepted and the offered definition, line by line; nothing is cut, nothing unseen."""
    lines = difflib.unified_diff(
        list(_lines(pin.definition)), list(_lines(pin.offered)), "accepted", "offered", n=2
    )
    return [line.rstrip("\n") for line in lines]


def _lines(definition: str) -> Iterator[str]:
    written = json.dumps(json.loads(definition), indent=2, sort_keys=True, ensure_ascii=False)
    for line in written.split("\n"):
        seen = escape_unseen(line)
        for start in range(0, max(len(seen), 1), LINE_CHARS_MAX):
            yield seen[start : start + LINE_CHARS_MAX]
