"""The page of the demo's own daemon as one more place of the story: a browser's part over HTTP."""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar

import aiohttp
import orjson
from bs4 import BeautifulSoup

from geode.cli.demo_platform import BINDING, CALL_S, Line, LocalPlatform
from geode.cli.demo_view import Screen
from geode.errors import ControlError

HOST, PORT = "127.0.0.1", 8484
ROOM = "/rooms/dm-local/-"
PERSON = "local"
QUESTION, ANSWER = "what is 7 * 8?", "7 * 8 = 56"
SEEN_S = 20.0
QUIET_S = 1.0
"""How long a second answer is waited for."""
AGAIN_S = 0.2
"""Before a stream that broke is opened again."""


def choose_port() -> int:
    """The page's usual port, or any free one when that is taken."""
    for port in (PORT, 0):
        with socket.socket() as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with suppress(OSError):
                tried.bind((HOST, port))
                return int(tried.getsockname()[1])
    raise ControlError(f"No port is free on {HOST}.")


class LocalPage(LocalPlatform):
    """The room in which the person at this machine is alone with the agent."""

    name: ClassVar[str] = "web"
    command: ClassVar[str] = "!status"

    def __init__(self, port: int, http: aiohttp.ClientSession) -> None:
        people = {"ana": PERSON}
        super().__init__({"control_url": "", "people": people}, http)
        self.port = port
        self._lines: dict[str, Line] = {}
        self._last = ""

    @property
    def page_url(self) -> str:
        """What to open in a browser."""
        return f"http://{HOST}:{self.port}"

    def configure(self) -> str:
        """The sections of a configuration that serves this place."""
        listen = f'[channels.web]\nlisten = "{HOST}:{self.port}"\n'
        person = f'"{PERSON}"'
        bound = [
            BINDING.format(channel="web", where=where, people=person, operator=person)
            for where in ("local/room", "local/dm")
        ]
        return listen + "".join(bound)

    def environ(self) -> Mapping[str, str]:
        """Nothing: the page of this machine needs no secret."""
        return {}

    def mention(self) -> str:
        """Nothing: whoever is alone with the agent speaks to it."""
        return ""

    async def count_refusals(self) -> int:
        """The page is the daemon's own, so nothing refuses its calls."""
        return 0

    async def post(self, person: str, text: str) -> str:
        """A person sends the composer's form; the message's id."""
        form = aiohttp.FormData(default_to_multipart=True)
        form.add_field("text", text.removeprefix("@").strip())
        form.add_field("key", secrets.token_urlsafe(12))
        headers = {"Origin": self.page_url, "Accept": "application/json"}
        try:
            async with (
                asyncio.timeout(CALL_S),
                self._http.post(self.page_url + ROOM, data=form, headers=headers) as response,
            ):
                answer: dict[str, Any] = orjson.loads(await response.read())
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            raise ControlError(f"The page does not answer ({error}).") from error
        if response.status != 201:
            raise ControlError(f"The page refused a message: {answer.get('error')}")
        return str(answer["id"])

    async def follow(self) -> None:
        """Hear the room's event stream until cancelled, across restarts of the daemon."""
        while True:
            with suppress(aiohttp.ClientError):
                headers = {"Last-Event-ID": self._last} if self._last else {}
                url = f"{self.page_url}{ROOM}/events"
                async with self._http.get(url, headers=headers, timeout=None) as response:
                    await self._hear(response.content)
            await asyncio.sleep(AGAIN_S)

    async def _hear(self, content: aiohttp.StreamReader) -> None:
        kind = number = ""
        async for raw in content:
            field, _, value = raw.decode().rstrip("\n").partition(": ")
            if field == "id":
                number = value
            elif field == "event":
                kind = value
            elif field == "data" and kind == "message":
                self._take(orjson.loads(value))
                self._last = number

    def _take(self, said: dict[str, Any]) -> None:
        article: Any = BeautifulSoup(said["html"], "html.parser").article
        words = [part.get_text("\n", strip=True) for part in article.select(".words")]
        text, before = "\n".join(words), self._lines.get(said["id"])
        wordings = (*(before.wordings if before else ()), text)
        is_ours = "ours" in article["class"]
        name = article.h3.bdi.get_text(strip=True)
        self._lines[said["id"]] = Line(said["id"], name, text, is_ours, wordings)

    async def read(self) -> Sequence[Line]:
        """What was heard of the room so far, oldest first; progress is no line of its own."""
        return [line for _, line in sorted(self._lines.items()) if line.text]


async def tell_on_page(screen: Screen, page: LocalPage) -> list[str]:
    """One question and its answer as a browser asks and hears it; what was wrong."""
    screen.title("The same in a browser, over HTTP")
    screen.say(f"  {page.page_url}")
    following = asyncio.create_task(page.follow())
    try:
        await page.post("ana", QUESTION)
        async with asyncio.timeout(SEEN_S):
            while not await _find_answers(page):  # noqa: ASYNC110 - the state of another process
                await asyncio.sleep(AGAIN_S)
        await asyncio.sleep(QUIET_S)
        count = len(await _find_answers(page))
    except TimeoutError:
        count = 0
    finally:
        following.cancel()
        await asyncio.wait((following,))
    for line in await page.read():
        screen.say(f"  {line.name}: {line.text.splitlines()[0]}")
    screen.say(
        f"  messages in 1, answers out {count}, lost {int(not count)}, doubled {max(0, count - 1)}"
    )
    return [] if count == 1 else [f"The page showed {count} answers to one question."]


async def _find_answers(page: LocalPage) -> list[Line]:
    return [line for line in await page.read() if line.is_ours and ANSWER in line.text]
