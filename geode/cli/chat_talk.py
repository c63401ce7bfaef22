"""One conversation from the client's side: said once, listened to on, over lost connections."""

from __future__ import annotations

import asyncio
import base64
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from geode.errors import ControlError, DaemonAbsentError, LineLostError
from geode.messages import JsonObject, JsonValue
from geode.serve.line import Line

PIECE_BYTES = 512 * 1024
WAIT_S = 15
PATIENCE_S = 300.0
"""So long a daemon that went away is waited for."""
PAUSE_S = 0.5
PAUSE_S_MAX = 3.0
LOST = "The connection to the daemon is lost; waiting for it."
BACK = "Connected again."
OVER = ("answered", "awaiting")
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class News:
    """What a listener was told."""

    rows: tuple[dict[str, Any], ...]
    is_busy: bool
    line: str
    about: str
    """The message that `asking` is about; empty: none."""
    asking: Mapping[str, Any]
    review: Mapping[str, Any]
    """The answer that waits for a decision, by its name; empty: none does."""


@dataclass(frozen=True, slots=True)
class Lines:
    """A conversation's two lines: on one it says, on the other it listens meanwhile."""

    saying: Line
    listening: Line

    async def close(self) -> None:
        """Hang up both."""
        await self.saying.close()
        await self.listening.close()


class Talk:
    """Repeats under the same key what was not answered, so that nothing is said twice."""

    def __init__(self, lines: Lines, name: str, tell: Callable[[str], None]) -> None:
        self.name = name
        self.session = ""
        self.awaited = ""
        """The last message of ours whose turn is not over, as far as is known."""
        self._lines = lines
        self._tell = tell
        self._after = 0
        self._mark: str = ""
        self._is_lost = False
        self._own: set[str] = set()

    def is_own(self, row: dict[str, Any]) -> bool:
        """Whether this client said it, and so stands there already."""
        return row["key"] in self._own

    async def open(self, limit: int) -> dict[str, Any]:
        """The conversation as it stands; raises `DaemonAbsentError` where no daemon runs."""
        opened = await self._lines.saying.ask("chat.open", name=self.name, limit=limit)
        self._after, self._mark = int(opened["revision"]), str(opened["mark"])
        self.session = opened["session"]
        return opened

    async def say(
        self, text: str, files: tuple[Path, ...] = (), *, skips_verification: bool = False
    ) -> dict[str, Any]:
        """Say something with files; what became of it at the front door."""
        attached: list[JsonValue] = [await self._attach(path) for path in files]
        key = secrets.token_urlsafe(12)
        self._own.add(key)
        more: JsonObject = {"skips_verification": True} if skips_verification else {}
        said = await self._patiently(
            lambda: self._lines.saying.ask(
                "chat.say", name=self.name, key=key, text=text, files=attached, **more
            )
        )
        if said["outcome"] in ("stored", "duplicate"):
            self.awaited = said["id"]
        return said

    async def press(self, message_id: str, choice: int, label: str, words: str) -> dict[str, Any]:
        """Press a button of a card."""
        key = secrets.token_urlsafe(12)
        pressed: JsonObject = {"id": message_id, "choice": choice, "label": label, "words": words}
        return await self._patiently(
            lambda: self._lines.saying.ask("chat.press", name=self.name, key=key, **pressed)
        )

    async def show_review(self, review_id: str) -> dict[str, Any]:
        """An answer that waits for a decision, with all that it says."""
        return await self._patiently(
            lambda: self._lines.saying.ask("reviews.show", id=review_id, personal=True)
        )

    async def decide_review(self, review_id: str, decision: str, words: str) -> dict[str, Any]:
        """Decide on it; the conversation goes on with what comes of it."""
        told: JsonObject = {"id": review_id, "decision": decision, "words": words}
        return await self._patiently(lambda: self._lines.saying.ask("reviews.decide", **told))

    async def _attach(self, path: Path) -> JsonObject:
        try:
            content = await asyncio.to_thread(path.read_bytes)
        except OSError as error:
            raise ControlError(f"{path} cannot be read ({error.strerror}).") from error
        kept = await self._patiently(lambda: self._send(content))
        return {"name": path.name, **kept}

    async def _send(self, content: bytes) -> dict[str, Any]:
        key = secrets.token_urlsafe(12)
        kept: dict[str, Any] = {}
        for offset in range(0, max(1, len(content)), PIECE_BYTES):
            kept = await self._lines.saying.ask(
                "chat.attach",
                key=key,
                offset=offset,
                piece=base64.b64encode(content[offset : offset + PIECE_BYTES]).decode(),
                is_last=offset + PIECE_BYTES >= len(content),
            )
        return kept

    async def listen(self) -> AsyncGenerator[News]:
        """What is new, without end, and what came of the message that is awaited."""
        while True:
            about = self.awaited
            view = await self._patiently(partial(self._look, about))
            self._after, self._mark = int(view["revision"]), str(view["mark"])
            self.session = view["session"]
            asking = view["asking"]
            if asking["state"] in OVER and self.awaited == about:
                self.awaited = ""
            yield News(
                tuple(view["messages"]),
                bool(view["is_busy"]),
                str(view["line"]),
                about,
                asking,
                view["review"],
            )

    async def _look(self, about: str) -> dict[str, Any]:
        seen = {"after": self._after, "seen": self._mark, "about": about}
        return await self._lines.listening.ask("chat.listen", name=self.name, wait_s=WAIT_S, **seen)

    async def _patiently(self, ask: Callable[[], Awaitable[Value]]) -> Value:
        """The answer, once a daemon that went away is back; raises when it stays away."""
        loop = asyncio.get_running_loop()
        until, pause_s = loop.time() + PATIENCE_S, PAUSE_S
        while True:
            try:
                answer = await ask()
            except (LineLostError, DaemonAbsentError):
                if loop.time() >= until:
                    raise
                self._note(is_lost=True)
                await asyncio.sleep(pause_s)
                pause_s = min(PAUSE_S_MAX, pause_s * 2)
            else:
                self._note(is_lost=False)
                return answer

    def _note(self, *, is_lost: bool) -> None:
        if is_lost != self._is_lost:
            self._is_lost = is_lost
            self._tell(LOST if is_lost else BACK)
