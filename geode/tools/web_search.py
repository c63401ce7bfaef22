"""`web_search`: titles, addresses and snippets from the search service that the operator chose."""

from __future__ import annotations

import math
from typing import Protocol

from geode.errors import SearchFailedError
from geode.messages import JsonObject, Mode
from geode.ports import Clock
from geode.steps import (
    Absence,
    DataClass,
    Done,
    Effect,
    Ending,
    NotApplied,
    SafetyPolicy,
    Tool,
    ToolContext,
)
from geode.tools import schema
from geode.tools.search.client import SearchAnswer, SearchRequest, ask
from geode.tools.search.hits import Found, render_found

POLICY = SafetyPolicy(
    effect=Effect.READ, data_class=DataClass.PUBLIC, approval="none", modes=frozenset(Mode)
)
ABSENCE = Absence(
    "search.not_configured",
    "web_search is not available: no search service is configured; "
    "an operator can write search under [web].",
)
KEY_MISSING = Absence(
    "search.key_missing",
    "web_search is not available: the key of the search service is missing; "
    "an operator can check web.search.api_key.",
)
QUERY_CHARS_MAX = 400
WAIT_S_MAX = 2.0
"""A service that asks to wait no longer than this is asked once more."""


class SearchSite(Protocol):
    """One search service."""

    def ask_for(self, query: str) -> SearchRequest:
        """The request for one query; raises `SearchFailedError`."""
        ...

    def read(self, answer: SearchAnswer) -> Found:
        """What was found; raises `SearchFailedError` for every other answer."""
        ...


def build(site: SearchSite, clock: Clock) -> Tool:
    """The tool over this service."""

    async def web_search(context: ToolContext, arguments: JsonObject) -> Ending:
        del context
        query = schema.text_of(arguments, "query").encode("utf-8", "replace").decode().strip()
        if not query:
            return NotApplied("The query is empty.")
        try:
            found = await _search(site, clock, query)
        except SearchFailedError as exc:
            return NotApplied(str(exc))
        return Done(render_found(found, query), names_urls=True)

    return Tool(
        name="web_search",
        description="Search the web: titles, URLs and snippets of up to 10 pages.",
        schema=schema.closed_object(
            ("query",), query=schema.string("words", chars_max=QUERY_CHARS_MAX, chars_min=1)
        ),
        policy=POLICY,
        handler=web_search,
        reaches_out=True,
    )


async def _search(site: SearchSite, clock: Clock, query: str) -> Found:
    request = site.ask_for(query)
    answer = await ask(request)
    if answer.status == 429 and (wait_s := read_wait_s(answer)) <= WAIT_S_MAX:
        # Calls of one batch run side by side, and free plans allow one in a second.
        await clock.sleep(wait_s)
        answer = await ask(request)
    if answer.status == 429:
        wait_s = read_wait_s(answer)
        when = f"in {wait_s:,.0f} s" if math.isfinite(wait_s) else "later"
        raise SearchFailedError(f"The search service was asked too often; it answers again {when}.")
    return site.read(answer)


def read_wait_s(answer: SearchAnswer) -> float:
    """How long the service asks to wait; without end when it does not say it in seconds.

    `Retry-After`, or the longest of `X-RateLimit-Reset` whose quota is used up.
    """
    told = answer.headers.get("retry-after", "").strip()
    if told.isascii() and told.isdecimal() and len(told) < 9:
        return float(told)
    resets = _numbers(answer.headers.get("x-ratelimit-reset", ""))
    left = _numbers(answer.headers.get("x-ratelimit-remaining", ""))
    if not resets:
        return math.inf
    spent = [
        reset for number, reset in enumerate(resets) if number < len(left) and left[number] == 0
    ]
    return max(spent) if spent else min(resets)


def _numbers(header: str) -> list[float]:
    parts = [part.strip() for part in header[:200].split(",")]
    return [float(part) for part in parts if part.isascii() and part.isdecimal()]
