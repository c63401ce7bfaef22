"""The terminal as a channel: its conversations are rows of ours, its clients come by the socket."""

from __future__ import annotations

import asyncio
import getpass
import os
from dataclasses import dataclass

from geode.attended import WORKSPACE
from geode.errors import (
    ChannelDownError,
    FileUnavailableError,
    SendRefusedError,
    StoreError,
)
from geode.messages import FileRef, OutboundBody, Part, Person, Place, Thread
from geode.ports import Accepted, CatchUpPlan, Channel, ChannelLimits, ChannelStatus, Intake
from geode.serve.terminal_events import read_message
from geode.serve.terminal_news import TerminalNews
from geode.serve.terminal_payloads import TEXT_CHARS_MAX, payload_of, render_parts, render_plain
from geode.settings import TERMINAL
from geode.transcripts import RoomMessage, Transcript

FILE_BYTES_MAX = 20_000_000
LIMITS = ChannelLimits(text_units_max=TEXT_CHARS_MAX, file_bytes_max=FILE_BYTES_MAX)
PAGE = 100
FILE_GONE = "The file is not kept any more; send it again."


@dataclass(frozen=True, slots=True)
class Said:
    """A person's message as it was kept, and what became of it at the front door."""

    message: RoomMessage
    accepted: Accepted


def find_owner() -> Person:
    """Whoever the daemon runs as: only they, and root, reach its socket."""
    number = str(os.geteuid())
    try:
        return Person(number, getpass.getuser())
    except (OSError, KeyError):
        return Person(number, number)  # a container may have no name for its user


class TerminalChannel(Channel):
    """Everything people see of it is a row; what is lost with it is the line of a running turn."""

    def __init__(self, transcript: Transcript, owner: Person) -> None:
        self.transcript = transcript
        self.owner = owner
        self.news = TerminalNews()
        self._status = ChannelStatus("starting")

    @property
    def name(self) -> str:
        """As its binding has it."""
        return TERMINAL

    @property
    def limits(self) -> ChannelLimits:
        """What one message of the terminal holds."""
        return LIMITS

    def status(self) -> ChannelStatus:
        """The present health."""
        return self._status

    def thread_of(self, name: str) -> Thread:
        """The conversation of that name."""
        return Thread(TERMINAL, WORKSPACE, self.owner.id, name)

    async def start(self, intake: Intake) -> None:
        """Nothing is to be connected: clients come by the control socket."""
        self._status = ChannelStatus("up")
        await asyncio.Event().wait()

    async def stop(self) -> None:
        """Let every listener look once more; safe to call twice."""
        self.news.announce()

    def plan(self, body: OutboundBody) -> tuple[Part, ...]:
        """Render a body into parts."""
        return render_parts(body)

    async def send(self, place: Place, part: Part, key: str) -> str:
        """Keep one message of ours; the same key again is the first one."""
        return await self._put(RoomMessage(place.thread, key_sent(key), payload_of(part)))

    async def upload(self, place: Place, part: Part, content: bytes, key: str) -> str:
        """Keep a file with its caption as one message."""
        assert part.file is not None, "a part that is uploaded has a file"
        if len(content) > FILE_BYTES_MAX:
            raise SendRefusedError(f"A file has at most {FILE_BYTES_MAX // 1_000_000} MB here.")
        try:
            await self.transcript.put_file(content)
        except StoreError as error:
            raise ChannelDownError(str(error)) from error
        message = RoomMessage(place.thread, key_sent(key), payload_of(part), files=(part.file,))
        return await self._put(message)

    async def _put(self, message: RoomMessage) -> str:
        try:
            kept = await self.transcript.put(message)
        except StoreError as error:
            # Nothing of a failed unit is stored, and the key would find it if it were.
            raise ChannelDownError(str(error)) from error
        self.news.announce()
        return kept.id

    async def edit(self, place: Place, message_id: str, part: Part) -> None:
        """Replace what a message of ours says."""
        try:
            changed = await self.transcript.change(message_id, payload_of(part))
        except StoreError as error:
            raise ChannelDownError(str(error)) from error
        if changed is None:
            raise SendRefusedError("The message is not kept any more.")
        self.news.announce()

    async def find_sent(
        self, place: Place, key: str, since_us: int, part: Part | None = None
    ) -> str | None:
        """The message that is kept under the key."""
        try:
            found = await self.transcript.find(TERMINAL, key_sent(key))
        except StoreError as error:
            raise ChannelDownError(str(error)) from error
        return None if found is None else found.id

    async def download(self, file: FileRef, bytes_max: int) -> bytes:
        """A file that the person sent."""
        message_id, _, number = file.id.partition("/")
        try:
            message = await self.transcript.read_message(TERMINAL, message_id)
            if message is None or not number.isdecimal() or int(number) >= len(message.files):
                raise FileUnavailableError(FILE_GONE)
            kept = message.files[int(number)]
            if kept.size_bytes > bytes_max:
                raise FileUnavailableError(
                    f"{kept.name} has more than the {bytes_max:,} bytes that are read of a file; "
                    "send a smaller one."
                )
            content = await self.transcript.get_file(kept.sha256, bytes_max)
        except StoreError as error:
            raise ChannelDownError(str(error)) from error
        if content is None:
            raise FileUnavailableError(FILE_GONE)
        return content

    async def set_status(self, place: Place, line: str) -> None:
        """Tell the clients what is being done."""
        self.news.say_line(place.thread, line)

    async def say(self, message: RoomMessage, intake: Intake) -> Said:
        """Keep what the person said, then hand it in; raises `StoreError`.

        The same key again is the same message, so a client that was not answered may repeat it.
        What was kept and not handed in is found by the catch-up.
        """
        kept = await self.transcript.put(message)
        self.news.announce()
        return Said(kept, await self.hand_in(kept, intake))

    async def hand_in(
        self, kept: RoomMessage, intake: Intake, *, is_catch_up: bool = False
    ) -> Accepted:
        """Give intake a kept message, and keep what it answers beside it."""
        accepted = await intake.accept(read_message(kept, is_catch_up=is_catch_up))
        await self.whisper(kept.thread, f"answer:{kept.id}", accepted.answer)
        return accepted

    async def whisper(self, thread: Thread, key: str, answer: str) -> None:
        """Show what intake answers at once; nothing when it answers nothing."""
        if answer:
            await self.transcript.put(RoomMessage(thread, key, render_plain(answer, "notice")))
            self.news.announce()

    async def catch_up(self, plan: CatchUpPlan, intake: Intake) -> None:
        """Hand in what was kept and never taken: a crash may come between the two."""
        for root in plan.roots:
            room = Thread(TERMINAL, root.workspace, root.channel, "")
            await self._read_back(room, root.after, root.since_us, intake)

    async def _read_back(self, room: Thread, after: str, since_us: int, intake: Intake) -> None:
        while True:
            try:
                found = await self.transcript.read_people(
                    room, after=after, since_us=since_us, limit=PAGE
                )
                for message in found:
                    await self.hand_in(message, intake, is_catch_up=True)
                    after = message.id
                if found:
                    await intake.confirm_read(room, after, after)
            except StoreError as error:
                raise ChannelDownError(str(error)) from error
            if len(found) < PAGE:
                return


def key_sent(key: str) -> str:
    """The key of a row that delivery sent under its own."""
    return f"out:{key}"
