"""Discord as a channel: the gateway into the intake, REST out, nothing kept that matters."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal

from channels.discord.answers import Answers
from channels.discord.catchup import CatchUp
from channels.discord.commands import CommandBook
from channels.discord.connection import (
    INTENT_OFF,
    Connection,
    ConnectionTimes,
    Health,
    NeedsOperatorError,
)
from channels.discord.desk import InteractionDesk
from channels.discord.diagnosis import NO_SERVER, diagnose
from channels.discord.directs import Directs
from channels.discord.discovery import DiscordDiscovery, signed_in
from channels.discord.door import FrontDoor
from channels.discord.failures import GONE_CODES, UNKNOWN_CHANNEL, PlatformRefusedError
from channels.discord.files import DiscordFiles
from channels.discord.gateway import GatewayClient, TakeEvent
from channels.discord.guide import GUIDE
from channels.discord.history import DiscordHistory
from channels.discord.intake import EventIntake
from channels.discord.parse import BotIdentity
from channels.discord.places import PLATFORM, channel_of
from channels.discord.recent import RecentMessages
from channels.discord.render import message_fields, render_parts
from channels.discord.rest import Attached, DiscordRest
from channels.discord.settings import DiscordSettings
from channels.discord.spots import Spots
from channels.discord.threads import Threads
from channels.fields import list_of, object_of, text_of
from geode.errors import ChannelDownError, ChannelError, SendRefusedError
from geode.guides import FoundPlace, SetupGuide
from geode.messages import FileRef, JsonObject, OutboundBody, Part, Place, QuotedMessage, Thread
from geode.ports import (
    CatchUpPlan,
    Channel,
    ChannelContext,
    ChannelLimits,
    ChannelStatus,
    Finding,
    Intake,
)

log = logging.getLogger(__name__)

STOP_S = 10.0
LIMITS = ChannelLimits(text_units_max=2_000, file_bytes_max=10_000_000)
NONCE_CHARS_MAX = 25


@dataclass(frozen=True, slots=True)
class DiscordTimes:
    """How long Discord is given for what, in seconds."""

    call_s: float = 15.0
    """One REST call; below delivery's own time-out, so that the outcome has a name."""
    nonce_s: float = 120.0
    """For so long after its row was made a send is repeated under its nonce without a look."""
    connection: ConnectionTimes = field(default_factory=ConnectionTimes)


