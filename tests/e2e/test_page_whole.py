"""Files, cards and tabs on the page of a real daemon, and no barrier on any of its pages."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from fakes.browser import find_barriers, needs_browser, on_its_loop
from fakes.contract_desk import UNCERTAIN
from fakes.page_story import PageStory, open_story
from playwright.async_api import Browser, Page, expect
from sqlalchemy import insert, select

from geode.messages import ReceiptId, SessionId
from geode.ports import NoFailpoints, SystemClock
from geode.records.settling import ask_people
from geode.store import sessions
from geode.store.database import Store
from geode.store.tables import receipts
from geode.store.tables import sessions as session_rows

pytestmark = [needs_browser, on_its_loop, pytest.mark.timeout(150)]
NOTES = b"the heron stands in the reeds\n"


async def leave_effect_uncertain(folder: Path) -> None:
    """What a crash in the middle of a tool leaves: an effect that nobody knows the outcome of."""
    store = Store.open(folder / "geode.db", SystemClock(), NoFailpoints())

    def unit(tx: Any) -> None:
        session_id = SessionId(tx.execute(select(session_rows.c.id)).scalar_one())
        tx.execute(insert(receipts), UNCERTAIN | {"session_id": session_id})
        ask_people(tx, ReceiptId("r1"), "", SystemClock().now_us())
        assert sessions.find_thread(tx, session_id)

    await store.write("uncertain", unit)
    await store.close()


async def read_state(folder: Path) -> str:
    store = Store.open(folder / "geode.db", SystemClock(), NoFailpoints())
    found = await store.read(lambda tx: tx.execute(select(receipts.c.state)).scalar_one())
    await store.close()
    return str(found)


async def say(page: Page, words: str) -> None:
    await page.locator("#text").fill(words)
    await page.keyboard.press("Enter")


async def begin_with_file(story: PageStory) -> Page:
    page = await story.open("/")
    await page.set_input_files(
        "[data-files]", [{"name": "notes.txt", "mimeType": "text/plain", "buffer": NOTES}]
    )
    await page.locator("#text").fill("read attachments/notes.txt")
    await page.get_by_role("button", name="Send").click()
    await page.wait_for_url("**/rooms/room/*")
    return page


async def test_file_that_is_sent_is_read_by_the_agent_and_can_be_fetched_again(
    tmp_path: Path,
    browser: Browser,
) -> None:
    async with open_story(tmp_path, browser) as story:
        page = await begin_with_file(story)
        await expect(page.locator("article.ours")).to_contain_text("heron stands in the reeds")
        async with page.expect_download() as waiting:
            await page.locator("article.mine .files a").click()
        download = await waiting.value

        assert download.suggested_filename == "notes.txt"
        fetched = await asyncio.to_thread(Path(await download.path()).read_bytes)
        assert fetched == NOTES


async def test_card_is_settled_at_a_press_and_every_tab_shows_it(
    tmp_path: Path, browser: Browser
) -> None:
    async with open_story(tmp_path, browser) as story:
        page = await story.begin("what is 6 * 7?")
        await expect(page.locator("article.ours")).to_contain_text("42")
        other = await story.open(page.url.removeprefix(story.address))
        await leave_effect_uncertain(tmp_path)
        for tab in (page, other):
            await expect(tab.get_by_role("button", name="It happened")).to_be_visible(
                timeout=60_000
            )
        await page.get_by_role("button", name="It happened").click()

        for tab in (page, other):
            await expect(tab.get_by_role("button", name="It happened")).to_have_count(0)
            await expect(tab.locator(".card")).to_contain_text("local")
        assert await read_state(tmp_path) == "reconciled"


async def test_two_tabs_show_the_same_messages_once(tmp_path: Path, browser: Browser) -> None:
    async with open_story(tmp_path, browser) as story:
        page = await story.begin("what is 6 * 7?")
        await expect(page.locator("article.ours")).to_contain_text("42")
        other = await story.open(page.url.removeprefix(story.address))
        await say(other, "and what is 2 + 2?")
        await expect(page.locator("article.ours").last).to_contain_text("2 + 2 = 4")
        await say(page, "and what is 3 + 3?")
        await expect(other.locator("article.ours").last).to_contain_text("3 + 3 = 6")

        ids = "all => all.map(a => a.dataset.id)"
        both = [await tab.locator("article").evaluate_all(ids) for tab in (page, other)]
        assert both[0] == both[1] == sorted(set(both[0]))
        assert len(both[0]) == 6


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_no_page_of_the_daemon_has_a_barrier(
    tmp_path: Path, browser: Browser, scheme: str
) -> None:
    async with open_story(tmp_path, browser) as story:
        page = await begin_with_file(story)
        await page.emulate_media(color_scheme=scheme)  # pyright: ignore[reportArgumentType]
        await expect(page.locator("article.ours")).to_contain_text("heron")
        await leave_effect_uncertain(tmp_path)
        await expect(page.locator(".card")).to_be_visible(timeout=60_000)
        found = {"thread": await look(page)}
        for path in ("/rooms/room", "/operator"):
            await page.goto(story.address + path)
            found[path] = await look(page)

        assert found == {"thread": [], "/rooms/room": [], "/operator": []}


async def look(page: Page) -> list[str]:
    """The barriers of a page as it is; its policy lets no script in, so axe comes by the back."""
    return await find_barriers(page)
