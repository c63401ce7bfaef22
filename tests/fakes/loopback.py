"""A platform in memory and its channel: the port's promises without a wire, faults on request."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from geode.errors import (
    ChannelDownError,
    FileUnavailableError,
    FormatRefusedError,
    SendRateLimitedError,
    SendRefusedError,
    SendUnfindableError,
    SendUnknownError,
)
from geode.messages import (
    ButtonPress,
    FileRef,
    InboundMessage,
    JsonObject,
    OutboundBody,
    Part,
    Person,
    Place,
    ProgressStep,
    QuotedMessage,
    Thread,
)
from geode.ports import CatchUpPlan, Channel, ChannelLimits, ChannelStatus, Intake


@dataclass(slots=True)
class Posted:
    """One message of ours as the platform keeps it."""

    id: str
    place: Place
    text: str
    key: str
    edits: list[str] = field(default_factory=list)
    content: bytes = b""
    """Of a file."""
    buttons: dict[str, str] = field(default_factory=dict)
    """Nonces by label: what can be pressed on it now."""


class LoopbackPlatform:
    """What survives a restart of the bot: people's messages, ours, and the faults to come."""

    def __init__(self) -> None:
        self.posted: list[Posted] = []
        self.said: dict[Thread, list[InboundMessage]] = defaultdict(list)
        self.faults: list[str] = []
        """Each send takes the first: down, refused, format, limited, dropped, unsent."""
        self.working: set[str] = set()
        self.mark_faults: list[Exception] = []
        """Taking a mark away fails with the first."""
        self.statuses: list[str] = []
        self.steps: list[tuple[ProgressStep, ...]] = []
        self.finds_by_words = False
        """It shows no keys: the first message with the same words is found."""
        self.is_searchable = True
        """Whether a message of ours can be looked for."""
        self.files: dict[str, bytes | BaseException | asyncio.Event] = {}
        """What a download gives by the file's id; an event: nothing before it is set."""
        self.downloads: list[str] = []
        self._count = 1000

    def attach(self, content: bytes | BaseException, name: str, **more: object) -> FileRef:
        """A file that a person's message may carry."""
        file_id = f"F{len(self.files) + 1}"
        self.files[file_id] = content
        return FileRef(file_id, name, **more)  # type: ignore[arg-type]

    def next_id(self) -> str:
        """Ids grow, and sort as text."""
        self._count += 1
        return f"{self._count:010d}"

    def texts(self, thread: Thread) -> list[str]:
        """What stands in the thread from us, in order, as it reads now."""
        return [post.text for post in self.posted if post.place.thread == thread]

    def message(
        self, thread: Thread, text: str, sender: str = "U1", **more: object
    ) -> InboundMessage:
        """A person's message, addressed unless said otherwise."""
        message_id = self.next_id()
        values: dict[str, object] = {
            "thread": thread,
            "message_id": message_id,
            "order_key": message_id,
            "dedupe_key": f"{thread.channel}:{message_id}",
            "sender": Person(sender, f"name of {sender}"),
            "text": text,
            "is_addressed": True,
            **more,
        }
        message = InboundMessage(**values)  # type: ignore[arg-type]
        self.said[thread].append(message)
        return message

    def press(self, post: Posted, label: str, presser: str = "U1", **more: object) -> ButtonPress:
        """A person presses a button that the message shows."""
        values: dict[str, object] = {
            "thread": post.place.thread,
            "message_id": post.id,
            "presser": Person(presser, f"name of {presser}"),
            "nonce": post.buttons[label],
            "dedupe_key": f"press:{self.next_id()}",
            **more,
        }
        return ButtonPress(**values)  # type: ignore[arg-type]


