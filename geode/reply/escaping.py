"""Text that people must be able to judge: nothing in it is invisible or reorders it; pure."""

from __future__ import annotations

import re
import unicodedata

_UNSEEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
# Letters and marks that draw nothing, and blanks that are no plain space.
_BLANK = re.compile(
    "[\u00a0\u034f\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200a\u202f\u205f\u2800"
    "\u3000\u3164\uffa0\ufe00-\ufe0f\U000e0100-\U000e01ef]"
)
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>()#+!|~-])")
NAME_CHARS_MAX = 80


def escape_unseen(text: str) -> str:
    """The text with every character that is not seen as itself written as `\\uXXXX`."""
    return "".join(_escape(c) if _is_unseen(c) else c for c in text)


def escape_markdown(text: str) -> str:
    """Plain text as Markdown that says exactly it."""
    return _MARKDOWN.sub(r"\\\1", text)


def quote_name(name: str) -> str:
    """A person's display name as inert Markdown on one line."""
    return escape_markdown(escape_unseen(" ".join(name.split()))[:NAME_CHARS_MAX])


def _is_unseen(character: str) -> bool:
    if character in " \n" or "!" <= character <= "~":
        return False
    return unicodedata.category(character) in _UNSEEN or _BLANK.match(character) is not None


def _escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(
        f"\\u{int.from_bytes(units[at : at + 2], 'big'):04x}" for at in range(0, len(units), 2)
    )
