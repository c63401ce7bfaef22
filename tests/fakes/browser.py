"""The machine's own browser and the accessibility rules, for tests that drive the page."""

from __future__ import annotations

import shutil
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page, async_playwright

CHROMIUM = shutil.which("chromium") or ""
"""Debian's browser. Playwright starts it by this path; its own browsers are never downloaded."""
ARGUMENTS = ("--no-sandbox", "--disable-dev-shm-usage")
"""As root in a container, where the browser has neither a sandbox nor much shared memory."""
needs_browser = pytest.mark.skipif(
    not CHROMIUM, reason="no chromium on this machine; .ci/run installs Debian's and fails on skips"
)
on_its_loop = pytest.mark.asyncio(loop_scope="session")
"""For every test and fixture that uses the shared browser: it lives on one loop."""
AXE = Path(sys.prefix, "share", "platform-schemas", "node_modules", "axe-core", "axe.min.js")


@cache
def read_axe() -> str:
    """axe-core as one script to run in a page; `make setup` installs it."""
    return AXE.read_text(encoding="utf-8")


@asynccontextmanager
async def open_browser() -> AsyncGenerator[Browser]:
    """The machine's Chromium without a window, for the length of the block."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=[*ARGUMENTS])
        try:
            yield browser
        finally:
            await browser.close()


async def find_barriers(page: Page) -> list[str]:
    """What axe calls serious or critical in the page as it is now: rule, sentence, elements."""
    await page.evaluate(read_axe())
    found: dict[str, Any] = await page.evaluate("axe.run()")
    return [
        f"{one['id']}: {one['help']} ({', '.join(str(node['target']) for node in one['nodes'])})"
        for one in found["violations"]
        if one["impact"] in {"serious", "critical"}
    ]
