"""The page under the contract suite: real forms, a real server, rooms that survive."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import shutil
import sqlite3
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import aiohttp
import orjson
from bs4 import BeautifulSoup
from fakes.contract_platform import Where, Who
from fakes.empty_database import lay_database
from fakes.slack_world import NoRedactor

from channels.web.adapter import WebChannel
from channels.web.settings import WebSettings
from geode.errors import StoreError
from geode.messages import JsonObject, Person, Place, Thread
from geode.ports import Channel, ChannelContext, NoFailpoints, Redactor, SystemClock
from geode.records.transcript import RoomTranscript
from geode.settings import SecretRef
from geode.store.blobs import Blobs
from geode.store.database import Store
from geode.transcripts import RoomMessage

ROOM, SIDE = "room", "side"
TOKENS = {who: f"a long token of {who}, for tests" for who in ("ana", "ben", "stranger")}
WAIT_S = 8.0


class FaultyTranscript(RoomTranscript):
    """Rooms whose store answers late, answers lost, or not at all, as it is told."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.is_down = False
        self.drops: list[str] = []
        self.held: tuple[str, float] = ("", 0.0)
        self.has_files = True
        self.released = asyncio.Event()

    def _fail(self) -> None:
        raise StoreError("the rooms cannot be written")

    async def put(self, message: RoomMessage, *, begins_thread: bool = False) -> RoomMessage:
        """Keep it, unless the store is down; then answer, or not."""
        if self.is_down:
            self._fail()
        kept = await super().put(message, begins_thread=begins_thread)
        if message.author is None and not message.only_for:
            word, seconds = self.held
            if word and word in orjson.dumps(message.payload).decode():
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        await self.released.wait()
            self._drop("put")
        return kept

    async def change(self, message_id: str, payload: JsonObject) -> RoomMessage | None:
        """Change it, unless the store is down; then answer, or not."""
        if self.is_down:
            self._fail()
        changed = await super().change(message_id, payload)
        self._drop("change")
        return changed

    def _drop(self, what: str) -> None:
        if what in self.drops:
            self.drops.remove(what)
            self._fail()

    async def get_file(self, sha256: str, bytes_max: int) -> bytes | None:
        """The file, unless files are lost."""
        return await super().get_file(sha256, bytes_max) if self.has_files else None


