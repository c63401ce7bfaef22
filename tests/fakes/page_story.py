"""A real `geode serve` with its page in the machine's browser; every console must stay silent."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fakes.geode_command import Serving, serving
from playwright.async_api import Browser, ConsoleMessage, Page, expect

SEEN_S = 20.0
"""A daemon, a browser and other tests share the machine."""


@dataclass
class PageStory:
    """The daemon, the browser, and the page that was opened last."""

    daemon: Serving
    browser: Browser
    address: str
    complaints: list[str] = field(default_factory=list)
    """Errors and warnings of any page's console, and requests to elsewhere."""
    pages: list[Page] = field(default_factory=list)

    @property
    def page(self) -> Page:
        """The page that was opened last."""
        return self.pages[-1]

    async def open(self, path: str = "/", **options: Any) -> Page:
        """A page of a browser of its own; options as of Playwright's `new_context`."""
        context = await self.browser.new_context(**options)
        context.set_default_timeout(SEEN_S * 1_000)
        page = await context.new_page()
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self._look(request.url))
        self.pages.append(page)
        await page.goto(self.address + path)
        return page

    async def begin(self, words: str, **options: Any) -> Page:
        """Begin a conversation in the room and stay in it."""
        page = await self.open("/", **options)
        await page.locator("#text").fill(words)
        await page.get_by_role("button", name="Send").click()
        await page.wait_for_url("**/rooms/room/*")
        return page

    async def close(self) -> None:
        """Close every page that was opened."""
        for page in self.pages:
            await page.context.close()

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def _look(self, url: str) -> None:
        if not url.startswith(self.address):
            self.complaints.append(f"asked {url}")


@asynccontextmanager
async def open_story(folder: Path, browser: Browser, **environ: str) -> AsyncGenerator[PageStory]:
    """A daemon without any configuration, for the length of the block."""
    environ = {
        "GEODE_HOME": str(folder),
        "HOME": str(folder),
        "GEODE_CHANNELS__WEB__LISTEN": "127.0.0.1:0",
        **environ,
    }
    expect.set_options(timeout=SEEN_S * 1_000)
    async with serving(environ) as daemon:
        line = await daemon.wait_line("web is up: open ")
        story = PageStory(daemon, browser, line.rpartition(" ")[2])
        try:
            yield story
        finally:
            await story.close()
        assert story.complaints == []
