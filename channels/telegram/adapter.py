"""Telegram as a channel: long polling into the intake, text with entities out."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

from channels.errands import Errands
from channels.telegram.answers import Answers
from channels.telegram.claim import TokenClaim
from channels.telegram.commands import register_commands
from channels.telegram.diagnosis import diagnose
from channels.telegram.discovery import TelegramDiscovery
from channels.telegram.entities import BotIdentity
from channels.telegram.failures import PlatformRefusedError, TokenRefusedError
from channels.telegram.flood import ChatPauses
from channels.telegram.guide import GUIDE
from channels.telegram.health import Health
from channels.telegram.places import PLATFORM, topic_of
from channels.telegram.polling import PollingTimes, UpdatePoller
from channels.telegram.privacy import advise_on_privacy
from channels.telegram.reception import Reception
from channels.telegram.render import mark_doubled, render_caption, render_parts, render_plain
from channels.telegram.settings import TELEGRAM_API_URL, TelegramSettings
from channels.telegram.web import Target, TelegramWeb, Upload
from channels.telegram.webhook import (
    BAD_SECRET,
    SECRET,
    WebhookPlace,
    WebhookReceiver,
    WebhookTimes,
)
from geode.errors import (
    ChannelDownError,
    ChannelError,
    PlaceMovedError,
    SendRefusedError,
    SendUnfindableError,
    StoreError,
)
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

REACTION = "👀"
PHOTO_TYPES = frozenset({"image/jpeg", "image/png", "image/webp"})
PHOTO_BYTES_MAX = 10_000_000
STOP_S = 10.0
LIMITS = ChannelLimits(text_units_max=4_096, file_bytes_max=20_000_000)
STAYED_BEHIND = "The message stayed in the chat that the group was before."
NO_TOKEN = "0:none"  # noqa: S105 - stands where a token is missing


@dataclass(frozen=True, slots=True)
class TelegramTimes:
    """How long Telegram is given for what, in seconds."""

    call_s: float = 15.0
    """One call; below delivery's own time-out, so that the outcome has a name."""
    polling: PollingTimes = field(default_factory=PollingTimes)
    webhook: WebhookTimes = field(default_factory=WebhookTimes)


