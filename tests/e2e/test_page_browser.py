"""The page in a real browser: writing, live messages, cards, files, and the connection's end."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio
from fakes.browser import needs_browser, on_its_loop
from fakes.page_host import TALK, PageHost, begin_talk, open_host
from fakes.page_html import ME, answer, say
from playwright.async_api import Browser, expect

pytestmark = [needs_browser, on_its_loop, pytest.mark.timeout(60)]
COMPOSER = "#text"
FILES = "[data-files]"


@pytest_asyncio.fixture(loop_scope="session")
async def host(browser: Browser) -> AsyncGenerator[PageHost]:
    """A page with a conversation; its console must have stayed silent."""
    async with open_host(browser) as host:
        host.messages = begin_talk()
        yield host
        assert host.complaints == []


async def test_enter_sends_and_the_answer_appears_without_a_reload(host: PageHost) -> None:
    page = await host.open()
    await page.evaluate("window.isSame = true")
    await page.fill(COMPOSER, "hello")
    await page.press(COMPOSER, "Enter")
    posted = await host.wait_posts(1)
    host.put(say(10, {"text": "hello"}, ME))
    host.put(answer(12, "**the answer**"))
    host.put(answer(11, "in between"))

    await expect(page.locator("#m-0012 strong")).to_have_text("the answer")
    assert (posted.path, posted.fields["text"]) == (TALK, "hello")
    assert await page.input_value(COMPOSER) == ""
    ids = await page.locator("article").evaluate_all("all => all.map(a => a.dataset.id)")
    assert ids == sorted(ids)
    assert await page.evaluate("window.isSame")


async def test_keyboard_alone_writes_and_sends(host: PageHost) -> None:
    page = await host.open()
    await page.evaluate("document.activeElement.blur()")
    for _ in range(60):
        await page.keyboard.press("Tab")
        if await page.evaluate("document.activeElement.id") == "text":
            break
    await page.keyboard.type("one")
    await page.keyboard.press("Shift+Enter")
    await page.keyboard.type("two")
    await page.keyboard.press("Enter")

    assert (await host.wait_posts(1)).fields["text"].split() == ["one", "two"]


async def test_enter_that_chooses_a_word_of_an_input_method_sends_nothing(host: PageHost) -> None:
    page = await host.open()
    await page.fill(COMPOSER, "にほん")
    await page.dispatch_event(
        COMPOSER, "keydown", {"key": "Enter", "isComposing": True, "bubbles": True}
    )
    await page.press(COMPOSER, "Enter")
    await host.wait_posts(1)

    assert len(host.posted) == 1


async def test_refused_message_stays_with_its_files_and_its_key(host: PageHost) -> None:
    page = await host.open()
    host.refusal = "The file is larger than 20 MB."
    await page.fill(COMPOSER, "with a file")
    await page.set_input_files(FILES, [{"name": "a.txt", "mimeType": "", "buffer": b"x"}])
    await page.press(COMPOSER, "Enter")
    await expect(page.locator(".composer [role=alert]")).to_have_text(host.refusal)
    first = await host.wait_posts(1)
    host.refusal = ""
    host.complaints.clear()  # The browser's own word about a status of 400.
    await page.press(COMPOSER, "Enter")
    second = await host.wait_posts(2)

    assert first == second
    assert second.files == ("a.txt",)
    await expect(page.locator(".composer [role=alert]")).to_be_hidden()
    await expect(page.locator("[data-chosen]")).to_be_hidden()


async def test_each_message_has_a_key_of_its_own(host: PageHost) -> None:
    page = await host.open()
    for word in ("one", "two"):
        await page.fill(COMPOSER, word)
        await page.press(COMPOSER, "Enter")
        await expect(page.locator(COMPOSER)).to_have_value("")

    await host.wait_posts(2)
    assert len({posted.fields["key"] for posted in host.posted}) == 2


async def test_first_message_of_a_conversation_leads_to_it(host: PageHost) -> None:
    page = await host.open("/rooms/home")
    await page.fill(COMPOSER, "begin")
    await page.press(COMPOSER, "Enter")

    await page.wait_for_url(f"**{TALK}")
    assert (await host.wait_posts(1)).path == "/rooms/home"


async def test_chosen_files_are_listed_and_can_be_taken_back(host: PageHost) -> None:
    page = await host.open()
    files = [{"name": f"{n}.txt", "mimeType": "text/plain", "buffer": b"x"} for n in range(2)]
    await page.set_input_files(FILES, files[:1])
    await page.set_input_files(FILES, files[1:])
    await page.click("[aria-label='Remove 0.txt']")
    await page.fill(COMPOSER, "look")
    await page.click(".composer button[type=submit]")

    assert (await host.wait_posts(1)).files == ("1.txt",)


async def test_more_files_than_go_are_said_to_be_too_many(host: PageHost) -> None:
    page = await host.open()
    files = [{"name": f"{n}.txt", "mimeType": "text/plain", "buffer": b"x"} for n in range(12)]
    await page.set_input_files(FILES, files)

    await expect(page.locator(".composer [role=alert]")).to_contain_text("At most 10 files")
    await expect(page.locator("[data-chosen] li")).to_have_count(10)


async def test_slash_shows_commands_and_enter_takes_one(host: PageHost) -> None:
    page = await host.open()
    await page.type(COMPOSER, "/st")
    await expect(page.locator("[role=option]")).to_have_count(2)
    await page.press(COMPOSER, "ArrowDown")
    await page.press(COMPOSER, "Enter")

    await expect(page.locator(COMPOSER)).to_have_value("/stop")
    await expect(page.locator("[role=listbox]")).to_be_hidden()
    await page.press(COMPOSER, "Enter")
    assert (await host.wait_posts(1)).fields["text"] == "/stop"


async def test_status_line_brings_a_stop_button_and_takes_it_away(host: PageHost) -> None:
    page = await host.open()
    await expect(page.locator("[data-working]")).to_be_hidden()
    host.tell("status", {"line": "thinking · 3 s"})
    await expect(page.locator("[data-status]")).to_have_text("thinking · 3 s")
    await page.click("[data-stop] button")
    posted = await host.wait_posts(1)
    host.tell("status", {"line": ""})

    assert (posted.path, posted.fields["text"]) == (TALK, "/stop")
    await expect(page.locator("[data-working]")).to_be_hidden()


async def test_mark_event_shows_and_hides_the_working_mark(host: PageHost) -> None:
    page = await host.open()
    for is_on in (True, False):
        host.tell("mark", {"id": "0001", "is_on": is_on})
        await expect(page.locator("#m-0001 > .mark")).to_be_visible(visible=is_on)


async def test_progress_row_becomes_the_answer_in_its_place(host: PageHost) -> None:
    page = await host.open()
    host.put(answer(4, "finished"))

    await expect(page.locator("#m-0004 .words")).to_have_text("finished")
    await expect(page.locator("#m-0004 .steps")).to_have_count(0)
    await expect(page.locator("#m-0004")).to_have_count(1)


async def test_button_of_a_card_is_pressed_once_with_its_nonce(host: PageHost) -> None:
    page = await host.open()
    await page.click("text=It did not happen")
    posted = await host.wait_posts(1)

    assert posted.path == "/press"
    assert {k: posted.fields[k] for k in ("room", "thread", "message", "nonce")} == {
        "room": "home",
        "thread": "0001",
        "message": "0003",
        "nonce": "n2",
    }


async def test_words_being_written_into_a_card_survive_its_redrawing(host: PageHost) -> None:
    page = await host.open()
    await page.click("summary:has-text('Answer')")
    await page.get_by_label("What happened?").fill("It was")
    host.put(host.messages[2])
    host.tell("mark", {"id": "0001", "is_on": True})
    await expect(page.locator("#m-0001 > .mark")).to_be_visible()
    await page.get_by_label("What happened?").press("End")
    await page.click("#m-0003 details button")
    posted = await host.wait_posts(1)

    assert (posted.fields["nonce"], posted.fields["words"]) == ("n3", "It was")


async def test_refused_press_is_told_beside_the_card(host: PageHost) -> None:
    page = await host.open()
    host.refusal = "Only an operator may decide this."
    await page.click("text=It did not happen")

    await expect(page.locator("#m-0003 [role=alert]")).to_have_text(host.refusal)
    host.complaints.clear()  # The browser's own word about a status of 400.


async def test_reader_who_went_up_stays_there_and_is_told_of_news(host: PageHost) -> None:
    page = await host.open(viewport={"width": 800, "height": 500})
    for number in range(10, 20):
        host.put(answer(number, "word\n\n" * 5))
    await expect(page.locator("#m-0019")).to_be_in_viewport()
    await page.evaluate("document.querySelector('[data-scroll]').scrollTop = 0")
    await expect(page.locator("#m-0001")).to_be_in_viewport()
    await page.evaluate("new Promise(requestAnimationFrame)")
    host.put(answer(20, "the newest"))
    await page.click("text=New messages")

    await expect(page.locator("#m-0020")).to_be_in_viewport()
    await expect(page.locator("[data-newer-line]")).to_be_hidden()


async def test_lost_connection_is_told_and_found_again_by_itself(host: PageHost) -> None:
    page = await host.open()
    host.put(answer(40, "before"))
    await expect(page.locator("#m-0040")).to_be_visible()
    host.leave()
    await expect(page.locator("[data-away]")).to_contain_text("connection is lost")
    await host.wait_refused_streams(1)
    host.is_away = False
    await expect(page.locator("[data-away]")).to_be_empty()

    assert host.asked[-1] == str(host.revision)
    host.complaints.clear()  # The browser's own word about the lost connection.


async def test_work_that_ended_while_the_page_was_away_is_not_shown_on(host: PageHost) -> None:
    page = await host.open()
    host.tell("status", {"line": "thinking · 3 s"})
    host.tell("mark", {"id": "0001", "is_on": True})
    await expect(page.locator("[data-working]")).to_be_visible()
    await expect(page.locator("#m-0001 > .mark")).to_be_visible()
    host.leave()
    await host.wait_refused_streams(1)
    host.is_away = False

    await expect(page.locator("[data-working]")).to_be_hidden()
    await expect(page.locator("#m-0001 > .mark")).to_be_hidden()
    host.complaints.clear()  # The browser's own word about the lost connection.


async def test_title_counts_what_came_while_nobody_looked(host: PageHost) -> None:
    page = await host.open()
    await page.evaluate("Object.defineProperty(document, 'hidden', {value: true, writable: true})")
    host.put(answer(30, "new"))

    await expect(page).to_have_title(re.compile(r"^\(1\) Please do it\."))


async def test_page_without_script_posts_its_form(host: PageHost) -> None:
    page = await host.open(java_script_enabled=False)
    await page.fill(COMPOSER, "plain form")
    await page.click(".composer button[type=submit]")
    posted = await host.wait_posts(1)

    assert posted.fields["text"] == "plain form"
    assert page.url.endswith(TALK)


async def test_time_is_shown_in_the_readers_own_zone(host: PageHost) -> None:
    page = await host.open(timezone_id="Asia/Tokyo", locale="en-GB")

    await expect(page.locator("#m-0001 time")).to_contain_text("30 Nov 2026, 09:53")
