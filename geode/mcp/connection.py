"""One server's owner: one task enters the connection, lists its tools, and leaves it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from importlib.metadata import version

import httpx2
from mcp.client import Client, Transport
from mcp.client.session import IncomingMessage
from mcp.shared.exceptions import MCPError
from mcp_types import Implementation, ToolListChangedNotification
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from geode.errors import McpCallError, McpServerError
from geode.log import get_logger
from geode.mcp.calls import ask_server, explain_failure, fetch_definitions
from geode.mcp.child import Launch
from geode.mcp.definitions import Definition
from geode.mcp.http import open_http
from geode.mcp.listing import Listing, Offer, judge_listing, pick_listed
from geode.mcp.results import judge_answer, render_answer
from geode.mcp.secrets import resolve_environment, resolve_headers
from geode.mcp.server import ServerParts, ServerView, view_of_absent
from geode.mcp.stdio import open_stdio
from geode.messages import JsonObject
from geode.records.guard import Raised, run_guarded
from geode.settings_mcp import McpServerSettings
from geode.steps import Ending, NotApplied, ToolContext
from geode.store.pinned_tools import Pin, Sighting

log = get_logger(__name__)


class ServerConnection:
    """Keeps one server connected for as long as `run` is not cancelled."""

    def __init__(self, name: str, settings: McpServerSettings, parts: ServerParts) -> None:
        self.name = name
        self.settings = settings
        self.view = view_of_absent(name, settings, "starting", "")
        self.generation = 0
        self._parts = parts
        self._client: Client | None = None
        self._news = asyncio.Event()
        self._lost = asyncio.Event()
        self._definitions: tuple[Definition, ...] = ()
        self._recorded: dict[str, str] = {}
        self._pins: dict[str, Pin] = {}

    async def run(self) -> None:
        """Connect, and connect again after a pause whenever the connection breaks."""
        clock, pauses = self._parts.clock, self._parts.pauses
        pause_s = pauses.retry_first_s
        while True:
            started = clock.monotonic()
            ended = await run_guarded(f"the server {self.name}", self._live)
            _stop_if_cancelled()
            reason = ended.sentence if isinstance(ended, Raised) else "it ended"
            self._show(view_of_absent(self.name, self.settings, "down", reason))
            if clock.monotonic() - started >= pauses.steady_s:
                pause_s = pauses.retry_first_s
            await clock.sleep(pause_s)
            pause_s = min(pause_s * 2, pauses.retry_max_s)

    async def call(self, offer: Offer, context: ToolContext, arguments: JsonObject) -> Ending:
        """Send one call and say how it ended.

        Raises `McpCallError` when an effect went out and its outcome is unknown. `NotApplied` of an
        effect means that nothing was sent.
        """
        client, now = self._client, self.view.listing.offers.get(offer.tool)
        if client is None or now is None:
            return NotApplied(f"Nothing was sent: {self._why_not(offer.tool)}")
        if now.definition.digest != offer.definition.digest:
            return NotApplied(f"Nothing was sent: {offer.name} has changed since this step began.")
        left_s = context.deadline - self._parts.clock.monotonic()
        limit_s = min(offer.settings.timeout_s, left_s)
        if limit_s <= 0:
            return NotApplied("Nothing was sent: the time of this turn is used up.")
        try:
            answer = await ask_server(client, self.name, offer.tool, arguments, limit_s)
        except McpCallError as error:
            self._news.set()
            if offer.settings.effect == "read":
                return NotApplied(self._parts.keeper.take_out(str(error)))
            raise
        text = self._parts.keeper.take_out(render_answer(answer))
        return judge_answer(answer, text, offer.settings)

    def follow_pin(self, pin: Pin) -> None:
        """An operator accepted another definition: judge the last list again."""
        self._pins[pin.tool] = pin
        if self.view.phase == "up":
            self._judge()

    async def _live(self) -> None:
        self._lost.clear()
        self._news.clear()
        try:
            await self._connect_and_attend()
        except (
            MCPError,
            httpx2.HTTPError,
            httpx2.InvalidURL,
            OSError,
            ValueError,
            RuntimeError,
            ExceptionGroup,
        ) as error:
            raise McpServerError(explain_failure(error, self.settings.start_timeout_s)) from error

    async def _connect_and_attend(self) -> None:
        client = Client(
            await self._open(),
            cache=None,  # a list is always the server's own
            client_info=Implementation(name="geode", version=version("geode")),
            message_handler=self._hear,
        )
        async with AsyncExitStack() as stack:
            async with asyncio.timeout(self.settings.start_timeout_s):
                await stack.enter_async_context(client)
                self._client = client
                await self._list(client)
            watch = asyncio.create_task(self._watch(client), name=f"news of {self.name}")
            try:
                await self._attend(client)
            finally:
                self._client = None
                watch.cancel()
                await asyncio.wait({watch})

    async def _open(self) -> Transport:
        settings, parts = self.settings, self._parts
        if settings.url:
            headers = await asyncio.to_thread(resolve_headers, settings, parts.environ)
            parts.keeper.register(*headers.secrets)
            return open_http(settings.url, headers.values)
        environment = await asyncio.to_thread(resolve_environment, settings, parts.environ)
        parts.keeper.register(*environment.secrets)
        folder = parts.state_folder / settings.cwd  # an absolute one replaces it
        launch = Launch(self.name, settings.command, environment.values, folder)
        return open_stdio(launch, self._lose)

    def _lose(self) -> None:
        self._lost.set()
        self._news.set()

    async def _hear(self, message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            self._news.set()

    async def _watch(self, client: Client) -> None:
        """Where news are told only to those who ask: ask; without them the looks are enough."""
        tools = client.server_capabilities.tools
        is_modern = client.protocol_version in MODERN_PROTOCOL_VERSIONS
        if not is_modern or tools is None or not tools.list_changed:
            return
        try:
            async with client.listen(tools_list_changed=True) as told:
                async for _ in told:
                    self._news.set()
        except (MCPError, RuntimeError) as error:
            log.info("mcp_news_not_told", server=self.name, reason=type(error).__name__)

    async def _attend(self, client: Client) -> None:
        """Look again at news and from time to time, however often the server calls."""
        pauses = self._parts.pauses
        pause_s = pauses.news_first_s
        while True:
            is_told = await _happens(self._news, pauses.look_s)
            pause_s = pause_s if is_told else pauses.news_first_s
            if self._lost.is_set() or (is_told and await _happens(self._lost, pause_s)):
                raise McpServerError("it ended, or closed the connection")
            self._news.clear()
            async with asyncio.timeout(self.settings.start_timeout_s):
                await self._list(client)
            if is_told:
                pause_s = min(pause_s * 2, pauses.news_max_s)

    async def _list(self, client: Client) -> None:
        keeper = self._parts.keeper
        self._definitions = await fetch_definitions(client, keeper.take_out)
        await self._record(pick_listed(self.settings, self._definitions))
        self._judge()

    async def _record(self, listed: Sequence[Definition]) -> None:
        seen = {each.tool: each.digest for each in listed}
        if seen != self._recorded or not self._pins:
            rows = [Sighting(each.tool, each.digest, each.text) for each in listed]
            self._pins = dict(await self._parts.record(self.name, rows))
            self._recorded = seen

    def _judge(self) -> None:
        listing = judge_listing(self.name, self.settings, self._definitions, self._pins)
        self._show(ServerView("up", "", listing))

    def _show(self, view: ServerView) -> None:
        if view == self.view:
            return
        before, self.view = self.view, view
        self.generation += 1
        if view.phase != before.phase or view.reason != before.reason:
            log.info("mcp_server", server=self.name, state=view.phase, reason=view.reason)
        for sentence in _new_absences(before.listing, view.listing):
            log.warning("mcp_tool_absent", server=self.name, reason=sentence)

    def _why_not(self, tool: str) -> str:
        why = self.view.listing.absences.get(tool)
        return why.sentence if why is not None else f"the server {self.name} is not connected."


def _new_absences(before: Listing, now: Listing) -> list[str]:
    said = {each.sentence for each in before.absences.values()}
    return [
        each.sentence
        for each in now.absences.values()
        if each.sentence not in said and each.rule not in {"mcp.server_down", "mcp.server_starting"}
    ]


def _stop_if_cancelled() -> None:
    """A cancellation that meets the end of a connection may be lost in its unwinding."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


async def _happens(event: asyncio.Event, within_s: float) -> bool:
    with suppress(TimeoutError):
        async with asyncio.timeout(within_s):
            await event.wait()
    return event.is_set()
