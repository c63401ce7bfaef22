"""Composition: from settings to one daemon whose parts know each other only through ports."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from geode.attended import bind_terminal, is_local, rebind_terminal
from geode.changes import describe_changes, merge_settings
from geode.errors import ConfigError, StoreError
from geode.hooks.build import Hooks, build_hooks
from geode.hooks.programs import place_of
from geode.intake.catchup import CatchUp
from geode.intake.desk import Desk
from geode.intake.inbox import Inbox
from geode.llm.routes import BoundModels, ModelRoute, open_models
from geode.log import get_logger
from geode.mcp.manager import MCPServerManager
from geode.messages import Mode, Place, SessionId, TurnId
from geode.ports import (
    Channel,
    ChannelContext,
    ChannelStatus,
    Clock,
    Failpoints,
    NoFailpoints,
    SystemClock,
)
from geode.records.evidence import EvidenceLedger
from geode.records.transcript import ROOMS, RoomTranscript
from geode.reply.delivery import DELIVERY_LEASE_S, SECOND_LOOK_S, Delivery, DeliveryParts
from geode.reply.redaction import Redactor
from geode.roster import Roster, resolve_channels
from geode.serve.chat import ChatVerbs
from geode.serve.health import DaemonHealth, Moment
from geode.serve.review_control import ReviewControl
from geode.serve.terminal import TerminalChannel, find_owner
from geode.session.assembly import build_services, check_profiles
from geode.session.expiries import Expiries
from geode.session.lanes import LaneQueue
from geode.session.leases import Leases
from geode.session.pruning import open_pruning
from geode.session.redeciding import decide_now
from geode.session.reminders import Reminders
from geode.session.secrecy import hide_secrets
from geode.session.supplies import Search, Supplies, open_search
from geode.settings import TERMINAL
from geode.settings_load import Loaded
from geode.steps import FixedTools, Tool
from geode.store import sessions
from geode.store.blobs import OUTGOING, Blobs
from geode.store.database import Store
from geode.store.timeline import AppendedEntry
from geode.tools.catalogue import register
from geode.tools.fetch.client import fetch
from geode.tools.web_fetch import Fetch
from geode.turn import TurnParts, TurnRunner
from geode.verify.engines import open_judge
from geode.verify.judge import Judge
from geode.verify.turn_check import VerifyParts
from geode.verify.watch import WatchedJudge

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Seams:
    """What a test or a benchmark puts in the place of the real thing."""

    clock: Clock = field(default_factory=SystemClock)
    failpoints: Failpoints = field(default_factory=NoFailpoints)
    route: ModelRoute | None = None
    """A bound model; None: the configured one."""
    judge: Judge | None = None
    """Who judges candidates; None: the configured one."""
    search: Search | None = None
    """What web_search asks; None: the configured service."""
    hooks: Hooks | None = None
    """The operator's own code; None: what is configured."""
    fetch_page: Fetch = fetch
    """The one fetch function, perhaps over another resolver and connector."""
    tools: tuple[Tool, ...] = ()
    """Registered behind the built-in ones."""
    second_look_s: float = SECOND_LOOK_S
    delivery_lease_s: float = DELIVERY_LEASE_S
    is_alone: bool = True
    """The state lock is held, so every lease in the store is a dead one's."""


