"""Slack as a channel: Socket Mode into the intake, Block Kit out, nothing kept that matters."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from slack_bolt.app.async_app import AsyncApp
from slack_bolt.middleware.async_middleware import AsyncMiddleware

from channels.errands import Errands
from channels.fields import text_of
from channels.slack.cards import has_plan, render_body, without_plan
from channels.slack.catchup import CatchUp
from channels.slack.diagnosis import diagnose
from channels.slack.discovery import SlackDiscovery
from channels.slack.failures import PlatformRefusedError, TokenRefusedError
from channels.slack.files import SlackFiles
from channels.slack.guide import make_guide
from channels.slack.history import EVENT_TYPE, SlackHistory, root_of
from channels.slack.intake import IntakeMiddleware
from channels.slack.names import Names
from channels.slack.origin import PLATFORM, BotIdentity
from channels.slack.render import render_plain
from channels.slack.settings import SlackSettings
from channels.slack.socket import SingleUseSocket, SlackSocketHandler, SocketTimes
from channels.slack.status import ThreadStatus
from channels.slack.supervisor import Health, SocketSupervisor
from channels.slack.web import SlackWeb
from channels.slack.whispers import Whispers
from geode.errors import ChannelDownError, ChannelError, FormatRefusedError, SendRefusedError
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

REACTION = "eyes"
STOP_S = 10.0
LIMITS = ChannelLimits(text_units_max=3_000, file_bytes_max=50_000_000)


@dataclass(frozen=True, slots=True)
class SlackTimes:
    """How long Slack is given for what, in seconds."""

    call_s: float = 15.0
    """One Web API call; below delivery's own time-out, so that the outcome has a name."""
    socket: SocketTimes = field(default_factory=SocketTimes)


