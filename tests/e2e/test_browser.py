"""The browser of the machine can be driven, and the accessibility check can fail."""

from __future__ import annotations

from fakes.browser import find_barriers, needs_browser, on_its_loop
from playwright.async_api import Browser

pytestmark = [needs_browser, on_its_loop]
PAGE = '<html lang="en"><title>A page</title><main><h1>A page</h1>{}</main></html>'


async def test_barrier_in_a_page_is_found_and_named(browser: Browser) -> None:
    async with await browser.new_context() as context:
        page = await context.new_page()
        await page.set_content(PAGE.format("<p>words</p>"))
        before = await find_barriers(page)
        await page.set_content(PAGE.format('<img src="data:,">'))
        after = await find_barriers(page)

    assert before == []
    assert [barrier.partition(":")[0] for barrier in after] == ["image-alt"]
