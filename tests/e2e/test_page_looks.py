"""Every page in a real browser: fits any width, has no barrier, and runs nothing that was said."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio
from fakes.browser import find_barriers, needs_browser, on_its_loop
from fakes.page_attacks import ATTACKS
from fakes.page_host import PATHS, TALK, PageHost, begin_talk, open_host
from fakes.page_html import ME, answer, say
from playwright.async_api import Browser

pytestmark = [needs_browser, on_its_loop, pytest.mark.timeout(90)]


@pytest_asyncio.fixture(loop_scope="session")
async def host(browser: Browser) -> AsyncGenerator[PageHost]:
    """Every page there is; their consoles must have stayed silent."""
    async with open_host(browser) as host:
        host.messages, host.status = begin_talk(), "reading · 3 s"
        yield host
        assert host.complaints == []


@pytest.mark.parametrize("width", [320, 768, 1920])
async def test_no_page_scrolls_sideways(host: PageHost, width: int) -> None:
    page = await host.open(viewport={"width": width, "height": 640})
    for path in PATHS:
        await page.goto(host.address + path)
        shown = await page.evaluate("document.documentElement.scrollWidth")
        log = await page.evaluate(
            "(e => e ? e.scrollWidth - e.clientWidth : 0)(document.querySelector('[data-scroll]'))"
        )
        assert (path, shown, log) == (path, width, 0)


async def test_text_of_twice_the_size_still_fits(host: PageHost) -> None:
    page = await host.open(viewport={"width": 640, "height": 640}, device_scale_factor=2)
    await page.evaluate("document.documentElement.style.fontSize = '32px'")

    assert await page.evaluate("document.documentElement.scrollWidth") == 640


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_no_page_has_a_barrier(host: PageHost, scheme: str) -> None:
    for size in ({"width": 1280, "height": 800}, {"width": 320, "height": 640}):
        # axe is put into the page from outside, which the policy of the page forbids to anybody.
        page = await host.open("/login", color_scheme=scheme, viewport=size, bypass_csp=True)
        for path in PATHS:
            await page.goto(host.address + path)
            assert (path, await find_barriers(page)) == (path, [])


async def test_everything_that_is_pressed_is_large_enough(host: PageHost) -> None:
    page = await host.open()
    small = await page.evaluate(
        """() => [...document.querySelectorAll("button, summary, .button, .attach, nav a")]
            .map(e => [e.textContent.trim(), e.getBoundingClientRect()])
            .filter(([_, box]) => box.width && (box.width < 24 || box.height < 24))
            .map(([words]) => words)"""
    )

    assert small == []


async def test_nothing_that_was_said_runs_or_is_loaded(host: PageHost) -> None:
    host.messages = [
        said
        for number, attack in enumerate(ATTACKS)
        for said in (
            answer(2 * number, attack),
            say(2 * number + 1, {"text": attack}, ME),
        )
    ]
    page = await host.open()
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    for message in host.messages:
        host.put(message)
    host.put(answer(9_999, "the last"))
    await page.wait_for_selector("#m-9999")

    assert await page.locator("article").count() == len(host.messages)
    assert (
        await page.evaluate("document.querySelectorAll('article script, article img').length") == 0
    )
    assert dialogs == []
    assert page.url == host.address + TALK


async def test_motion_stops_for_whoever_asked_for_that(host: PageHost) -> None:
    page = await host.open(reduced_motion="reduce")
    name = "getComputedStyle(document.querySelector('.pulse')).animationName"

    assert await page.evaluate(name) == "none"
