"""Pages, streams and files: everybody sees what is theirs, once, and nothing of others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest
from bs4 import BeautifulSoup
from fakes.contract_desk import Desk, open_desk
from fakes.contract_web import ROOM, WebPlatform, form_of, path_of

from channels.web import live
from channels.web.adapter import WebChannel
from channels.web.settings import WebSettings
from geode.errors import SendRefusedError
from geode.messages import OutboundBody, Place, Thread

WAIT_S = 8.0
PNG = b"\x89PNG\r\n\x1a\n" + bytes(64)


@pytest.fixture
async def platform() -> AsyncIterator[WebPlatform]:
    async with WebPlatform() as opened:
        yield opened


@pytest.fixture
async def desk(platform: WebPlatform, tmp_path: Path) -> AsyncIterator[Desk]:
    async with open_desk(tmp_path, platform) as opened:
        yield opened


class Following:
    """An open event stream and what came on it."""

    def __init__(self, answer: aiohttp.ClientResponse) -> None:
        self._answer = answer
        self.last_id = ""
        self.events: list[tuple[str, dict[str, Any]]] = []

    async def wait(self, kind: str, word: str) -> dict[str, Any]:
        """The next event of a kind that holds the word."""
        async with asyncio.timeout(WAIT_S):
            while True:
                name, said = await self._read()
                self.events.append((name, said))
                if name == kind and word in orjson.dumps(said).decode():
                    return said

    async def _read(self) -> tuple[str, dict[str, Any]]:
        lines: dict[str, str] = {}
        while line := (await self._answer.content.readline()).decode().rstrip("\n"):
            name, _, value = line.partition(": ")
            lines[name] = value
        self.last_id = lines.get("id", self.last_id)
        if "data" not in lines:
            return "", {}
        return lines["event"], orjson.loads(lines["data"])


async def test_answer_comes_on_an_open_page_and_after_a_lost_line_nothing_is_missing(
    platform: WebPlatform, desk: Desk
) -> None:
    place = await desk.begin("hello")
    ana = await platform.browser("ana")
    events = f"{path_of(place.thread)}/events"
    async with ana.get(events) as answer:
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        following = Following(answer)
        await following.wait("message", "hello")
        await desk.post(place, "the first")
        await following.wait("message", "the first")
        last = following.last_id
    await desk.post(place, "while away", "and this")
    await desk.wait_settled()

    async with ana.get(events, headers={"Last-Event-ID": last}) as answer:
        again = Following(answer)
        await again.wait("message", "and this")

    words = [said["html"] for name, said in again.events if name == "message"]
    assert len(words) == 2
    assert "while away" in words[0]


async def test_private_answer_reaches_nobody_else_by_page_or_stream(
    platform: WebPlatform, desk: Desk
) -> None:
    place = await desk.begin("hello")
    ben = await platform.browser("ben")
    async with ben.get(f"{path_of(place.thread)}/events") as answer:
        following = Following(answer)
        await platform.command(place, "whoami", "")
        await desk.wait_for(lambda: platform.whispers("ana"))
        await desk.post(place, "for all")
        await following.wait("message", "for all")
    told = orjson.dumps(following.events).decode()
    async with ben.get(path_of(place.thread)) as page:
        shown = await page.text()
    ana = await platform.browser("ana")
    async with ana.get(path_of(place.thread)) as page:
        own = await page.text()

    assert "Binding" not in told
    assert "Binding" not in shown
    assert "Binding" in own
    assert "only you see this" in own


async def test_mark_and_status_are_told_and_taken_back(platform: WebPlatform, desk: Desk) -> None:
    message_id = await platform.begin("hello")
    place = await desk.place_of(message_id)
    ana = await platform.browser("ana")
    async with ana.get(f"{path_of(place.thread)}/events") as answer:
        following = Following(answer)
        await desk.channel.react(place, message_id, is_on=True)
        await desk.channel.set_status(place, "Reading")
        assert await following.wait("status", "Reading")
        assert {"id": message_id, "is_on": True} in [said for _, said in following.events]
        await desk.channel.set_status(place, "")
        assert await following.wait("status", '""')


async def test_form_that_is_sent_twice_is_one_message(platform: WebPlatform, desk: Desk) -> None:
    ana = await platform.browser("ana")
    posts = [
        ana.post(f"/rooms/{ROOM}", data=form_of(text="once", key="same-key")) for _ in range(4)
    ]

    answers = await asyncio.gather(*posts)

    assert {answer.status for answer in answers} == {201}
    assert len({(await answer.json())["id"] for answer in answers}) == 1
    assert await desk.stored() == ["once"]


async def test_script_less_browser_is_led_to_the_conversation(
    platform: WebPlatform, desk: Desk
) -> None:
    ana = await platform.browser("ana")
    form = form_of(text="hello", key="k")

    async with ana.post(f"/rooms/{ROOM}", data=form, headers={"Accept": "text/html"}) as answer:
        page = await answer.text()

    assert answer.status == 200
    assert answer.url.path.startswith(f"/rooms/{ROOM}/0")
    assert "hello" in page


async def test_script_less_browser_keeps_the_words_that_could_not_be_stored(
    platform: WebPlatform, desk: Desk
) -> None:
    ana = await platform.browser("ana")
    html, words = {"Accept": "text/html"}, "\n <b>two</b>\nlines"
    await platform.go_down()
    form = form_of(text=words, key="k1")
    async with ana.post(f"/rooms/{ROOM}", data=form, headers=html) as answer:
        page = BeautifulSoup(await answer.text(), "html.parser")
    await platform.come_back()

    again = page.find("form", action=f"/rooms/{ROOM}")
    fields = {
        "text": page.textarea.text.removeprefix("\n"),
        "key": again.find(id=None, attrs={"name": "key"})["value"],
    }
    async with ana.post(again["action"], data=form_of(**fields), headers=html) as sent:
        assert sent.status == 200

    assert answer.status == 503
    assert fields == {"text": words, "key": "k1"}
    assert await desk.stored() == [words]


@pytest.mark.parametrize(
    ("fields", "status", "word"),
    [
        ({"text": "  \n", "key": "k"}, 400, "Write something"),
        ({"text": "x" * 20_001, "key": "k"}, 413, "20,000"),
        ({"text": "hello"}, 400, "load the page again"),
        ({"text": "hello", "key": "k" * 65}, 400, "load the page again"),
    ],
)
async def test_form_that_cannot_be_taken_is_told_in_one_sentence(
    platform: WebPlatform, desk: Desk, fields: dict[str, str], status: int, word: str
) -> None:
    ana = await platform.browser("ana")

    async with ana.post(f"/rooms/{ROOM}", data=form_of(**fields)) as answer:
        said = (await answer.json())["error"]

    assert answer.status == status
    assert word in said
    assert said.endswith(".")
    assert await desk.stored() == []


async def test_message_that_cannot_be_kept_is_told_and_nothing_is_stored(
    platform: WebPlatform, desk: Desk
) -> None:
    ana = await platform.browser("ana")
    await platform.go_down()

    async with ana.post(f"/rooms/{ROOM}", data=form_of(text="hello", key="k")) as answer:
        said = (await answer.json())["error"]

    assert answer.status == 503
    assert "try again" in said
    assert await desk.stored() == []


async def test_only_pictures_are_shown_and_every_other_file_is_saved(
    platform: WebPlatform, desk: Desk
) -> None:
    place = await desk.begin("files")
    ana = await platform.browser("ana")
    page = b"<script>alert(1)</script>"
    shared = [
        await platform.share(place, "Übersicht für ä.html", page),
        await platform.share(place, "picture.html", PNG),
    ]
    found: list[aiohttp.ClientResponse] = []
    for message_id in shared:
        await desk.place_of(message_id)
        answer = await ana.get(f"/files/{message_id}/0/any-name")
        found.append(answer)
    saved, shown = found

    assert await saved.read() == page
    assert saved.headers["Content-Disposition"].startswith("attachment; filename*=UTF-8''%C3%9C")
    assert saved.headers["Content-Type"] == "application/octet-stream"
    assert shown.headers["Content-Disposition"].startswith("inline")
    assert shown.headers["Content-Type"] == "image/png"
    assert all("sandbox" in each.headers["Content-Security-Policy"] for each in found)


async def test_stranger_with_a_token_finds_nothing_of_the_rooms(
    platform: WebPlatform, desk: Desk
) -> None:
    place = await desk.begin("hello")
    file = await platform.share(place, "a.txt", b"words")
    await desk.place_of(file)
    stranger = await platform.browser("stranger")
    paths = ("/", "/rooms/room", path_of(place.thread), f"{path_of(place.thread)}/events")
    for path in (*paths, f"/files/{file}/0/a.txt", "/operator", "/metrics"):
        async with stranger.get(path) as answer:
            assert answer.status == 404, path
            assert "hello" not in await answer.text()


async def test_own_room_is_nobody_elses(platform: WebPlatform, desk: Desk) -> None:
    place = await desk.begin("my secret", where="direct")
    ben = await platform.browser("ben")

    async with ben.get(path_of(place.thread)) as answer:
        said = await answer.text()

    assert answer.status == 404
    assert "my secret" not in said


async def test_operators_page_is_for_operators(platform: WebPlatform, desk: Desk) -> None:
    ana, ben = await platform.browser("ana"), await platform.browser("ben")

    async with ana.get("/operator") as answer:
        assert answer.status == 200
    async with ben.get("/operator") as answer:
        assert answer.status == 404


async def test_one_person_cannot_keep_more_pages_open_than_are_served(
    platform: WebPlatform, desk: Desk
) -> None:
    place = await desk.begin("hello")
    ana = await platform.browser("ana")
    connector = ana.connector
    assert connector is not None
    opened = []
    for _ in range(live.STREAMS_PERSON_MAX):
        answer = await ana.get(f"{path_of(place.thread)}/events")
        await Following(answer).wait("message", "hello")
        opened.append(answer)

    async with ana.get(f"{path_of(place.thread)}/events") as answer:
        assert answer.status == 503
    opened.pop().close()
    ben = await platform.browser("ben")
    async with ben.get(f"{path_of(place.thread)}/events") as answer:
        await Following(answer).wait("message", "hello")
    for each in opened:
        each.close()


async def test_stopping_ends_open_streams_at_once(platform: WebPlatform, tmp_path: Path) -> None:
    async with open_desk(tmp_path, platform) as desk:
        place = await desk.begin("hello")
        ana = await platform.browser("ana")
        answer = await ana.get(f"{path_of(place.thread)}/events")
        await Following(answer).wait("message", "hello")
        async with asyncio.timeout(3):
            await desk.channel.stop()
            while await answer.content.readline():
                pass
    answer.close()


async def test_taken_place_is_told_with_the_setting(platform: WebPlatform, desk: Desk) -> None:
    port = platform.origin.rpartition(":")[2]
    second = WebChannel(WebSettings(listen=f"127.0.0.1:{port}"), platform.context)

    await second.start(desk.door)

    status = second.status()
    assert status.state == "degraded"
    assert f"127.0.0.1:{port}" in status.reason
    assert "listen" in status.reason


async def test_message_for_a_room_that_is_not_served_is_refused(
    platform: WebPlatform, desk: Desk
) -> None:
    place = Place(Thread("web", "local", "gone", "0000000000000001"))
    (part,) = desk.channel.plan(OutboundBody("hello"))

    with pytest.raises(SendRefusedError, match=r"not served"):
        await desk.channel.send(place, part, "k")


async def test_page_that_is_long_to_draw_keeps_nobody_waiting(
    platform: WebPlatform, desk: Desk
) -> None:
    place = await desk.begin("hello")
    rows = "| 1 | **2** |\n" * 700
    for number in range(12):
        (part,) = desk.channel.plan(OutboundBody(f"| a | b |\n|---|---|\n{rows}"))
        await desk.channel.send(place, part, f"k{number}")
    ana, ben = await platform.browser("ana"), await platform.browser("ben")

    clock = desk.clock
    begun = clock.monotonic()
    drawing = asyncio.create_task(ana.get(path_of(place.thread)))
    waits: list[float] = []
    while not drawing.done():
        asked = clock.monotonic()
        async with ben.get("/healthz") as alive:
            assert alive.status == 200
        waits.append(clock.monotonic() - asked)

    assert (await drawing).status == 200
    assert max(waits) < (clock.monotonic() - begun) / 2
