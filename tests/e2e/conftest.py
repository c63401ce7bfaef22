"""One browser for all tests of a worker: starting it costs more than most of them."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest_asyncio
from fakes.browser import open_browser
from playwright.async_api import Browser


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncGenerator[Browser]:
    """The machine's browser; each page that a test opens in it shares nothing with another."""
    async with open_browser() as opened:
        yield opened