class SlackChannel(Channel):
    """The `Channel` of Slack."""

    def __init__(self, settings: SlackSettings, context: ChannelContext, times: SlackTimes) -> None:
        self._settings = settings
        self._context = context
        self._times = times
        self._app_token = context.secrets.get("app_token", "")
        self._web = SlackWeb(
            settings.api_url, context.secrets.get("bot_token", ""), timeout_s=times.call_s
        )
        self._history = SlackHistory(self._web)
        self._errands = Errands()
        self._names = Names(self._web, self._errands)
        self._thread_status = ThreadStatus(self._web, context.clock, self._errands)
        self._files = SlackFiles(self._web, self._history, context.clock)
        self._planless: set[str] = set()
        """Workspaces that refused a plan; their progress is a line of text."""
        self._bot: BotIdentity | None = None
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
        if (state, reason) != (self._status.state, self._status.reason):
            log.info("slack_status state=%s reason=%s", state, reason)
            self._status = ChannelStatus(state, reason, self._context.clock.now_us())

    async def start(self, intake: Intake) -> None:
        """Connect and receive until cancelled or stopped; every kind of outage is waited out.

        A refused token is reported as degraded and tried again, slowly: it may be replaced or
        unlocked on Slack's side.
        """
        if missing := self._missing_token():
            self._report("degraded", missing)
            return
        self._ended.clear()
        try:
            async with asyncio.TaskGroup() as tasks:
                receiving = tasks.create_task(self._receive(intake))
                await self._stopping.wait()
                receiving.cancel()
        finally:
            await self._errands.close()
            await self._web.close()
            self._status = ChannelStatus("stopped", since_us=self._context.clock.now_us())
            self._ended.set()

    async def stop(self) -> None:
        """Close every connection; safe to call twice, and before `start`."""
        self._stopping.set()
        async with asyncio.timeout(STOP_S):
            await self._ended.wait()
        await self._errands.close()
        await self._web.close()

    def _missing_token(self) -> str:
        for key in ("bot_token", "app_token"):
            if not self._context.secrets.get(key):
                return f"{self._token_name(key)} is missing; put the token there and reload."
        return ""

    def _token_name(self, key: str) -> str:
        return f"channels.slack.{key} ({getattr(self._settings, key)})"

    async def _receive(self, intake: Intake) -> None:
        bot = await self._identify()
        middleware = IntakeMiddleware(
            intake,
            bot,
            self._context.failpoints,
            whispers=Whispers(self._web, self._context.redactor, self._errands),
            names=self._names,
            status=self._thread_status,
        )
        app = self._make_app(middleware)
        supervisor = SocketSupervisor(
            lambda: self._open_handler(app),
            clock=self._context.clock,
            times=self._times.socket,
            report=self._report_socket,
            on_gap=lambda: intake.mark_catch_up_due(PLATFORM),
        )
        await supervisor.run()

    def _make_app(self, middleware: AsyncMiddleware) -> AsyncApp:
        return AsyncApp(
            name=PLATFORM,  # without one the library reads the source of every frame that called it
            client=self._web.client,
            before_authorize=middleware,
            ssl_check_enabled=False,
            request_verification_enabled=False,
            ignoring_self_events_enabled=False,
        )

    def _open_handler(self, app: AsyncApp) -> SlackSocketHandler:
        clock, times = self._context.clock, self._times.socket
        return SlackSocketHandler(app, SingleUseSocket(self._web, self._app_token, clock, times))

    def _report_socket(self, state: Health, reason: str) -> None:
        if state == "degraded":
            reason = f"{reason[:-1]}: check {self._token_name('app_token')}."
        self._report(state, reason)

    async def _identify(self) -> BotIdentity:
        """Who we are; waits until Slack says so."""
        times, pause_s = self._times.socket, self._times.socket.backoff_s_min
        while True:
            try:
                bot = await self._web.identify()
            except TokenRefusedError as error:
                reason = f"{str(error)[:-1]}: check {self._token_name('bot_token')}."
                self._report("degraded", reason)
                await self._context.clock.sleep(times.token_retry_s)
            except ChannelError as error:
                self._report("down", str(error))
                await self._context.clock.sleep(pause_s)
                pause_s = min(pause_s * 2, times.backoff_s_max)
            else:
                self._bot = bot
                return bot

    def plan(self, body: OutboundBody) -> tuple[Part, ...]:
        """Render a body into at least one part, each within Slack's limits."""
        return render_body(body)

    async def send(self, place: Place, part: Part, key: str) -> str:
        """Post one part in its thread and return its time stamp; never retried here."""
        fields: JsonObject = {
            **self._message(place, part),
            "unfurl_links": False,
            "unfurl_media": False,
            "metadata": {"event_type": EVENT_TYPE, "event_payload": {"key": key}},
        }
        if root := root_of(place):
            fields["thread_ts"] = root
        answer = await self._write(place, "chat.postMessage", fields)
        return text_of(answer, "ts")

    async def edit(self, place: Place, message_id: str, part: Part) -> None:
        """Replace a message of ours; its metadata stays."""
        fields = self._message(place, part) | {"ts": message_id}
        fields.pop("mrkdwn", None)  # a post's own; an update has no such argument
        fields.setdefault("blocks", [])
        await self._write(place, "chat.update", fields)

    async def _write(self, place: Place, method: str, fields: JsonObject) -> JsonObject:
        """Post or update; a workspace that refuses a plan gets the line, now and from then on."""
        if not has_plan(fields):
            return await self._web.write(method, fields)
        workspace = place.thread.workspace
        if workspace not in self._planless:
            try:
                return await self._web.write(method, fields)
            except FormatRefusedError as error:
                log.warning("slack_plan_refused workspace=%s reason=%s", workspace, error)
                self._planless.add(workspace)
        return await self._web.write(method, without_plan(fields))

    def _message(self, place: Place, part: Part) -> JsonObject:
        """What a post and an update share; a part without a payload goes as plain text."""
        content: JsonObject = dict(part.payload)
        if not content:
            content = {"text": render_plain(part.plain), "mrkdwn": False}
        shared: JsonObject = {
            "channel": place.thread.channel,
            "link_names": False,
            "parse": "none",
        }
        return shared | content

    async def find_sent(
        self, place: Place, key: str, since_us: int, part: Part | None = None
    ) -> str | None:
        """The time stamp of the message that carries `key`, or None when it is not there.

        A file carries no key: ours with its name and size counts, said since then in the place.
        """
        if part is not None and part.file is not None:
            bot_user = self._known_bot().user_id
            return await self._files.find(place, part.file, since_us, bot_user)
        return await self._history.find_key(place, key, since_us)

    async def upload(self, place: Place, part: Part, content: bytes, key: str) -> str:
        """Post a file with its caption in its thread; never retried here."""
        if len(content) > LIMITS.file_bytes_max:
            raise SendRefusedError(
                f"A file of more than {LIMITS.file_bytes_max:,} bytes is not sent."
            )
        return await self._files.upload(place, part, content)

    async def download(self, file: FileRef, bytes_max: int) -> bytes:
        """The bytes of a file that a person attached."""
        return await self._files.download(file, min(bytes_max, LIMITS.file_bytes_max))

    async def set_status(self, place: Place, line: str) -> None:
        """Show the agent's state by the method that the workspace accepts; none: nothing."""
        await self._thread_status.show(place, self._context.redactor.redact(line))

    async def react(self, place: Place, message_id: str, *, is_on: bool) -> None:
        """Put the eyes on a person's message or take them away; both are repeatable."""
        try:
            await self._web.mark(place.thread.channel, message_id, REACTION, is_on=is_on)
        except PlatformRefusedError as error:
            if error.code not in ("already_reacted", "no_reaction"):
                raise

    async def read_earlier(self, thread: Thread, before: str) -> Sequence[QuotedMessage]:
        """Up to 50 messages (20 kB) people wrote in the thread before that message."""
        quotes = await self._history.read_earlier(thread, before, self._known_bot())
        await self._names.resolve([quote.sender.id for quote in quotes])
        return [replace(quote, sender=self._names.fill(quote.sender)) for quote in quotes]

    async def diagnose(self) -> Sequence[Finding]:
        """Whether both tokens work, and which scopes are missing."""
        names = (self._token_name("bot_token"), self._token_name("app_token"))
        try:
            places = self._context.places
            return await diagnose(self._web, self._app_token, names, places)
        finally:
            await self._web.close()

    def guide(self) -> SetupGuide:
        """How the app is made, and which tokens it gives."""
        return make_guide()

    async def discover(self, wait_s: float) -> Sequence[FoundPlace]:
        """The channels that the bot is in, with the people there, and direct messages."""
        try:
            return await SlackDiscovery(self._web).find()
        finally:
            await self._web.close()

    async def catch_up(self, plan: CatchUpPlan, intake: Intake) -> None:
        """Read back what the plan names, through the intake; raises when part of it failed."""
        run = CatchUp(self._web, self._known_bot(), intake, self._context.clock)
        await run.run(plan)

    def _known_bot(self) -> BotIdentity:
        if self._bot is None:
            raise ChannelDownError("Slack has not said yet who the bot is.")
        return self._bot


def open_channel(
    settings: SlackSettings, context: ChannelContext, times: SlackTimes | None = None
) -> SlackChannel:
    """The entry point `geode.channels`: a channel that is not connected yet."""
    return SlackChannel(settings, context, times or SlackTimes())
