"""The verbs by which a client talks to the agent: say, listen, press, attach."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from geode.errors import ControlError
from geode.messages import JsonObject, JsonValue, OutboundFile, Thread
from geode.ports import Intake
from geode.serve.arguments import allow_only, read_flag, read_number, read_optional, read_text
from geode.serve.ipc import Verb
from geode.serve.terminal import FILE_BYTES_MAX, TerminalChannel, key_sent
from geode.serve.terminal_events import SKIPS_VERIFICATION, read_press
from geode.serve.terminal_payloads import TEXT_CHARS_MAX, read_buttons, show_message
from geode.serve.uploads import Uploads
from geode.settings import TERMINAL
from geode.store import talks
from geode.store.database import Store
from geode.transcripts import RoomMessage

MESSAGES_SHOWN_MAX = 25
"""So that the longest messages still fit into one answer of the socket."""
FILES_MAX = 10
WAIT_S_MAX = 20
"""Less than a request may take, so that a listener without news is answered all the same."""
LOOK_S = 0.25
"""Between two looks at a conversation in which something is under way."""
REVISION_MAX = 2**62
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
_KEY = re.compile(r"[A-Za-z0-9_-]{8,64}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
NAME_RULE = (
    "A conversation's name has letters, digits, dots, dashes or underscores, 40 at most, "
    "and begins with a letter or a digit."
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a listener has seen already."""

    thread: Thread
    after: int
    seen: str
    """The mark of the mood that it was told last."""
    about: str
    """The message whose fate it waits for; empty: none."""