class DiscordChannel(Channel):
    """The `Channel` of Discord."""

    def __init__(
        self, settings: DiscordSettings, context: ChannelContext, times: DiscordTimes
    ) -> None:
        self._settings = settings
        self._context = context
        self._times = times
        self._rest = DiscordRest(times.call_s)
        self._spots = Spots(self._rest)
        self._recent = RecentMessages()
        self._threads = Threads(self._rest, self._spots, self._recent, context.redactor)
        self._history = DiscordHistory(self._rest)
        self._files = DiscordFiles(self._rest, lambda: self._client)
        self._answers = Answers(self._rest, context.clock, context.redactor)
        self._directs = Directs(self._rest)
        self._client: GatewayClient | None = None
        self._is_blind = False
        """Messages arrive without their text."""
        self._was_started = False
        self._status = ChannelStatus("starting", since_us=context.clock.now_us())
        self._stopping = asyncio.Event()
        self._ended = asyncio.Event()
        self._ended.set()

    @property
    def name(self) -> str:
        """The platform's name as bindings write it."""
        return PLATFORM

    @property
    def limits(self) -> ChannelLimits:
        """What the platform takes at most."""
        return LIMITS

    def status(self) -> ChannelStatus:
        """The present health."""
        return self._status

    def _report(self, state: Health | Literal["stopped"], reason: str = "") -> None:
        if state == "up" and self._is_blind:
            state, reason = "degraded", INTENT_OFF
        if (state, reason) != (self._status.state, self._status.reason):
            log.info("discord_status state=%s reason=%s", state, reason)
            now_us = self._context.clock.now_us()
            self._status = ChannelStatus(state, reason, now_us)

    async def start(self, intake: Intake) -> None:
        """Connect and receive until cancelled or stopped; outages are waited out.

        When Discord refuses the token or an intent it stays there, degraded and silent, until it
        is stopped: trying again would be refused again and counts against the bot.
        """
        token = self._context.secrets.get("token", "")
        self._was_started = True
        self._ended.clear()
        try:
            if token:
                await self._run(token, intake)
            else:
                self._report("degraded", f"{self._token_name} is missing; put it there and reload.")
                await self._stopping.wait()
        except NeedsOperatorError as error:
            said = str(error)
            self._report("degraded", said if said == INTENT_OFF else self._check_token(said))
            await self._stopping.wait()
        finally:
            self._report("stopped")
            self._ended.set()

    @property
    def _token_name(self) -> str:
        return f"channels.discord.token ({self._settings.token})"

    def _check_token(self, said: str) -> str:
        return f"{said}: check {self._token_name} and reload."

    async def _run(self, token: str, intake: Intake) -> None:
        """Receive until stopped; raises `NeedsOperatorError`."""
        events = EventIntake(
            intake,
            self._spots,
            self._recent,
            FrontDoor(intake, self._recent, self._answers),
            identify=self._identify,
            on_no_text=self._note_blind,
        )
        desk = InteractionDesk(intake, self._spots, self._answers)
        book = CommandBook(self._rest, self._context.clock)

        def take(name: str, data: JsonObject) -> None:
            if name == "READY":
                # A new session: nobody replays what was said since the last one.
                intake.mark_catch_up_due(PLATFORM)
                book.ask(text_of(object_of(data, "application"), "id"))
            if name == "INTERACTION_CREATE":
                desk.offer(data)
            else:
                events.offer(name, data)

        parts = (events.run(), desk.run(), book.run(), self._connect(token, take))
        running = {asyncio.create_task(part) for part in (*parts, self._wait_for_stop())}
        try:
            done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                await task
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    async def _wait_for_stop(self) -> None:
        await self._stopping.wait()

    async def _connect(self, token: str, take: TakeEvent) -> None:
        def hear(name: str, data: JsonObject) -> None:
            if name in ("READY", "RESUMED"):
                connection.note_standing()
                self._report("up")
            if name == "READY" and not list_of(data, "guilds"):
                self._report("up", NO_SERVER)
            if name == "GUILD_CREATE" and self._status.reason == NO_SERVER:
                self._report("up")
            take(name, data)

        def open_client() -> GatewayClient:
            return GatewayClient(hear, connection.note_lost, self._settings.proxy)

        connection = Connection(
            open_client,
            clock=self._context.clock,
            times=self._times.connection,
            report=self._report,
            use=self._use,
        )
        await connection.run(token)

    def _use(self, client: GatewayClient | None) -> None:
        self._client = client
        self._rest.use(client)
        self._spots.use(client)
        if client is not None:
            self._is_blind = not client.has_content_intent()

    def _note_blind(self) -> None:
        if self._client is not None and not self._client.has_content_intent():
            self._is_blind = True
            self._report("degraded", INTENT_OFF)

    def _identify(self, guild: str) -> BotIdentity:
        """Who we are there; raises `ChannelDownError` before Discord has said it."""
        user = self._client.user if self._client else None
        if self._client is None or user is None:
            raise ChannelDownError("Discord has not said yet who the bot is.")
        role = self._client.own_role(guild)
        return BotIdentity(str(user.id), user.display_name, (role,) if role else ())

    async def stop(self) -> None:
        """Close every connection; safe to call twice, and before `start`."""
        self._stopping.set()
        async with asyncio.timeout(STOP_S):
            await self._ended.wait()

    def plan(self, body: OutboundBody) -> tuple[Part, ...]:
        """Render a body into at least one part within Discord's limit."""
        return render_parts(body)

    async def send(self, place: Place, part: Part, key: str) -> str:
        """Post one part, in a thread that is opened when it does not stand yet.

        Under the same key Discord makes no second message for some minutes. A channel that was
        not started logs in for the one message.
        """
        if self._was_started:
            return await self._post(place, part, key)
        async with self._signed_in():
            return await self._post(place, part, key)

    async def upload(self, place: Place, part: Part, content: bytes, key: str) -> str:
        """Post a file under its caption; repeated within minutes it makes no second message."""
        assert part.file is not None
        if len(content) > LIMITS.file_bytes_max:
            limit = f"{LIMITS.file_bytes_max:,} bytes"
            raise SendRefusedError(f"A file of more than {limit} is not sent.")
        file = Attached(part.file.name, part.file.media_type, content)
        return await self._post(place, part, key, (file,))

    async def _post(
        self, place: Place, part: Part, key: str, files: Sequence[Attached] = ()
    ) -> str:
        refusal = await self._threads.ensure(place.thread)
        here = channel_of(place.thread)
        fields = message_fields(part)
        fields |= {"nonce": nonce_of(place.thread, key), "enforce_nonce": True}
        try:
            answer = await self._threads.speak(
                place.thread, lambda: self._rest.create_message(here, fields, files)
            )
        except PlatformRefusedError as error:
            if error.code == UNKNOWN_CHANNEL and refusal is not None:
                raise refusal from error
            raise
        self._threads.note_spoken(place.thread)
        return text_of(answer, "id")

    async def edit(self, place: Place, message_id: str, part: Part) -> None:
        """Replace a message of ours."""
        here, fields = channel_of(place.thread), message_fields(part, is_edit=True)
        await self._threads.speak(
            place.thread, lambda: self._rest.edit_message(here, message_id, fields)
        )

    async def download(self, file: FileRef, bytes_max: int) -> bytes:
        """The bytes of a file that a person attached."""
        return await self._files.download(file, bytes_max)

    async def set_status(self, place: Place, line: str) -> None:
        """Show for ten seconds that we are typing, where something can be said already."""
        if not line or not self._threads.is_known(place.thread):
            return
        try:
            await self._rest.show_typing(channel_of(place.thread))
        except ChannelError as error:
            log.debug("discord_typing_not_shown reason=%s", error)

    async def find_sent(
        self, place: Place, key: str, since_us: int, part: Part | None = None
    ) -> str | None:
        """None while the nonce is fresh, since repeating it is safe; then our own messages."""
        age_us = self._context.clock.now_us() - since_us
        if age_us < self._times.nonce_s * 1_000_000:
            return None
        author = self._identify("").user_id
        nonce = nonce_of(place.thread, key)
        return await self._history.find_same(place, nonce, part, since_us, author=author)

    async def react(self, place: Place, message_id: str, *, is_on: bool) -> None:
        """Put the eyes on a person's message or take them away; typing shows beside them."""
        thread = place.thread
        here = channel_of(thread)
        first = thread.channel if message_id == thread.thread else here
        try:
            await self._rest.mark(first, message_id, is_on=is_on)
        except PlatformRefusedError as error:
            if first == here or error.code not in GONE_CODES:
                raise
            # The first message of a forum post stands in the post, not in the forum.
            await self._rest.mark(here, message_id, is_on=is_on)
        if is_on and self._threads.is_known(thread):
            await self._rest.show_typing(here)

    async def read_earlier(self, thread: Thread, before: str) -> Sequence[QuotedMessage]:
        """Up to 50 messages (20 kB) people wrote in the thread before that message."""
        return await self._history.read_earlier(thread, before, self._identify(thread.workspace))

    async def diagnose(self) -> Sequence[Finding]:
        """Whether the token works, messages have their text, and the bot is in a server."""
        client = GatewayClient(lambda name, data: None, lambda: None, self._settings.proxy)
        token = self._context.secrets.get("token", "")
        call_s, places = self._times.call_s, self._context.places
        return await diagnose(client, token, self._token_name, call_s, places)

    def guide(self) -> SetupGuide:
        """How the bot is made and invited."""
        return GUIDE

    async def discover(self, wait_s: float) -> Sequence[FoundPlace]:
        """The channels that the bot sees, with who owns it and who talks there."""
        async with self._signed_in() as client:
            return await DiscordDiscovery(client, self._rest).find()

    @asynccontextmanager
    async def _signed_in(self) -> AsyncGenerator[GatewayClient]:
        client = GatewayClient(lambda name, data: None, lambda: None, self._settings.proxy)
        token = self._context.secrets.get("token", "")
        async with signed_in(client, token, self._times.call_s):
            self._rest.use(client)
            try:
                yield client
            finally:
                self._rest.use(None)

    async def catch_up(self, plan: CatchUpPlan, intake: Intake) -> None:
        """Read back what the plan names, through the intake; raises when part of it failed."""
        run = CatchUp(
            self._rest,
            self._spots,
            FrontDoor(intake, self._recent, self._answers),
            self._directs,
            identify=self._identify,
            clock=self._context.clock,
        )
        await run.run(plan)


def nonce_of(thread: Thread, key: str) -> str:
    """A send's key within Discord's limit; other places and other parts have other nonces."""
    whole = "\n".join((thread.workspace, thread.channel, thread.thread, key))
    return hashlib.sha256(whole.encode()).hexdigest()[:NONCE_CHARS_MAX]


def open_channel(
    settings: DiscordSettings, context: ChannelContext, times: DiscordTimes | None = None
) -> DiscordChannel:
    """The entry point `geode.channels`: a channel that is not connected yet."""
    return DiscordChannel(settings, context, times or DiscordTimes())
