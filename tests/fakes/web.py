"""A small web on loopback: sites behind public-looking addresses, each connection recorded."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial

import aiohttp
from aiohttp import web

from geode.tools.fetch.client import FetchedPage, FetchRules, Pinned, fetch, open_connector

PUBLIC = "93.184.216.34"
Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Web:
    """Every name leads to the one loopback server; `names` says what a resolver would answer."""

    port: int
    names: dict[str, list[Sequence[str]]] = field(default_factory=dict)
    """Answers of one name in turn; the last one stays."""
    asked: list[str] = field(default_factory=list)
    opened: list[Pinned] = field(default_factory=list)
    """Connections that the checks let through."""
    requests: list[web.Request] = field(default_factory=list)

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        """The next answer for the name, PUBLIC for a name nobody set."""
        del port
        self.asked.append(host)
        answers = self.names.get(host, [[PUBLIC]])
        return answers.pop(0) if len(answers) > 1 else answers[0]

    def open(self, pinned: Pinned) -> aiohttp.BaseConnector:
        """A real connection, to the loopback server in place of the public address."""
        self.opened.append(pinned)
        return open_connector(replace(pinned, addresses=("127.0.0.1",), port=self.port))

    async def fetch(self, url: str, *, rules: FetchRules | None = None) -> FetchedPage:
        """The product's own fetch over this web."""
        return await fetch(url, resolver=self.resolve, opener=self.open, rules=rules)


@asynccontextmanager
async def serve_web(answer: Answer) -> AsyncGenerator[Web]:
    """A server that gives every request to `answer`; stopped at the end, open answers cut."""
    site = Web(port=0)
    runner = web.ServerRunner(web.Server(partial(_record, site, answer)), shutdown_timeout=0.1)
    await runner.setup()
    listener = web.TCPSite(runner, "127.0.0.1", 0)
    await listener.start()
    site.port = runner.addresses[0][1]
    try:
        yield site
    finally:
        await runner.cleanup()


async def _record(site: Web, answer: Answer, request: web.BaseRequest) -> web.StreamResponse:
    assert isinstance(request, web.BaseRequest)
    site.requests.append(request)  # pyright: ignore[reportArgumentType]
    return await answer(request)  # pyright: ignore[reportArgumentType]