class ChatVerbs:
    """Serves the conversations of the terminal to whoever reaches the control socket."""

    def __init__(
        self, channel: TerminalChannel, intake: Intake, store: Store, agent_name: str
    ) -> None:
        self._channel = channel
        self._rooms = channel.transcript
        self._intake = intake
        self._store = store
        self._agent_name = agent_name
        self._uploads = Uploads(FILE_BYTES_MAX)

    @property
    def verbs(self) -> Mapping[str, Verb]:
        """Every verb by the name it has on the socket."""
        return {
            "chat.open": self._open,
            "chat.listen": self._listen,
            "chat.say": self._say,
            "chat.press": self._press,
            "chat.attach": self._attach,
        }

    async def _open(self, arguments: JsonObject) -> JsonValue:
        """A conversation as it stands: its last messages, and the cards that wait in it."""
        allow_only(arguments, "name", "limit")
        thread = self._read_thread(arguments)
        limit = read_number({"limit": 10, **arguments}, "limit", 0, MESSAGES_SHOWN_MAX)
        revision = await self._rooms.read_revision()
        talk = await self._store.read(lambda tx: talks.look_at(tx, thread))
        last = await self._rooms.read_thread(thread, limit=limit) if limit else ()
        cards = await self._read_cards(talk.session_id)
        return {
            "name": thread.thread,
            "agent": self._agent_name,
            "revision": revision,
            "messages": [show_message(message) for message in last],
            "cards": [show_message(card) for card in cards],
            **self._mood(thread, talk),
        }

    async def _read_cards(self, session_id: str) -> list[RoomMessage]:
        keys = await self._store.read(lambda tx: talks.list_card_keys(tx, session_id))
        found = [await self._rooms.find(TERMINAL, key_sent(key)) for key in keys]
        return [card for card in found if card is not None and read_buttons(card)]

    async def _listen(self, arguments: JsonObject) -> JsonValue:
        """What is new after a revision, once something is or the time is over."""
        allow_only(arguments, "name", "after", "seen", "about", "wait_s")
        wanted = Wanted(
            self._read_thread(arguments),
            read_number(arguments, "after", 0, REVISION_MAX),
            read_optional(arguments, "seen"),
            read_optional(arguments, "about"),
        )
        wait_s = read_number(arguments, "wait_s", 0, WAIT_S_MAX)
        loop = asyncio.get_running_loop()
        until = loop.time() + wait_s
        with self._channel.news.listen() as news:
            while True:
                news.clear()
                view, is_news = await self._look(wanted)
                left_s = until - loop.time()
                if is_news or left_s <= 0:
                    return view
                step_s = min(left_s, LOOK_S) if view["is_busy"] or wanted.about else left_s
                try:
                    async with asyncio.timeout(step_s):
                        await news.wait()
                except TimeoutError:
                    continue

    async def _look(self, wanted: Wanted) -> tuple[JsonObject, bool]:
        # What is under way is read before the rows: once it is over, they hold all that came of it.
        talk = await self._store.read(lambda tx: talks.look_at(tx, wanted.thread))
        asking = await self._read_asking(talk.session_id, wanted.about)
        changed = await self._rooms.read_changes(
            TERMINAL, after=wanted.after, limit=MESSAGES_SHOWN_MAX
        )
        own = [message for message in changed if message.thread == wanted.thread]
        view: JsonObject = {
            "revision": max((message.revision for message in changed), default=wanted.after),
            "messages": [show_message(message) for message in own],
            "asking": {
                "state": asking.state,
                "reason": asking.reason,
                "termination": asking.termination,
                "verification": asking.verification,
                "review": asking.review,
                "message_ids": list(asking.message_ids),
            },
            **self._mood(wanted.thread, talk),
        }
        is_over = asking.state in ("answered", "awaiting")
        return view, bool(own) or view["mark"] != wanted.seen or is_over

    async def _read_asking(self, session_id: str, about: str) -> talks.Asking:
        if not about:
            return talks.Asking("unknown")
        return await self._store.read(lambda tx: talks.find_asking(tx, session_id, about))

    def _mood(self, thread: Thread, talk: talks.Talk) -> JsonObject:
        line = self._channel.news.line_of(thread)
        review = talk.review
        return {
            "session": talk.session_id,
            "state": talk.state,
            "is_busy": talk.is_busy,
            "line": line,
            "review": {} if review is None else {"id": review.id, "outcome": review.outcome},
            "mark": f"{talk.state} {talk.is_busy} {'' if review is None else review.id} {line}",
        }

    async def _say(self, arguments: JsonObject) -> JsonValue:
        """Keep what the person says and hand it in; the same key again is the same message."""
        allow_only(arguments, "name", "key", "text", "files", SKIPS_VERIFICATION)
        thread, key = self._read_thread(arguments), _read_key(arguments)
        text, files = read_optional(arguments, "text"), _read_files(arguments)
        if len(text) > TEXT_CHARS_MAX:
            raise ControlError(
                f"A message has at most {TEXT_CHARS_MAX:,} characters; attach the text as a file."
            )
        if not text.strip() and not files:
            raise ControlError("There is nothing to say.")
        message = RoomMessage(
            thread,
            f"said:{thread.thread}:{key}",
            {"text": text, SKIPS_VERIFICATION: read_flag(arguments, SKIPS_VERIFICATION)},
            author=self._channel.owner,
            files=files,
        )
        said = await self._channel.say(message, self._intake)
        return {
            "id": said.message.id,
            "outcome": said.accepted.outcome,
            "reason": said.accepted.reason,
            "answer": said.accepted.answer,
        }

    async def _press(self, arguments: JsonObject) -> JsonValue:
        """Press a card's button, named by its number and its label, as they were shown."""
        allow_only(arguments, "name", "key", "id", "choice", "label", "words")
        thread, key = self._read_thread(arguments), _read_key(arguments)
        words, label = read_optional(arguments, "words"), read_text(arguments, "label")
        choice = read_number(arguments, "choice", 1, 100)
        card = await self._rooms.read_message(TERMINAL, read_text(arguments, "id"))
        buttons = read_buttons(card) if card is not None and card.thread == thread else []
        if card is None or choice > len(buttons) or buttons[choice - 1].label != label:
            raise ControlError("That card has no such button any more.")
        owner = self._channel.owner
        press = read_press(card, owner, buttons[choice - 1], words=words, key=key)
        accepted = await self._intake.accept(press)
        await self._channel.whisper(thread, press.dedupe_key, accepted.answer)
        return {"outcome": accepted.outcome, "reason": accepted.reason, "answer": accepted.answer}

    async def _attach(self, arguments: JsonObject) -> JsonValue:
        """Take one piece of a file; with the last one the file is kept and can be said."""
        allow_only(arguments, "key", "offset", "piece", "is_last")
        key = _read_key(arguments)
        offset = read_number(arguments, "offset", 0, FILE_BYTES_MAX)
        self._uploads.add(key, offset, read_optional(arguments, "piece"))
        if arguments.get("is_last") is not True:
            return {}
        content = self._uploads.take(key)
        return {"sha256": await self._rooms.put_file(content), "size_bytes": len(content)}

    def _read_thread(self, arguments: JsonObject) -> Thread:
        name = read_text(arguments, "name")
        if _NAME.fullmatch(name) is None:
            raise ControlError(NAME_RULE)
        return self._channel.thread_of(name)


def _read_key(arguments: JsonObject) -> str:
    key = read_text(arguments, "key")
    if _KEY.fullmatch(key) is None:
        raise ControlError("A key has 8 to 64 letters, digits, dashes or underscores.")
    return key


def _read_files(arguments: JsonObject) -> tuple[OutboundFile, ...]:
    given = arguments.get("files", [])
    if not isinstance(given, list) or len(given) > FILES_MAX:
        raise ControlError(f"files is a list of at most {FILES_MAX} files.")
    return tuple(_read_file(each) for each in given)


def _read_file(given: JsonValue) -> OutboundFile:
    file = cast("JsonObject", given) if isinstance(given, dict) else {}
    name, sha256, size = file.get("name"), file.get("sha256"), file.get("size_bytes")
    if (
        not isinstance(name, str)
        or not isinstance(sha256, str)
        or not isinstance(size, int)
        or not 0 < len(name) <= 255
        or _SHA256.fullmatch(sha256) is None
        or not 0 <= size <= FILE_BYTES_MAX
    ):
        raise ControlError("A file has a name, the sha256 that chat.attach gave, and size_bytes.")
    return OutboundFile(name, "", size, sha256)