class TelegramChannel(Channel):
    """The `Channel` of Telegram."""

    def __init__(
        self, settings: TelegramSettings, context: ChannelContext, times: TelegramTimes
    ) -> None:
        self._settings = settings
        self._context = context
        self._times = times
        self._token = context.secrets.get("token", "")
        api_url = settings.api_url or TELEGRAM_API_URL
        self._web = TelegramWeb(api_url, self._token or NO_TOKEN, timeout_s=times.call_s)
        self._pauses = ChatPauses(context.clock)
        self._errands = Errands()
        self._claim = TokenClaim(api_url, self._token)
        self._intake: Intake | None = None
        self._advice = ""
        """What the operator should do though updates come in."""
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

    def _report(self, state: Health, reason: str) -> None:
        reason = reason or (self._advice if state == "up" else "")
        if (state, reason) != (self._status.state, self._status.reason):
            log.info("telegram_status state=%s reason=%s", state, reason)
            self._status = ChannelStatus(state, reason, self._context.clock.now_us())

    async def start(self, intake: Intake) -> None:
        """Receive until cancelled or stopped; every kind of outage is waited out.

        A refused token is reported as degraded and tried again, slowly: it may be replaced.
        """
        if reason := self._find_fault():
            self._report("degraded", reason)
            return
        self._ended.clear()
        self._intake = intake
        try:
            await self._web.open()
            async with asyncio.TaskGroup() as tasks:
                receiving = tasks.create_task(self._receive(intake))
                await self._stopping.wait()
                receiving.cancel()
        finally:
            await self._errands.close()
            self._claim.release()
            # Delivery may still be sending; `stop` closes the connections.
            self._status = ChannelStatus("stopped", since_us=self._context.clock.now_us())
            self._ended.set()

    def _find_fault(self) -> str:
        """What only the operator can mend before anything is tried."""
        if not self._token:
            return "The token is missing."
        secret = self._context.secrets.get("webhook_secret", "")
        if self._settings.mode == "webhook" and not SECRET.fullmatch(secret):
            return BAD_SECRET
        return ""

    async def stop(self) -> None:
        """Close every connection; safe to call twice, and before `start`."""
        self._stopping.set()
        async with asyncio.timeout(STOP_S):
            await self._ended.wait()
        await self._web.close()

    async def _receive(self, intake: Intake) -> None:
        await self._take_claim()
        bot = await self._identify()
        self._errands.begin("register_commands", register_commands(self._web))
        self._errands.begin("advise", self._advise(bot))
        clock, times = self._context.clock, self._times
        answers = Answers(self._web, self._context.redactor, self._pauses, self._errands)
        reception = Reception(
            bot.id, intake, answers, clock=clock, failpoints=self._context.failpoints
        )
        if self._settings.mode == "polling":
            poller = UpdatePoller(self._web, bot, reception, clock=clock, times=times.polling)
            await poller.run(self._report)
            return
        place = WebhookPlace(
            self._settings.webhook_url,
            self._settings.webhook_listen,
            self._context.secrets.get("webhook_secret", ""),
        )
        receiver = WebhookReceiver(
            self._web, bot, reception, place, clock=clock, times=times.webhook
        )
        await receiver.run(self._report)

    async def _take_claim(self) -> None:
        """Wait until no other process of this machine receives this bot's updates."""
        while holder := await asyncio.to_thread(self._claim.take):
            self._report("degraded", f"Another GEODE ({holder}) has this token: stop it.")
            await self._context.clock.sleep(self._times.polling.conflict_retry_s)

    async def _advise(self, bot: BotIdentity) -> None:
        self._advice = await advise_on_privacy(self._web, bot, self._context.places)
        if self._status.state == "up":
            self._report("up", "")

    async def _identify(self) -> BotIdentity:
        """Who we are, with no webhook in the way of polling; waits until Telegram says so."""
        times = self._times.polling
        pause_s = times.backoff_s_min
        while True:
            try:
                bot = await self._web.identify()
                if self._settings.mode == "polling":
                    await self._web.leave_webhook()
            except TokenRefusedError as error:
                where = f"check channels.telegram.token ({self._settings.token})"
                self._report("degraded", f"{str(error)[:-1]}: {where}.")
                await self._context.clock.sleep(times.token_retry_s)
            except ChannelError as error:
                self._report("down", str(error))
                await self._context.clock.sleep(pause_s)
                pause_s = min(pause_s * 2, times.backoff_s_max)
            else:
                return bot

    def plan(self, body: OutboundBody) -> tuple[Part, ...]:
        """Render a body into at least one part, each within Telegram's limit."""
        return render_parts(body)

    async def send(self, place: Place, part: Part, key: str) -> str:
        """Post one part and return its id; never retried here, and Telegram keeps no key.

        A group that became a supergroup is followed: nothing was sent, messages have new ids
        there, and a basic group has no topics.
        """
        content = _content(part)
        return await self._post(place, lambda to: self._web.send(to, content))

    async def upload(self, place: Place, part: Part, content: bytes, key: str) -> str:
        """Post a file with its caption, pictures as such; as `send` otherwise."""
        assert part.file is not None, "a part to upload is a file"
        if len(content) > LIMITS.file_bytes_max:
            limit = f"{LIMITS.file_bytes_max:,} bytes"
            raise SendRefusedError(f"A file of more than {limit} is not sent to Telegram.")
        caption = render_caption(part.plain) if part.plain.strip() else {}
        is_photo = part.file.media_type in PHOTO_TYPES and len(content) <= PHOTO_BYTES_MAX
        file = Upload(part.file.name, content, caption, is_photo=is_photo)
        try:
            return await self._post(place, lambda to: self._web.upload(to, file))
        except PlatformRefusedError:
            if not is_photo:
                raise
            # Not every picture is one that Telegram takes as a photo.
            document = replace(file, is_photo=False)
            return await self._post(place, lambda to: self._web.upload(to, document))

    async def _post(self, place: Place, post: Callable[[Target], Awaitable[str]]) -> str:
        chat = place.thread.channel
        try:
            with self._pauses.pacing(chat):
                return await post(Target(chat, topic_of(place.thread), _id_of(place.reply_to)))
        except PlaceMovedError as error:
            await self._note_move(place.thread, error.new_channel)
            with self._pauses.pacing(error.new_channel):
                return await post(Target(error.new_channel))

    def mark_repeated(self, part: Part) -> Part:
        """The part with a line that says that it may stand there twice."""
        return mark_doubled(part)

    async def download(self, file: FileRef, bytes_max: int) -> bytes:
        """A file's bytes; of more than 20 MB the public Bot API hands out nothing."""
        return await self._web.download(file.id, bytes_max)

    async def set_status(self, place: Place, line: str) -> None:
        """Show the typing indicator; it ends by itself."""
        chat = place.thread.channel
        if line:
            with self._pauses.pacing(chat):
                await self._web.show_typing(chat, topic_of(place.thread))

    async def edit(self, place: Place, message_id: str, part: Part) -> None:
        """Replace a message of ours; one that already reads so is fine."""
        if not _id_of(message_id):
            raise SendRefusedError(STAYED_BEHIND)
        chat = place.thread.channel
        try:
            with self._pauses.pacing(chat):
                await self._web.edit(chat, message_id, _content(part))
        except PlaceMovedError as error:
            await self._note_move(place.thread, error.new_channel)
            raise SendRefusedError(STAYED_BEHIND) from error
        except PlatformRefusedError as error:
            if not error.is_unmodified:
                raise

    async def _note_move(self, thread: Thread, new_chat: str) -> None:
        """Let the core move what it keeps of the chat; raises `ChannelDownError` when it cannot."""
        log.warning("telegram_group_migrated old=%s new=%s", thread.channel, new_chat)
        if self._intake is None:
            return
        old = replace(thread, thread="")
        try:
            await self._intake.move_place(old, replace(old, channel=new_chat))
        except StoreError as error:
            raise ChannelDownError("The group moved, and that could not be noted.") from error

    async def find_sent(
        self, place: Place, key: str, since_us: int, part: Part | None = None
    ) -> str | None:
        """Telegram lets a bot look for nothing: raises `SendUnfindableError`."""
        raise SendUnfindableError("Telegram lets a bot read no history.")

    async def react(self, place: Place, message_id: str, *, is_on: bool) -> None:
        """Put the eyes on a person's message or take them away; both are repeatable."""
        if not _id_of(message_id):
            return
        chat = place.thread.channel
        with self._pauses.pacing(chat):
            await self._web.mark(chat, message_id, REACTION if is_on else "")

    async def read_earlier(self, thread: Thread, before: str) -> Sequence[QuotedMessage]:
        """Nothing: Telegram shows a bot no history."""
        return ()

    async def diagnose(self) -> Sequence[Finding]:
        """Whether the token works, who else receives with it, and what privacy mode does."""
        where = f"channels.telegram.token ({self._settings.token})"
        is_polling = self._settings.mode == "polling"
        await self._web.open()
        try:
            found = await diagnose(self._web, self._context.places, where, is_polling=is_polling)
        finally:
            await self._web.close()
        if holder := await asyncio.to_thread(self._claim.take):
            sentence = f"A GEODE of this machine ({holder}) receives with this token."
            return [*found, Finding("ok", "receiver", sentence)]
        self._claim.release()
        return found

    def guide(self) -> SetupGuide:
        """How the bot is made, and what privacy mode does."""
        return GUIDE

    async def discover(self, wait_s: float) -> Sequence[FoundPlace]:
        """The chats from which somebody writes to the bot within that time."""
        await self._web.open()
        try:
            return await TelegramDiscovery(self._web, self._claim, self._context.clock).find(wait_s)
        finally:
            await self._web.close()

    async def catch_up(self, plan: CatchUpPlan, intake: Intake) -> None:
        """Nothing to do: Telegram keeps what is not confirmed for a day, and polling takes it."""
        return


def _id_of(message_id: str) -> int:
    """A message's number; 0 for none, and for one of a chat that this one was before."""
    return int(message_id) if message_id.isdecimal() else 0


def _content(part: Part) -> JsonObject:
    """What is sent of a part; one without a payload goes as plain text."""
    return dict(part.payload) if part.payload else render_plain(part.plain)


def open_channel(
    settings: TelegramSettings, context: ChannelContext, times: TelegramTimes | None = None
) -> TelegramChannel:
    """The entry point `geode.channels`: a channel that is not connected yet."""
    return TelegramChannel(settings, context, times or TelegramTimes())
