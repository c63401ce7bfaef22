"""A SearXNG instance of the operator's, asked through its JSON search API; pure."""

from __future__ import annotations

from geode.errors import SearchFailedError
from geode.messages import JsonObject
from geode.tools.search.client import SearchAnswer, SearchRequest
from geode.tools.search.hits import Found, clean_line, read_hits

NAMES_MAX = 5


class SearxngSite:
    """One instance; it needs `json` among `search.formats` of its settings.yml."""

    def __init__(self, address: str) -> None:
        self._address = address

    def ask_for(self, query: str) -> SearchRequest:
        """The request for one query."""
        return SearchRequest(f"{self._address}/search", {"q": query, "format": "json"})

    def read(self, answer: SearchAnswer) -> Found:
        """What was found; raises `SearchFailedError` for every other answer."""
        if answer.status == 403:
            raise SearchFailedError(
                "The search service does not give JSON; the operator can add json to "
                "search.formats in its settings.yml."
            )
        if answer.status != 200:
            raise SearchFailedError(f"The search service answered HTTP {answer.status}.")
        found = answer.read_object()
        if not isinstance(found.get("results"), list):
            raise SearchFailedError("The search service answered JSON of an unknown form.")
        return Found(read_hits(found["results"], "content"), _notes_of(found))


def _notes_of(found: JsonObject) -> tuple[str, ...]:
    """Which sources did not answer: an empty result may mean that nobody was asked."""
    rows = found.get("unresponsive_engines")
    names = [
        clean_line(str(row[0]), 40)
        for row in (rows if isinstance(rows, list) else [])
        if isinstance(row, list) and row
    ]
    if not names:
        return ()
    shown = ", ".join(names[:NAMES_MAX]) + (" and others" if len(names) > NAMES_MAX else "")
    return (f"Sources that did not answer: {shown}.",)
