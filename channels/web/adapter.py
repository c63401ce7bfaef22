"""The page in the browser as a channel: its rooms are kept by us, behind the transcript's seam."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from channels.web.diagnosis import find_findings
from channels.web.forms import FILE_BYTES_MAX
from channels.web.guard import Guard, list_doors
from channels.web.live import Hub
from channels.web.login import SignIns
from channels.web.pages import Pages
from channels.web.places import PLATFORM, ServedPlaces, direct_room, is_served
from channels.web.render import TEXT_CHARS_MAX, payload_of, render_parts
from channels.web.routes import Routes
from channels.web.server import Server, bind, make_server, run_server
from channels.web.settings import WebSettings
from channels.web.site import Site
from geode.errors import (
    ChannelDownError,
    FileUnavailableError,
    SendRefusedError,
    StoreError,
)
from geode.log import get_logger
from geode.messages import FileRef, OutboundBody, Part, Place, QuotedMessage, Thread
from geode.ports import (
    CatchUpPlan,
    Channel,
    ChannelContext,
    ChannelLimits,
    ChannelStatus,
    Finding,
    Intake,
)
from geode.transcripts import RoomMessage, Transcript

log = get_logger(__name__)

LIMITS = ChannelLimits(text_units_max=TEXT_CHARS_MAX, file_bytes_max=FILE_BYTES_MAX)
EARLIER_MAX = 50
EARLIER_CHARS_MAX = 20_000
PAGE = 100
NO_STORE = "It was opened without the store that keeps its rooms."
NOT_SERVED = "The room is not served any more."


class WebChannel(Channel):
    """Everything people see of it is a row; what is lost with it are marks and status lines."""

    def __init__(self, settings: WebSettings, context: ChannelContext) -> None:
        self._settings = settings
        self._context = context
        self._places = ServedPlaces(context.places)
        self._hub = Hub()
        self._pages = Pages(context.agent_name)
        self._status = self._up = ChannelStatus("starting")
        self._server: Server | None = None
        self._is_stopped = False

    @property
    def name(self) -> str:
        """As bindings write it."""
        return PLATFORM

    @property
    def limits(self) -> ChannelLimits:
        """What one message of the page holds."""
        return LIMITS

    def status(self) -> ChannelStatus:
        """The present health."""
        return self._status

    async def start(self, intake: Intake) -> None:
        """Listen and serve until stopped or cancelled; a taken place is told in the status."""
        settings = self._settings
        if self._is_stopped:
            return
        try:
            listening = await asyncio.to_thread(bind, settings.host, settings.port)
        except OSError as error:
            reason = f"Nothing can listen on {settings.listen} ({error.strerror}); change listen."
            self._status = ChannelStatus("degraded", reason)
            return
        self._hub.is_closed = False
        port = listening.getsockname()[1]
        doors = list_doors(settings.host, port, is_local=settings.is_local, origin=settings.origin)
        site = self._make_site(intake, is_https=doors.origins[0].startswith("https:"))
        app = Guard(Routes(site, self._context.clock).make_app(), doors)
        self._server = make_server(app)
        self._up = self._status = ChannelStatus("up", address=doors.origins[0])
        intake.mark_catch_up_due(PLATFORM)
        try:
            await run_server(self._server, listening)
        finally:
            self._hub.close()
            self._up = self._status = ChannelStatus("down", "It is not listening.")

    def _make_site(self, intake: Intake, *, is_https: bool) -> Site:
        context = self._context
        sign_ins = SignIns(
            context.secrets,
            context.clock,
            has_tokens=self._settings.has_tokens,
            is_https=is_https,
        )
        return Site(
            self._places,
            intake,
            self._transcript,
            self._hub,
            self._pages,
            sign_ins,
            context.redactor,
            context.operator_view,
        )

    @property
    def _transcript(self) -> Transcript:
        if self._context.transcript is None:
            raise ChannelDownError(NO_STORE)
        return self._context.transcript

    async def stop(self) -> None:
        """End every stream and connection; safe to call twice."""
        self._is_stopped = True
        self._hub.close()
        if self._server is not None:
            self._server.should_exit = True

    def follow(self, places: Sequence[Thread]) -> None:
        """Rooms come and go with a reload; open pages look again whether they may be open."""
        self._places.now = places
        self._hub.announce()

    def plan(self, body: OutboundBody) -> tuple[Part, ...]:
        """Render a body into parts."""
        return render_parts(body)

    async def send(self, place: Place, part: Part, key: str) -> str:
        """Keep one message of ours and show it; the same key again is the first one."""
        return await self._put(place, RoomMessage(place.thread, _key(key), payload_of(part)))

    async def upload(self, place: Place, part: Part, content: bytes, key: str) -> str:
        """Keep a file with its caption as one message."""
        assert part.file is not None, "a part that is uploaded has a file"
        if len(content) > FILE_BYTES_MAX:
            raise SendRefusedError(f"A file has at most {FILE_BYTES_MAX // 1_000_000} MB here.")
        try:
            await self._transcript.put_file(content)
        except StoreError as error:
            raise self._tell_down(error) from error
        message = RoomMessage(place.thread, _key(key), payload_of(part), files=(part.file,))
        return await self._put(place, message)

    async def _put(self, place: Place, message: RoomMessage) -> str:
        if not is_served(place.thread, self._places.now):
            raise SendRefusedError(NOT_SERVED)
        try:
            kept = await self._transcript.put(message)
        except StoreError as error:
            # Nothing of a failed unit is stored, and the key would find it if it were.
            raise self._tell_down(error) from error
        self._tell_up()
        return kept.id

    def _tell_up(self) -> None:
        """Our rooms were written."""
        self._status = self._up
        self._hub.announce()

    def _tell_down(self, error: StoreError) -> ChannelDownError:
        """Our rooms cannot be written; the next one that is ends it."""
        self._status = ChannelStatus("down", str(error), address=self._up.address)
        return ChannelDownError(str(error))

    async def edit(self, place: Place, message_id: str, part: Part) -> None:
        """Replace what a message of ours says."""
        try:
            changed = await self._transcript.change(message_id, payload_of(part))
        except StoreError as error:
            raise self._tell_down(error) from error
        if changed is None:
            raise SendRefusedError("The message is not kept any more.")
        self._tell_up()

    async def find_sent(
        self, place: Place, key: str, since_us: int, part: Part | None = None
    ) -> str | None:
        """The message that is kept under the key."""
        try:
            found = await self._transcript.find(PLATFORM, _key(key))
        except StoreError as error:
            raise ChannelDownError(str(error)) from error
        return None if found is None else found.id

    async def download(self, file: FileRef, bytes_max: int) -> bytes:
        """A file that a person sent."""
        message_id, _, number = file.id.partition("/")
        try:
            message = await self._transcript.read_message(PLATFORM, message_id)
            if message is None or not number.isdecimal() or int(number) >= len(message.files):
                raise FileUnavailableError("The file is not kept any more; send it again.")
            kept = message.files[int(number)]
            if kept.size_bytes > bytes_max:
                raise FileUnavailableError(
                    f"{kept.name} has more than the {bytes_max:,} bytes that are read of a file; "
                    "send a smaller one."
                )
            content = await self._transcript.get_file(kept.sha256, bytes_max)
        except StoreError as error:
            raise ChannelDownError(str(error)) from error
        if content is None:
            raise FileUnavailableError("The file is not kept any more; send it again.")
        return content

    async def set_status(self, place: Place, line: str) -> None:
        """Show what is being done below the conversation."""
        self._hub.say_status(place.thread, self._context.redactor.redact(line))

    async def react(self, place: Place, message_id: str, *, is_on: bool) -> None:
        """Show on a person's message that it is worked on."""
        self._hub.mark(place.thread, message_id, is_on=is_on)

    async def read_earlier(self, thread: Thread, before: str) -> Sequence[QuotedMessage]:
        """What people said in the thread before that message."""
        try:
            found = await self._transcript.read_thread(thread, before=before, limit=EARLIER_MAX)
        except StoreError as error:
            raise ChannelDownError(str(error)) from error
        quoted = [
            QuotedMessage(m.id, m.id, m.author, str(m.payload.get("text", "")))
            for m in found
            if m.author is not None
        ]
        return _within(quoted, EARLIER_CHARS_MAX)

    async def diagnose(self) -> Sequence[Finding]:
        """Whether the place can be listened on, and whether the tokens are any good."""
        return await asyncio.to_thread(
            partial(find_findings, self._settings, self._context.secrets, self._places.now)
        )

    async def catch_up(self, plan: CatchUpPlan, intake: Intake) -> None:
        """Hand in what was kept and never taken: a crash may come between the two."""
        rooms = [
            (Thread(PLATFORM, r.workspace, r.channel, ""), r.after, r.since_us) for r in plan.roots
        ]
        known = {root.channel for root in plan.roots}
        for directs in plan.directs:
            own = [(direct_room(person), "", directs.since_us) for person in directs.people]
            # What is a root already goes on behind what was confirmed of it.
            rooms += [each for each in own if each[0].channel not in known]
        site = self._make_site(intake, is_https=False)
        for room, after, since_us in rooms:
            await self._read_back(site, room, after, since_us)

    async def _read_back(self, site: Site, room: Thread, after: str, since_us: int) -> None:
        while True:
            try:
                found = await self._transcript.read_people(
                    room, after=after, since_us=since_us, limit=PAGE
                )
                for message in found:
                    await site.hand_in(message, is_catch_up=True)
                    after = message.id
                if found:
                    await site.intake.confirm_read(room, after, after)
            except StoreError as error:
                raise ChannelDownError(str(error)) from error
            if len(found) < PAGE:
                return


def open_channel(settings: WebSettings, context: ChannelContext) -> Channel:
    """The entry point: builds the channel, listens to nothing yet."""
    return WebChannel(settings, context)


def _key(key: str) -> str:
    return f"out:{key}"


def _within(quoted: list[QuotedMessage], chars_max: int) -> list[QuotedMessage]:
    """The newest ones whose words fit, oldest first."""
    kept: list[QuotedMessage] = []
    left = chars_max
    for message in reversed(quoted):
        left -= len(message.text)
        if left < 0:
            break
        kept.append(message)
    return kept[::-1]
