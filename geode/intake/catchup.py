"""Catch-up: after a gap each channel reads back what it missed, through the same front door.

A place is read from its floor. Only the channel's own word raises a floor, so a catch-up that is
cut short, or a place that the platform refuses, leaves what was not read to the next one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from geode.errors import ChannelError, StoreError
from geode.log import get_logger
from geode.messages import Thread
from geode.ports import CatchUpDirects, CatchUpPlan, Channel, Clock, Intake
from geode.settings import Binding
from geode.settings_ids import DIRECT_MESSAGES
from geode.store import cursors, moves
from geode.store.database import Store, Tx

log = get_logger(__name__)

ACTIVE_WITHIN_US = 7 * 86_400_000_000
THREADS_MAX = 200
CATCH_UP_TIMEOUT_S = 600.0
RETRY_S_MAX = 60.0
INTERVAL_S = 6 * 3600.0
"""Also without a known gap: what is read back stays short, and a silent loss is found."""


class CatchUp:
    """Runs a channel's catch-up when it is due: at start, after a gap, when storage works again."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        channels: Mapping[str, Channel],
        bindings: Sequence[Binding],
        interval_s: float = INTERVAL_S,
    ) -> None:
        self._store = store
        self._clock = clock
        self._channels = channels
        self._bindings = bindings
        self._interval_s = interval_s
        self._due = {name: asyncio.Event() for name in channels}
        self._begun = asyncio.Event()
        self._serving: dict[str, asyncio.Task[None]] = {}
        self._begin: Callable[[str], None] | None = None
        """Serves one more channel, while `run` runs."""

    def watch(self, channel: str) -> None:
        """Serve one more channel, which is due at once."""
        self._due.setdefault(channel, asyncio.Event())
        if self._begin is not None:
            self._begin(channel)

    def forget(self, channel: str) -> None:
        """Serve a channel no longer, until it is watched again."""
        self._due.pop(channel, None)
        if task := self._serving.pop(channel, None):
            task.cancel()

    async def follow(self, bindings: Sequence[Binding]) -> None:
        """Serve these bindings from now on; raises `StoreError`, and then serves those of before.

        What was said in a new place before now is not read back.
        """
        await self._store.write("cursors.begin", self._begin_places(bindings))
        self._bindings = bindings

    async def wait_begun(self) -> None:
        """Return once every bound place has its beginning: what is said from now on is found."""
        await self._begun.wait()

    def mark_due(self, channel: str) -> None:
        """The channel may have missed events."""
        if channel in self._due:
            self._due[channel].set()

    def is_due(self, channel: str) -> bool:
        """Whether the channel still has to read back."""
        return channel in self._due and self._due[channel].is_set()

    async def run(self, intake: Intake) -> None:
        """Serve every channel until cancelled; each is due once at the start."""
        await self.begin_cursors()
        self._begun.set()
        async with asyncio.TaskGroup() as tasks:

            def begin(name: str) -> None:
                self._due[name].set()
                serving = self._serve(self._channels[name], intake)
                self._serving[name] = tasks.create_task(serving, name=f"catch-up {name}")

            self._begin = begin
            for name in self._channels:
                begin(name)
            await asyncio.Event().wait()

    def _begin_places(self, bindings: Sequence[Binding]) -> Callable[[Tx], None]:
        now_us = self._clock.now_us()

        def unit(tx: Tx) -> None:
            moves.follow_bindings(tx, {binding.key for binding in bindings})
            for binding in bindings:
                place = binding.place
                root = Thread(binding.channel, place.workspace, place.channel, "")
                cursors.begin_cursor(tx, root, now_us)

        return unit

    async def begin_cursors(self) -> None:
        """Let every bound place begin where it stands; waits until that could be stored."""
        unit = self._begin_places(self._bindings)
        wait_s = 1.0
        while True:
            try:
                await self._store.write("cursors.begin", unit)
            except StoreError as error:
                log.warning("cursors_not_begun", reason=str(error))
                await self._clock.sleep(wait_s)
                wait_s = min(RETRY_S_MAX, wait_s * 2)
            else:
                return

    async def _serve(self, channel: Channel, intake: Intake) -> None:
        due = self._due[channel.name]
        wait_s = 1.0
        while True:
            await self._wait_due(due)
            due.clear()
            try:
                async with asyncio.timeout(CATCH_UP_TIMEOUT_S):
                    await channel.catch_up(await self._plan(channel.name), intake)
            except Exception as error:  # boundary: channel event
                if isinstance(error, (ChannelError, StoreError, TimeoutError)):
                    log.warning("catch_up_failed", channel=channel.name, reason=str(error))
                else:
                    log.exception("catch_up_failed", channel=channel.name)
                due.set()
                await self._clock.sleep(wait_s)
                wait_s = min(RETRY_S_MAX, wait_s * 2)
            else:
                wait_s = 1.0

    async def _wait_due(self, due: asyncio.Event) -> None:
        try:
            async with asyncio.timeout(self._interval_s):
                await due.wait()
        except TimeoutError:
            return

    async def _plan(self, platform: str) -> CatchUpPlan:
        since_us = self._clock.now_us() - ACTIVE_WITHIN_US
        places, threads = await self._store.read(
            lambda tx: (
                cursors.list_roots(tx, platform),
                cursors.list_threads(tx, platform, since_us, THREADS_MAX),
            )
        )
        begun = {
            each.workspace: each.since_us for each in places if each.channel == DIRECT_MESSAGES
        }
        # A direct message's own row says nothing of what was missed before it was made.
        roots = tuple(
            replace(each, since_us=each.since_us or begun.get(each.workspace, 0))
            for each in places
            if each.channel != DIRECT_MESSAGES
        )
        directs = tuple(
            CatchUpDirects(workspace, people, since_us)
            for workspace, since_us in begun.items()
            if (people := self._find_people(platform, workspace))
        )
        return CatchUpPlan(roots, threads, directs)

    def _find_people(self, platform: str, workspace: str) -> tuple[str, ...]:
        """Who is served in direct messages there now."""
        return tuple(
            person
            for binding in self._bindings
            if binding.channel == platform
            and binding.place.is_direct
            and binding.place.workspace == workspace
            for person in (*binding.people, *binding.operators)
        )
