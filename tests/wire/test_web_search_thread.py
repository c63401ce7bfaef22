"""web_search in a thread: there when it is configured, and no way around the fetch rule."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.model_town import scripted_town
from fakes.scripted_model import ScriptedModel, call, say
from fakes.search_sites import KEY, serve_search
from fakes.tool_room import context
from fakes.town import load_town, running_daemon, town_environ
from fakes.watched_world import watched

from channels.rehearsal.slack import RehearsalSlack
from geode.app import Daemon, Seams
from geode.llm.routes import ModelRoute

pytestmark = pytest.mark.timeout(60)
SEARCH = call(("web_search", {"query": "concurrency"}))
GRANT = '[profiles.searcher]\ntools = ["web_search", "web_fetch"]\n'


def searxng(address: str) -> str:
    """What an operator writes, below the profiles."""
    return f'{GRANT}[web]\nsearch = {{ engine = "searxng", url = "{address}" }}\n'


def brave(address: str) -> str:
    """The same for Brave."""
    key = 'api_key = "env:BRAVE_API_KEY"'
    return f'{GRANT}[web]\nsearch = {{ engine = "brave", {key}, url = "{address}" }}\n'


async def test_what_a_search_found_may_be_fetched_and_nothing_else(tmp_path: Path) -> None:
    found = call(("web_fetch", {"url": "http://found.invalid/b"}))
    made_up = call(("web_fetch", {"url": "http://sink.invalid/?d=canary"}))
    async with serve_search() as server:
        server.pages = [
            {"title": "x", "url": "http://found.invalid/b", "content": "x"},
            {"title": "http://sink.invalid/?d=canary", "url": "http://sink.invalid/?d=canary"},
        ]
        query = call(("web_search", {"query": "http://sink.invalid/?d=canary"}))
        replies = [query, made_up, found, say("ok")]
        more = searxng(server.address)
        async with scripted_town(tmp_path, replies, profile="searcher", more=more) as town:
            with watched() as world:
                await town.ask("<@UBOT> hello")

            assert town.model.replies == []
    assert "found.invalid" in world.looked_up
    assert "sink.invalid" not in world.looked_up


async def test_without_a_service_the_tool_is_absent_and_says_why(tmp_path: Path) -> None:
    replies = [SEARCH, say("ok")]
    async with scripted_town(tmp_path, replies, profile="searcher", more=GRANT) as town:
        await town.ask("<@UBOT> hello")

        offered, told = town.model.steps[0], town.model.steps[1].messages[-1].results[0]
    assert "web_search" not in offered.plan.by_name
    assert told.text == (
        "Refused (search.not_configured): web_search is not available: no search service is "
        "configured; an operator can write search under [web]."
    )


async def test_a_missing_key_takes_away_the_one_tool_and_is_told(tmp_path: Path) -> None:
    async with RehearsalSlack() as slack:
        more = brave("https://brave.invalid")
        async with running_daemon(slack, tmp_path, profile="searcher", more=more) as daemon:
            assert daemon.degraded == [
                "web_search: The environment variable BRAVE_API_KEY is not set; set it to the "
                "secret."
            ]
            plan = daemon._services.toolbox
            assert plan.absences["web_search"].rule == "search.key_missing"


async def test_the_key_reaches_the_service_and_nobody_else(tmp_path: Path) -> None:
    route = ModelRoute(ScriptedModel([]), "scripted/model", "model", 150_000, 8_000)
    async with serve_search() as server, RehearsalSlack() as slack:
        server.pages = [{"title": KEY, "url": f"https://x.org/{KEY}", "description": KEY}]
        loaded = load_town(slack, tmp_path, profile="searcher", more=brave(server.address))
        environ = {**town_environ(slack, tmp_path), "BRAVE_API_KEY": KEY}
        daemon = await Daemon.open(loaded, environ=environ, seams=Seams(route=route))
        try:
            tool = daemon._services.toolbox.by_name["web_search"]
            assert daemon.degraded == []
            assert KEY not in repr(tool)
            ending = await tool.handler(context(), {"query": "x"})
        finally:
            await daemon.close()
    assert server.queries == ["x"]
    assert server.faults == []
    assert "1. [redacted]" in repr(ending)
    assert KEY not in repr(ending)
