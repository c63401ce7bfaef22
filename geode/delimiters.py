"""Marks around quoted text that the text itself cannot forge, and long text cut; pure."""

from __future__ import annotations

import re
import unicodedata

_UNSEEN = frozenset({"Cf", "Cc", "Mn", "Me", "Cn", "Co", "Cs"})
_OPENERS = "<\uff1c\ufe64\u2039\u276e\u2329\u27e8\u3008\u02c2\u1438"
_OPENED = re.compile(f"[{_OPENERS}](?=([^{_OPENERS}]{{0,256}}))")
_LEAD = re.compile(r"[\W_]{0,8}")
# Letters of other alphabets that look like one of a mark's, in lower case.
_LOOKS_LIKE = str.maketrans(
    "\u0430\u0441\u0501\u0435\u0454\u0261\u0456\u04cf\u043c\u043f\u043e\u0440\u0455\u0442\u0443"
    "\u03b1\u03b5\u03b9\u03bc\u03bd\u03bf\u03c1\u03c4\u03c5\u03f2\u0578\u0585\u057d\u0131\u0251"
    "\u1d00\u1d04\u1d05\u1d07\u0262\u026a\u029f\u1d0d\u0274\u1d0f\u1d18\u0280\ua731\u1d1b\u1d1c\u028f"
    "\u2010\u2012\u2013\u2014\u2212_",
    "acdeegilmnopstyaeimnoptucnouiaacdegilmnoprstuy------",
)


def defuse(text: str, marks: tuple[str, ...]) -> str:
    """The text with everything that looks like a mark of these names made harmless.

    Other angle brackets stay as they are, so code keeps its form.
    """
    if "<" not in text and text.isascii():
        return text
    return _OPENED.sub(lambda found: "&lt;" if _is_mark(found[1], marks) else found[0], text)


def _is_mark(tail: str, marks: tuple[str, ...]) -> bool:
    """Whether what follows a bracket reads like the name of a mark, in whatever letters."""
    if not tail.isascii():
        letters = unicodedata.normalize("NFKD", tail)
        tail = "".join(c for c in letters if unicodedata.category(c) not in _UNSEEN)
    return _LEAD.sub("", tail, count=1).casefold().translate(_LOOKS_LIKE).startswith(marks)


def clip_middle(text: str, chars_max: int) -> str:
    """The text, or its beginning and end with the size of what is left out."""
    if len(text) <= chars_max:
        return text
    head = chars_max * 3 // 4
    tail = chars_max - head
    return f"{text[:head]}\n[… {len(text) - chars_max} characters left out …]\n{text[-tail:]}"
