"""Brave's web search API, asked with the operator's key; pure."""

from __future__ import annotations

from geode.errors import SearchFailedError
from geode.messages import JsonObject
from geode.settings_secrets import Secret
from geode.tools.search.client import SearchAnswer, SearchRequest
from geode.tools.search.hits import HITS_MAX, Found, read_hits, text_at

WORDS_MAX = 50
"""Of a query; Brave refuses more."""


class BraveSite:
    """The service under one key."""

    def __init__(self, address: str, key: Secret) -> None:
        self._address = address
        self._key = key

    def ask_for(self, query: str) -> SearchRequest:
        """The request for one query."""
        words = query.split()
        if len(words) > WORDS_MAX:
            raise SearchFailedError(
                f"The query has {len(words)} words; the search service takes {WORDS_MAX}."
            )
        parameters = {"q": query, "count": str(HITS_MAX), "text_decorations": "false"}
        return SearchRequest(
            f"{self._address}/res/v1/web/search",
            parameters,
            {"X-Subscription-Token": self._key.reveal()},
        )

    def read(self, answer: SearchAnswer) -> Found:
        """What was found; raises `SearchFailedError` for every other answer."""
        if answer.status != 200:
            raise SearchFailedError(_explain(answer))
        pages = answer.read_object().get("web")
        # Without a page that fits, the answer has no such part.
        rows = pages.get("results") if isinstance(pages, dict) else None
        return Found(read_hits(rows, "description"))


def _explain(answer: SearchAnswer) -> str:
    code = _code_of(answer)
    if answer.status in {401, 403} or code == "SUBSCRIPTION_TOKEN_INVALID":
        return "The search service refuses its key; the operator can check web.search.api_key."
    if answer.status == 422:
        return "The search service does not take this query."
    return f"The search service answered HTTP {answer.status}."


def _code_of(answer: SearchAnswer) -> str:
    try:
        error = answer.read_object().get("error")
    except SearchFailedError:
        return ""
    row: JsonObject = error if isinstance(error, dict) else {}
    return text_at(row, "code")
