"""A person, a browser and a real daemon: talk, watch the work, and nothing else is loaded."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fakes.browser import needs_browser, on_its_loop
from fakes.page_story import PageStory, open_story
from playwright.async_api import Browser, expect

pytestmark = [needs_browser, on_its_loop, pytest.mark.timeout(120)]
PHONE = {"width": 320, "height": 640}
SECONDS = re.compile(r"\b\d+ s\b")


async def test_answer_appears_without_a_reload(tmp_path: Path, browser: Browser) -> None:
    async with open_story(tmp_path, browser) as story:
        page = await story.open("/")
        await page.get_by_label("Message Geode").fill("what is 6 * 7?")
        await page.get_by_role("button", name="Send").click()
        await page.wait_for_url("**/rooms/room/*")
        await expect(page.locator("article.ours")).to_contain_text("6 * 7 = 42")
        await page.evaluate("window.isSame = true")
        await page.get_by_label("Message Geode").fill("and what is 2 + 2?")
        await page.keyboard.press("Enter")

        await expect(page.locator("article.ours").last).to_contain_text("2 + 2 = 4")
        assert await page.evaluate("window.isSame")
        await expect(page.locator("article.mine")).to_have_count(2)
        await expect(page.locator("[data-working]")).to_be_hidden()
        await expect(page.locator(".mark:visible")).to_have_count(0)
        await expect(page.locator("nav [aria-current=page]")).to_contain_text("6 * 7")


async def test_work_is_seen_while_it_runs_and_stops_at_a_press(
    tmp_path: Path, browser: Browser
) -> None:
    async with open_story(tmp_path, browser) as story:
        page = await story.begin("slow 30, then what is 6 * 7?")
        await expect(page.locator("[data-status]")).to_have_text(SECONDS)
        await expect(page.locator("article[data-kind=progress]")).to_have_count(1)
        await expect(page.locator("article.mine > .mark")).to_be_visible()
        await page.get_by_role("button", name="Stop").click()

        await expect(page.locator("[data-working]")).to_be_hidden()
        await expect(page.get_by_text("I am stopping.", exact=True)).to_be_visible()
        await expect(page.locator("article[data-kind=progress]")).to_have_count(0)


async def test_reload_in_the_middle_of_a_turn_shows_the_same_conversation(
    tmp_path: Path, browser: Browser
) -> None:
    async with open_story(tmp_path, browser) as story:
        page = await story.begin("slow 3, then what is 6 * 7?")
        await expect(page.locator("article[data-kind=progress]")).to_have_count(1)
        await page.reload()

        await expect(page.locator("article[data-kind=answer]")).to_contain_text("6 * 7 = 42")
        await expect(page.locator("article")).to_have_count(2)


async def test_no_page_scrolls_sideways_on_a_phone(tmp_path: Path, browser: Browser) -> None:
    async with open_story(tmp_path, browser) as story:
        page = await story.begin("what is 6 * 7? " + "w" * 300, viewport=PHONE)
        await expect(page.locator("article.ours")).to_have_count(1)
        for path in (page.url, "/rooms/room", "/operator", "/rooms/nowhere"):
            await page.goto(story.address + path.removeprefix(story.address))
            width = await page.evaluate("document.documentElement.scrollWidth")
            assert (path, width) == (path, PHONE["width"])
        story.complaints.clear()  # The browser's own word about a status of 404.


async def test_keyboard_alone_is_enough(tmp_path: Path, browser: Browser) -> None:
    async with open_story(tmp_path, browser) as story:
        page = await story.open("/")
        await page.evaluate("document.activeElement.blur()")
        await tab_to(story, "text")
        await page.keyboard.type("what is 6 * 7?")
        await page.keyboard.press("Enter")

        await page.wait_for_url("**/rooms/room/*")
        await expect(page.locator("article.ours")).to_contain_text("6 * 7 = 42")


async def tab_to(story: PageStory, element_id: str) -> None:
    """Press Tab until that element has the focus."""
    for _ in range(60):
        await story.page.keyboard.press("Tab")
        if await story.page.evaluate("document.activeElement.id") == element_id:
            return
    raise AssertionError(f"#{element_id} is not reached")
