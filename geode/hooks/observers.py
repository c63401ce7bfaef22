"""Observation of what happens: recorded, never asked."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from geode.errors import HookError
from geode.hooks.code import ObservingCode
from geode.hooks.events import LifecycleEvent, event_of
from geode.hooks.waiting import LATE, wait_for
from geode.log import get_logger
from geode.records.guard import Raised
from geode.settings_hooks import HOOK_S_MAX
from geode.store.timeline import AppendedEntry

log = get_logger(__name__)

QUEUE_MAX = 256
"""Events that one observer may be behind; beyond, its oldest are dropped."""


class LogObserver:
    """The built-in observer: every event is a line of the debug log."""

    async def tell(self, event: LifecycleEvent) -> None:
        """Write the line."""
        log.debug(event.name, session=event.session_id, turn=event.turn_id, body=event.body)


@dataclass(frozen=True, slots=True)
class RegisteredObserver:
    """One observer under the name that the configuration gives it: `Observe[1]`."""

    name: str
    code: ObservingCode
    events: frozenset[str] = frozenset()
    """Empty: every event."""
    timeout_s: float = HOOK_S_MAX


class HookSystem:
    """Receives events and hands them to observers; it decides nothing, its failure nothing."""

    def __init__(self, observers: Sequence[RegisteredObserver] = ()) -> None:
        built_in = RegisteredObserver("log", LogObserver())
        self._lines = [_Line(observer) for observer in (built_in, *observers)]

    @property
    def dropped(self) -> int:
        """Events that observers were too slow for."""
        return sum(line.dropped for line in self._lines)

    def emit(self, event: LifecycleEvent) -> None:
        """Take the event and return at once; never raises."""
        for line in self._lines:
            line.put(event)

    def record(self, appended: Sequence[AppendedEntry]) -> None:
        """Emit what the timeline holds now; never raises."""
        for each in appended:
            event = event_of(each)
            if event is not None:
                self.emit(event)

    async def run(self) -> None:
        """Hand on what is emitted until cancelled; what nobody was told by then is forgotten."""
        async with asyncio.TaskGroup() as tasks:
            for line in self._lines:
                tasks.create_task(line.run(), name=f"observer {line.observer.name}")


@dataclass(slots=True)
class _Line:
    """What waits for one observer; a slow one keeps up nobody else."""

    observer: RegisteredObserver
    waiting: deque[LifecycleEvent] = field(default_factory=deque[LifecycleEvent])
    has_some: asyncio.Event = field(default_factory=asyncio.Event)
    dropped: int = 0
    said: set[str] = field(default_factory=set[str])
    """Kinds of failure that the log holds already."""

    def put(self, event: LifecycleEvent) -> None:
        if self.observer.events and event.name not in self.observer.events:
            return
        if len(self.waiting) == QUEUE_MAX:
            self.waiting.popleft()
            self.dropped += 1
            self._say("dropped", "is too slow, so its oldest events are dropped")
        self.waiting.append(event)
        self.has_some.set()

    async def run(self) -> None:
        while True:
            await self.has_some.wait()
            event = self.waiting.popleft()
            if not self.waiting:
                self.has_some.clear()
            await self._tell(event)

    async def _tell(self, event: LifecycleEvent) -> None:
        async def tell() -> str:
            try:
                await self.observer.code.tell(event)
            except HookError as error:
                return str(error)
            return ""

        answer = await wait_for(self.observer.name, tell, self.observer.timeout_s)
        if answer is LATE:
            self._say("late", f"did not end within {self.observer.timeout_s:g} s")
        elif isinstance(answer, Raised):
            self._say(type(answer.error).__name__, f"raised {type(answer.error).__name__}")
        elif answer:
            self._say(answer, answer)

    def _say(self, kind: str, why: str) -> None:
        if kind not in self.said and len(self.said) < QUEUE_MAX:
            self.said.add(kind)
            log.warning("observer_failed", observer=self.observer.name, why=why)
