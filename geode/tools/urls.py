"""Finds URLs in text and gives each its one normal form, to compare what was named; pure."""

from __future__ import annotations

import re

from geode.errors import FetchRefusedError
from geode.tools.fetch.url import URL_CHARS_MAX, parse_url

URLS_MAX = 1_000
"""How many URLs one text can name."""

_ALL_PORTS = range(1, 65_536)
_CANDIDATE = re.compile(
    r"(?:https?://|(?<![\w@./-])www\.)[^\s<>\"\\^`{|}\x00-\x20\x7f。，、！？；：「」『』（）【】]{1,4096}",
    re.IGNORECASE,
)
_CLOSERS = {")": "(", "]": "[", "'": "'"}
_TRAILING = ".,;:!?*_~'…"
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")


def normalise_url(text: str) -> str | None:
    """The URL's one form, fragment dropped; None when it is not a URL that could be fetched."""
    try:
        return parse_url(text, _ALL_PORTS).text
    except FetchRefusedError:
        return None


def find_urls(text: str) -> tuple[str, ...]:
    """Every http and https URL that stands in the text, normalised, in order, each once.

    Punctuation and brackets that belong to the sentence around a URL are left out; `www.` without
    a scheme counts as http.
    """
    found: dict[str, None] = {}
    for match in _CANDIDATE.finditer(text):
        for candidate in _readings(match.group()):
            url = normalise_url(candidate)
            if url is not None:
                found[url] = None
        if len(found) >= URLS_MAX:
            break
    return tuple(found)[:URLS_MAX]


def _readings(candidate: str) -> list[str]:
    trimmed = _trim(candidate)
    if trimmed[:4].lower() == "www.":
        trimmed = f"http://{trimmed}"
    readings = [trimmed[:URL_CHARS_MAX]]
    # Feeds and pages write & as an entity; both readings stand in the text.
    if "&amp;" in trimmed:
        readings.append(trimmed.replace("&amp;", "&"))
    # Scripts without spaces run on after a URL, and a URL may hold such letters: both are read.
    if not trimmed.isascii():
        readings.append(_NOT_ASCII.split(trimmed, maxsplit=1)[0].rstrip(_TRAILING))
    return readings


def _trim(candidate: str) -> str:
    """Without the closing marks that were opened before the URL began."""
    depth = {"(": 0, "[": 0}
    for place, character in enumerate(candidate):
        if character in depth:
            depth[character] += 1
        elif character in ")]":
            opener = _CLOSERS[character]
            if depth[opener] == 0:
                return candidate[:place].rstrip(_TRAILING)
            depth[opener] -= 1
    return candidate.rstrip(_TRAILING)