class LoopbackChannel(Channel):
    """The channel of a `LoopbackPlatform`."""

    def __init__(
        self, platform: LoopbackPlatform, name: str = "loop", *, has_buttons: bool = True
    ) -> None:
        self._platform = platform
        self._has_buttons = has_buttons
        self._name = name
        self._stopped = asyncio.Event()
        self.file_bytes_max = 1_000_000

    @property
    def name(self) -> str:
        return self._name

    @property
    def limits(self) -> ChannelLimits:
        """What it takes at most."""
        return ChannelLimits(text_units_max=4_000, file_bytes_max=self.file_bytes_max)

    def status(self) -> ChannelStatus:
        return ChannelStatus("up")

    async def start(self, intake: Intake) -> None:
        await self._stopped.wait()

    async def stop(self) -> None:
        self._stopped.set()

    def plan(self, body: OutboundBody) -> tuple[Part, ...]:
        if body.steps:
            self._platform.steps.append(body.steps)
        texts = body.markdown.split("\n---\n")
        *parts, last = (Part({"text": text}, text) for text in texts)
        if body.card is not None and self._has_buttons:
            shown: JsonObject = {button.label: button.nonce for button in body.card.buttons}
            last = Part({**last.payload, "buttons": shown}, last.plain)
        return (*parts, last)

    async def send(self, place: Place, part: Part, key: str) -> str:
        await asyncio.sleep(0)
        fault = self._take_fault()
        if fault == "unsent":
            raise SendUnknownError("cut before it arrived")
        post = Posted(self._platform.next_id(), place, self._text(part), key)
        post.buttons = self._buttons(part)
        self._platform.posted.append(post)
        if fault == "dropped":
            raise SendUnknownError("cut after it arrived")
        return post.id

    async def edit(self, place: Place, message_id: str, part: Part) -> None:
        await asyncio.sleep(0)
        fault = self._take_fault()
        if fault == "unsent":
            raise SendUnknownError("cut before it arrived")
        for post in self._platform.posted:
            if post.id == message_id:
                post.edits.append(post.text)
                post.text = self._text(part)
                post.buttons = self._buttons(part)
                break
        else:
            raise SendRefusedError("message_not_found")
        if fault == "dropped":
            raise SendUnknownError("cut after it arrived")

    async def find_sent(
        self, place: Place, key: str, since_us: int, part: Part | None = None
    ) -> str | None:
        await asyncio.sleep(0)
        if not self._platform.is_searchable:
            raise SendUnfindableError("nobody may look")
        if self._platform.finds_by_words:
            return next(
                (p.id for p in self._platform.posted if part and p.text == part.plain), None
            )
        return next((post.id for post in self._platform.posted if post.key == key), None)

    async def download(self, file: FileRef, bytes_max: int) -> bytes:
        self._platform.downloads.append(file.id)
        content = self._platform.files[file.id]
        if isinstance(content, asyncio.Event):
            await content.wait()
            return file.id.encode()
        if isinstance(content, BaseException):
            raise content
        if len(content) > bytes_max:
            raise FileUnavailableError("It is too large.")
        return content

    async def upload(self, place: Place, part: Part, content: bytes, key: str) -> str:
        await asyncio.sleep(0)
        fault = self._take_fault()
        if fault == "unsent":
            raise SendUnknownError("cut before it arrived")
        post = Posted(self._platform.next_id(), place, part.plain, key, content=content)
        self._platform.posted.append(post)
        if fault == "dropped":
            raise SendUnknownError("cut after it arrived")
        return post.id

    async def react(self, place: Place, message_id: str, *, is_on: bool) -> None:
        if not is_on and self._platform.mark_faults:
            raise self._platform.mark_faults.pop(0)
        (self._platform.working.add if is_on else self._platform.working.discard)(message_id)

    async def set_status(self, place: Place, line: str) -> None:
        self._platform.statuses.append(line)

    async def read_earlier(self, thread: Thread, before: str) -> Sequence[QuotedMessage]:
        return [
            QuotedMessage(m.message_id, m.order_key, m.sender, m.text)
            for m in self._platform.said[thread]
            if m.message_id < before
        ]

    async def catch_up(self, plan: CatchUpPlan, intake: Intake) -> None:
        return None

    def _text(self, part: Part) -> str:
        return str(part.payload.get("text", part.plain))

    def _buttons(self, part: Part) -> dict[str, str]:
        return dict(part.payload.get("buttons", {}))  # type: ignore[arg-type]

    def _take_fault(self) -> str:
        fault = self._platform.faults.pop(0) if self._platform.faults else ""
        match fault:
            case "down":
                raise ChannelDownError("no route")
            case "refused":
                raise SendRefusedError("channel_not_found")
            case "format":
                raise FormatRefusedError("invalid_blocks")
            case "limited":
                raise SendRateLimitedError(0.2)
            case _:
                return fault