class Daemon:
    """Everything that runs while GEODE runs; `open` builds it, `run` keeps it, `drain` ends it."""

    def __init__(
        self,
        loaded: Loaded,
        store: Store,
        models: BoundModels,
        redactor: Redactor,
        seams: Seams,
        mcp: MCPServerManager,
    ) -> None:
        self.settings = loaded.settings
        self.store = store
        self.clock = seams.clock
        self.redactor = redactor
        self.channels: dict[str, Channel] = {}
        self.mcp = mcp
        self._models = models
        route = models.answering
        self._drained = asyncio.Event()
        self._is_draining = False
        owner = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        limits = self.settings.limits
        self.delivery = self._make_delivery(loaded, seams, owner)
        self._leases = Leases(store, self.clock, owner, limits.lease_s)
        more = tuple(hide_secrets(tool, redactor.take_out) for tool in register(*seams.tools))
        sources = (FixedTools(more), mcp)
        self._search = seams.search or Search()
        supplies = Supplies(
            redactor.take_out, self._search, seams.hooks, seams.fetch_page, self.delivery.wake
        )
        services = build_services(store, loaded, route, seams.failpoints, sources, supplies)
        self._services = services
        self.decide_now = partial(decide_now, services)
        """What the settings of now say of a tool, for whoever asks why it was refused."""
        store.writer.listener = self._record
        self._histories = services.histories
        self._pruning = open_pruning(store, self.clock, services.shelf.outgoing, loaded)
        judge = seams.judge or open_judge(models, self.clock, redactor.take_out)
        self._judge = WatchedJudge(judge, models.judge_name, self.clock)
        self._runner = TurnRunner(
            TurnParts(
                services,
                self._leases,
                self.delivery,
                self.channels,
                VerifyParts(self._judge, self.clock, services.gate.hooks),
            )
        )
        self.lanes = LaneQueue(
            store, self.clock, self._leases, self._run_session, turns_parallel=limits.turns_parallel
        )
        self._reminders = Reminders(store, self.clock, self.delivery.wake)
        self._expiries = Expiries(store, self.clock, self._go_on, services.find_binding)
        self.catch_up = CatchUp(store, self.clock, self.channels, self.settings.bindings)
        self.health = DaemonHealth(store, self.clock, self.look)
        self.roster = Roster(
            self.channels, self.catch_up, redactor=redactor, context=self._context(loaded, seams)
        )
        desk = Desk(route.name, self.channel_states, redactor.take_out, self.decide_now)
        self.intake = Inbox(store, self.clock, self.settings, self, desk)
        rooms = RoomTranscript(store, self.clock, Blobs(loaded.state_folder / ROOMS))
        self.terminal = TerminalChannel(rooms, find_owner())
        self.chat = ChatVerbs(self.terminal, self.intake, store, self.settings.agent.name)

    def _make_delivery(self, loaded: Loaded, seams: Seams, owner: str) -> Delivery:
        return Delivery(
            DeliveryParts(
                self.store,
                self.channels,
                self.clock,
                seams.failpoints,
                self.redactor,
                owner,
                Blobs(loaded.state_folder / OUTGOING),
                seams.second_look_s,
                seams.delivery_lease_s,
            )
        )

    def _context(self, loaded: Loaded, seams: Seams) -> ChannelContext:
        files = Blobs(loaded.state_folder / ROOMS)
        return ChannelContext(
            self.clock,
            self.redactor,
            seams.failpoints,
            agent_name=self.settings.agent.name,
            transcript=RoomTranscript(self.store, self.clock, files),
            operator_view=self.health,
        )

    @classmethod
    async def open(
        cls,
        loaded: Loaded,
        *,
        environ: Mapping[str, str] | None = None,
        seams: Seams | None = None,
        terminal: Mode = Mode.IPC,
    ) -> Daemon:
        """Bind the model, open the store and the channels; nothing connects yet.

        `terminal` is the mode of sessions at this machine's terminal, which its owner always has.
        Raises `ConfigError` and `StoreError`.
        """
        env = os.environ if environ is None else environ
        bound = bind_terminal(loaded.settings, find_owner().id, terminal)
        loaded = replace(loaded, settings=bound)
        chosen = seams or Seams()
        redactor = Redactor()
        models = open_models(loaded.settings, env, chosen.clock, chosen.route)
        redactor.register(*(key.reveal() for key in models.keys))
        search = chosen.search or open_search(loaded.settings.web.search, env)
        if search.key is not None:
            redactor.register(search.key.reveal())
        hooks = chosen.hooks or await build_hooks(loaded.settings.hooks, place_of(loaded), env)
        redactor.register(*hooks.secrets)
        chosen = replace(chosen, search=search, hooks=hooks)
        store = Store.open(loaded.database_path, chosen.clock, chosen.failpoints)
        try:
            mcp = await MCPServerManager.open(loaded, store, redactor, env)
            daemon = cls(loaded, store, models, redactor, chosen, mcp)
            await daemon.intake.read_moves()
            daemon.roster.open_all(resolve_channels(loaded.settings, env), loaded.settings.bindings)
            daemon.roster.add(daemon.terminal)
            if chosen.is_alone:
                await store.write("leases.expire", sessions.expire_leases)
        except BaseException:
            await store.close()
            raise
        return daemon

    @property
    def degraded(self) -> list[str]:
        """What is configured and cannot be used, one sentence each."""
        faults = [self._search.fault] if self._search.fault else []
        return [
            *faults,
            *self.roster.degraded.values(),
            *self.mcp.degraded,
            *self._judge.degraded,
        ]

    @cached_property
    def evidence(self) -> EvidenceLedger:
        """Diagnostics beside the store."""
        return EvidenceLedger(self._services.state_folder, self.redactor)

    def _record(self, appended: Sequence[AppendedEntry]) -> None:
        """What the store has committed, for everybody who only watches."""
        self._services.events.record(appended)
        self.evidence.record(appended)
        self.health.record(appended)

    @property
    def reviews(self) -> ReviewControl:
        """What the socket's verbs about withheld answers do."""
        return ReviewControl(self.store, self.redactor.take_out, self._go_on)

    def add_channel(self, channel: Channel) -> None:
        """Serve one more channel; only before `run`."""
        self.roster.add(channel)

    async def run(self) -> None:
        """Serve until drained or cancelled; cancelled turns are handed back for the next start."""
        async with asyncio.TaskGroup() as tasks:
            running = [
                tasks.create_task(self.lanes.run(), name="lanes"),
                tasks.create_task(self.delivery.run(), name="delivery"),
                tasks.create_task(self.catch_up.run(self.intake), name="catch-up"),
                tasks.create_task(self._pruning.run(), name="prune"),
                tasks.create_task(self._expiries.run(), name="expiries"),
                tasks.create_task(self._reminders.run(), name="reminders"),
                tasks.create_task(self._histories.run(), name="histories"),
                tasks.create_task(self._services.events.run(), name="events"),
                tasks.create_task(self._warm_up(), name="warm-up"),
                tasks.create_task(self.roster.run(self.intake), name="channels"),
                tasks.create_task(self.mcp.run(), name="mcp servers"),
            ]
            await self._drained.wait()
            for task in running:
                task.cancel()

    async def reload(self, loaded: Loaded, environ: Mapping[str, str] | None = None) -> list[str]:
        """Take over channels, bindings and profiles of checked settings; a sentence per change.

        Raises `ConfigError` or `StoreError`, and then nothing was changed. Running turns go on.
        """
        merged, waiting = merge_settings(self.settings, loaded.settings)
        merged = rebind_terminal(merged, self.settings)
        if not merged.channels:
            raise ConfigError(
                f"{loaded.path or 'There is no geode.toml: it'} configures no channel."
            )
        check_profiles(merged, self._services.toolbox.names)
        env = os.environ if environ is None else environ
        wanted = await asyncio.to_thread(resolve_channels, merged, env)
        await self.catch_up.follow(merged.bindings)
        said = describe_changes(self.settings, merged)
        self.settings = merged
        self.intake.follow(merged)
        self._services.follow(merged)
        return [*said, *await self.roster.follow(wanted, merged.bindings), *waiting]

    async def drain(self, timeout_s: float) -> None:
        """Start no further turn, let the running ones end and be delivered, then let `run` return.

        What still runs after the time-out is handed back and resumed at the next start. Messages
        that arrive meanwhile are stored for then.
        """
        self._is_draining = True
        self.lanes.begin_drain()
        try:
            async with asyncio.timeout(timeout_s):
                await self.lanes.wait_idle()
                await self.delivery.flush()
        except (TimeoutError, StoreError):
            log.warning("drain_timed_out", active=len(self.lanes.active))
        self._drained.set()

    async def close(self) -> None:
        """Close channels, model and store; what is queued in the store is written first."""
        self.delivery.marks.close()
        try:
            await self.roster.close()
            await self._models.aclose()
        finally:
            await self.store.close()
            await asyncio.to_thread(self.evidence.close)

    def _go_on(self, session_id: SessionId) -> None:
        """A question of the session has ended: the card says so, and the turn may go on."""
        self.delivery.wake(session_id)
        self.lanes.wake(session_id)

    def wake_session(self, session_id: SessionId) -> None:
        """A message waits for a turn."""
        self.lanes.wake(session_id)

    def wake_session_later(self, session_id: SessionId) -> None:
        """The same, once nothing was added for a moment."""
        self.lanes.wake_later(session_id)

    def wake_delivery(self, session_id: SessionId) -> None:
        """A row waits to be delivered."""
        self.delivery.wake(session_id)

    def mark_working(self, place: Place, message_id: str, since: float) -> None:
        """Show on the person's message that it was taken; best effort, bounded, never late."""
        self.delivery.marks.begin(place, message_id, since)

    def clear_working(self, place: Place, message_id: str) -> None:
        """The message will not be answered; its working mark goes."""
        self.delivery.marks.begin_clear(place, message_id)

    def stop_turn(self, session_id: SessionId, turn_id: TurnId) -> None:
        """The turn is to end without an answer, if it runs here."""
        self._leases.stop(session_id, turn_id)

    def mark_catch_up_due(self, channel: str) -> None:
        """The channel may have missed events."""
        self.catch_up.mark_due(channel)

    def channel_states(self) -> Mapping[str, ChannelStatus]:
        """Each configured channel's health; the terminal is wherever somebody asks."""
        return {
            name: channel.status() for name, channel in self.channels.items() if name != TERMINAL
        }

    async def status(self) -> dict[str, object]:
        """Health in one object."""
        return await self.health.status()

    def look(self) -> Moment:
        """What the daemon itself knows at this moment."""
        return Moment(
            state="draining" if self._is_draining else "running",
            model=self._models.answering.name,
            judge=self._judge.name,
            turns_running=len(self.lanes.active),
            channels=self.channel_states(),
            degraded=[*self.degraded, *self.intake.tell_moves()],
            ignored=self.intake.ignored,
            commits=self.store.writer.commits,
            timezone=self.settings.agent.timezone,
            evidence_lost=self.evidence.lost,
        )

    async def _run_session(self, session_id: SessionId) -> None:
        if is_local(self.settings) and not await self._is_at_terminal(session_id):
            return  # it waits for a daemon that has its channel
        if await self._runner.run_session(session_id):
            self.lanes.wake(session_id)

    async def _is_at_terminal(self, session_id: SessionId) -> bool:
        try:
            thread = await self.store.read(partial(sessions.find_thread, session_id=session_id))
        except StoreError:
            return False  # the next sweep looks again
        return thread.platform == TERMINAL

    async def _warm_up(self) -> None:
        await self._models.warm_up()