class WebPlatform:
    """The rooms of the page, their people, and the browser of each."""

    name = "web"
    bindings = (
        {"channel": "web", "where": "local/room", "people": ["ana", "ben"], "operators": ["ana"]},
        {"channel": "web", "where": "local/side", "people": ["ana", "ben"], "operators": ["ana"]},
        {"channel": "web", "where": "local/dm", "people": ["ana"], "operators": ["ana"]},
    )
    places: Sequence[Thread] = tuple(
        Thread("web", "local", name, "") for name in (ROOM, SIDE, "dm")
    )

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="geode-rooms-"))
        self.channel: WebChannel | None = None
        self.browsers: dict[str, aiohttp.ClientSession] = {}
        self.forms: dict[tuple[str, str], tuple[str, bool, dict[str, str]]] = {}
        self.posts: set[asyncio.Task[Any]] = set()
        self.redactor: Redactor = NoRedactor()

    async def __aenter__(self) -> Self:
        path = self.folder / "rooms.db"
        lay_database(path)
        self.path, clock = path, SystemClock()
        self.store = Store.open(path, clock, NoFailpoints())
        self.transcript = FaultyTranscript(self.store, clock, Blobs(self.folder / "rooms"))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for post in self.posts:
            post.cancel()
        for browser in self.browsers.values():
            await browser.close()
        await self.store.close()
        shutil.rmtree(self.folder)

    def make_channel(self) -> Channel:
        """A channel over the same rooms, on a port of its own."""
        settings = WebSettings(
            listen="127.0.0.1:0", tokens={who: SecretRef("env", who.upper()) for who in TOKENS}
        )
        self.context = ChannelContext(
            SystemClock(),
            self.redactor,
            NoFailpoints(),
            {f"tokens.{who}": token for who, token in TOKENS.items()},
            self.places,
            transcript=self.transcript,
        )
        self.channel = WebChannel(settings, self.context)
        self.browsers_of_before, self.browsers = self.browsers, {}
        for browser in self.browsers_of_before.values():
            closing = asyncio.ensure_future(browser.close())
            self.posts.add(closing)
            closing.add_done_callback(self.posts.discard)
        return self.channel

    @property
    def origin(self) -> str:
        """Where the page is now; empty: nowhere."""
        return self.channel.status().address if self.channel else ""

    async def browser(self, who: str) -> aiohttp.ClientSession:
        """A browser in which that person is signed in."""
        if who not in self.browsers:
            made = aiohttp.ClientSession(
                self.origin,
                cookie_jar=aiohttp.CookieJar(unsafe=True),
                headers={"Origin": self.origin, "Accept": "application/json"},
            )
            self.browsers[who] = made
            async with made.post("/login", data=form_of(token=TOKENS[who])) as answer:
                assert answer.status in (200, 303, 404), await answer.text()
        return self.browsers[who]

    async def begin(self, text: str, where: Where = "one", who: Who = "ana") -> str:
        """A person writes in the composer of a room."""
        if where == "direct":
            return await self._post(f"/rooms/dm-{who}/-", who, text)
        return await self._post(f"/rooms/{SIDE if where == 'side' else ROOM}", who, text)

    async def follow(self, place: Place, text: str, who: Who = "ana") -> str:
        """A person goes on in that thread."""
        return await self._post(path_of(place.thread), who, text)

    async def share(self, place: Place, name: str, content: bytes, who: Who = "ana") -> str:
        """A person attaches a file."""
        return await self._post(path_of(place.thread), who, "", (name, content))

    async def _post(
        self, path: str, who: Who, text: str, file: tuple[str, bytes] | None = None
    ) -> str:
        """Send the form, and return once the message is kept: it may not be handed in yet."""
        key = secrets.token_urlsafe(12)
        if not self.origin:
            return await self._leave_behind(path, who, text, key)
        post = asyncio.create_task(self._send(path, who, text, key, file))
        self.posts.add(post)
        post.add_done_callback(self.posts.discard)
        async with asyncio.timeout(WAIT_S):
            while not (kept := await self.transcript.find("web", f"said:{who}:{key}")):
                if post.done() and post.result() >= 300:
                    return f"refused {key}"
                await asyncio.sleep(0.01)
        return kept.id

    async def _send(
        self, path: str, who: Who, text: str, key: str, file: tuple[str, bytes] | None
    ) -> int:
        browser = await self.browser(who)
        with contextlib.suppress(aiohttp.ClientError):
            async with browser.post(path, data=form_of(file, text=text, key=key)) as answer:
                await answer.read()
                return answer.status
        return 0

    async def _leave_behind(self, path: str, who: Who, text: str, key: str) -> str:
        """What a crash leaves between keeping a message and handing it in."""
        _, _, room, *rest = path.split("/")
        thread = "" if not rest or rest[0] == "-" else rest[0]
        message = RoomMessage(
            Thread("web", "local", room, thread),
            f"said:{who}:{key}",
            {"text": text},
            Person(who, who),
        )
        kept = await self.transcript.put(message, begins_thread=not rest)
        return kept.id

    def _rows(self, place: Place) -> list[dict[str, Any]]:
        thread = place.thread
        with contextlib.closing(sqlite3.connect(self.path)) as connection:
            connection.row_factory = sqlite3.Row
            query = "select * from room_messages where channel = ? and thread = ? order by id"
            return [dict(row) for row in connection.execute(query, (thread.channel, thread.thread))]

    def _ours(self, place: Place) -> list[dict[str, Any]]:
        return [r for r in self._rows(place) if not r["author_id"] and not r["only_for"]]

    def shown(self, place: Place) -> list[str]:
        """What everybody reads of the bot there."""
        return [text_of(orjson.loads(row["payload"])) for row in self._ours(place)]

    def labels(self, place: Place, message_id: str) -> list[str]:
        """The buttons that stand under a message now."""
        row = next(r for r in self._rows(place) if str(r["id"]).zfill(16) == message_id)
        return [b["label"] for b in (orjson.loads(row["payload"])["card"] or {}).get("buttons", ())]

    async def make_noise(self, place: Place, message_id: str) -> None:
        """Pages are looked at and refused forms are sent."""
        browser = await self.browser("ana")
        for path in ("/", path_of(place.thread), "/nowhere", f"/files/{message_id}/0/x"):
            async with browser.get(path) as answer:
                await answer.read()
        async with browser.post(path_of(place.thread), data=form_of(text="", key="k")) as answer:
            assert answer.status == 400

    async def press(
        self, place: Place, message_id: str, label: str, who: Who = "ana", words: str = ""
    ) -> None:
        """A person sends the form that stands under the card; a stranger sends a copy of it."""
        await self._look_at_card(place, message_id)
        action, asks, fields = self.forms[message_id, label]
        assert asks == bool(words)
        browser = await self.browser(who)
        async with browser.post(action, data=form_of(words=words, **fields)) as answer:
            await answer.read()

    async def _look_at_card(self, place: Place, message_id: str) -> None:
        """Remember the forms under a card as a page shows them that was open before."""
        ana = await self.browser("ana")
        async with ana.get(path_of(place.thread)) as answer:
            page = BeautifulSoup(await answer.text(), "html.parser")
        article: Any = page.find(id=f"m-{message_id}")
        assert article is not None, "the card is shown"
        for form in article.find_all("form"):
            fields = {field["name"]: field["value"] for field in form.find_all("input")}
            label = form.button.get_text().strip()
            self.forms[message_id, label] = (form["action"], bool(form.textarea), fields)

    async def command(self, place: Place, verb: str, argument: str, who: Who = "ana") -> None:
        """A person writes a command in the composer."""
        await self.follow(place, f"/{verb} {argument}", who)

    def whispers(self, who: Who) -> list[str]:
        """What only that person was shown."""
        with contextlib.closing(sqlite3.connect(self.path)) as connection:
            query = "select payload from room_messages where only_for = ? order by id"
            return [text_of(orjson.loads(row[0])) for row in connection.execute(query, (who,))]

    def files(self, place: Place) -> list[tuple[str, bytes]]:
        """Our files that stand there."""
        rows = [orjson.loads(row["files"]) for row in self._ours(place) if row["files"]]
        blobs = Blobs(self.folder / "rooms")
        found = [(file["name"], blobs.get(file["sha256"], 10**9)) for row in rows for file in row]
        return [(name, content) for name, content in found if content is not None]

    def lose_files(self) -> None:
        """What people sent is gone."""
        self.transcript.has_files = False

    def drop_send_response(self) -> None:
        """The next message of ours is kept, and nobody hears of it."""
        self.transcript.drops.append("put")

    def drop_edit_response(self) -> None:
        """The next edit is kept, and nobody hears of it."""
        self.transcript.drops.append("change")

    def limit_next_send(self, wait_s: int) -> None:
        """Our own rooms never ask us to wait."""
        raise LookupError("the page has no rate limit")

    def hold_sends(self, word: str, seconds: float) -> None:
        """Messages with that word are kept at once and answered later."""
        self.transcript.held = (word, seconds)

    def release(self) -> None:
        """No fault is in force any more."""
        self.transcript.held = ("", 0.0)
        self.transcript.released.set()

    def remove_side(self) -> None:
        """A reload comes that names the room no more."""
        assert self.channel is not None
        self.channel.follow([place for place in self.places if place.channel != SIDE])

    async def cut_receiving(self) -> None:
        """Every connection of every browser breaks."""
        for browser in self.browsers.values():
            await browser.close()
        self.browsers = {}

    async def go_down(self) -> None:
        """The rooms cannot be written."""
        self.transcript.is_down = True

    async def come_back(self) -> None:
        """They can again."""
        self.transcript.is_down = False


def path_of(thread: Thread) -> str:
    """The address of a thread."""
    return f"/rooms/{thread.channel}/{thread.thread or '-'}"


def text_of(payload: dict[str, Any]) -> str:
    """What a payload says to whoever reads it."""
    card = payload.get("card")
    if not card:
        return str(payload["markdown"])
    fields = [f"{name}: {value}" for name, value in card["fields"]]
    return "\n".join([card["title"], card["body"], *fields])


def form_of(file: tuple[str, bytes] | None = None, **fields: str) -> aiohttp.FormData:
    """A form as a browser sends it."""
    form = aiohttp.FormData(quote_fields=False, default_to_multipart=True)
    for name, value in fields.items():
        form.add_field(name, value)
    if file is not None:
        form.add_field("files", file[1], filename=file[0], content_type="text/plain")
    return form
