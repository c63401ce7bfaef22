"""The running daemon for whoever watches it: what it does, what hinders it, and its numbers."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from geode.errors import StoreError
from geode.messages import JsonObject
from geode.oversight import Measurement
from geode.ports import ChannelStatus, Clock
from geode.store import figures, views
from geode.store.database import Store
from geode.store.figures import Figures

PROBE_S_MAX = 3.0
PROBE_KEPT_S = 2.0
"""Whoever asks more often gets the last answer: anybody may ask."""
EMBEDDED = "web"
"""Listening itself, the page says nothing about whether people elsewhere are heard."""


@dataclass(frozen=True, slots=True)
class Moment:
    """What the daemon itself knows at one moment, beside what is stored."""

    state: str
    model: str
    turns_running: int
    channels: Mapping[str, ChannelStatus]
    degraded: Sequence[str]
    ignored: Mapping[str, int]
    """Events that stored nothing, by the rule that ignored them."""
    commits: int


class DaemonHealth:
    """The one implementation of `OperatorView`; it changes nothing that it is asked about."""

    def __init__(self, store: Store, clock: Clock, look: Callable[[], Moment]) -> None:
        self._store = store
        self._clock = clock
        self._look = look
        self._begun = self._probe_again = clock.monotonic()
        self._store_fault = ""
        self._probing = asyncio.Lock()

    async def status(self) -> dict[str, object]:
        """Health in one object."""
        counts = await self._store.read(views.count_all)
        now = self._look()
        return {
            **counts,
            "state": now.state,
            "model": now.model,
            "turns_running": now.turns_running,
            "channels": {
                name: {"state": status.state, "reason": status.reason}
                for name, status in now.channels.items()
            },
            "degraded": list(now.degraded),
            "ignored": dict(now.ignored),
            "commits": now.commits,
        }

    async def list_sessions(self, limit: int) -> Sequence[JsonObject]:
        """Sessions with their threads, the most recently active first; no content."""
        return await self._store.read(partial(views.list_sessions, limit=limit))

    async def list_open_cards(self, limit: int) -> Sequence[JsonObject]:
        """Cards that wait for somebody, oldest first."""
        now_us = self._clock.now_us()
        return await self._store.read(partial(figures.list_open_cards, limit=limit, now_us=now_us))

    async def find_hindrances(self) -> Sequence[str]:
        """What keeps the service from taking messages now, one sentence each; empty: ready."""
        now = self._look()
        found = ["It is stopping."] if now.state == "draining" else []
        if fault := await self._probe_store():
            found.append(fault)
        outside = {n: s for n, s in now.channels.items() if n != EMBEDDED} or now.channels
        if not any(status.state == "up" for status in outside.values()):
            told = [f"{name} is {status.state}" for name, status in outside.items()]
            found.append(f"No channel is up ({', '.join(told) or 'none is open'}).")
        return found

    async def _probe_store(self) -> str:
        """Why nothing can be stored; empty: it can. Asked of the disk now and then only."""
        async with self._probing:  # who comes meanwhile takes the answer that is on its way
            if self._clock.monotonic() >= self._probe_again:
                self._store_fault = await self._find_store_fault()
                self._probe_again = self._clock.monotonic() + PROBE_KEPT_S
            return self._store_fault

    async def _find_store_fault(self) -> str:
        try:
            async with asyncio.timeout(PROBE_S_MAX):
                await self._store.write("health", figures.probe)
        except StoreError as error:
            return f"Nothing can be stored: {error}"
        except TimeoutError:
            return f"The store did not answer within {PROBE_S_MAX:g} seconds."
        return ""

    async def measure(self) -> Sequence[Measurement]:
        """The service in numbers."""
        counted = await self._store.read(figures.count_figures)
        return [
            *_measure_moment(self._look()),
            *_measure_figures(counted),
            *self._measure_process(),
        ]

    def _measure_process(self) -> list[Measurement]:
        used_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        uptime_s = self._clock.monotonic() - self._begun
        return [
            Measurement("uptime_seconds", "Seconds since the start", uptime_s),
            Measurement("memory_bytes_max", "Memory used at most so far", used_kb * 1024),
        ]


def _measure_moment(now: Moment) -> list[Measurement]:
    found = [
        Measurement("turns_running", "Turns that run now", now.turns_running),
        Measurement("commits_total", "Commits of the store", now.commits, "counter"),
    ]
    found += [
        Measurement(
            "channel_up", "Whether a channel is up", s.state == "up", labels=(("channel", n),)
        )
        for n, s in now.channels.items()
    ]
    return found + [
        Measurement(
            "events_ignored_total", "Events that stored nothing", n, "counter", (("rule", rule),)
        )
        for rule, n in now.ignored.items()
    ]


def _measure_figures(counted: Figures) -> list[Measurement]:
    found = [
        Measurement("messages_queued", "Messages that wait for a turn", counted.messages_queued),
        Measurement("outbox_open", "Replies on their way", counted.outbox_open),
        Measurement("cards_open", "Cards that wait for somebody", counted.cards_open),
        Measurement("effects_uncertain", "Effects of unknown outcome", counted.effects_uncertain),
        Measurement("tokens_read_total", "Tokens that models read", counted.tokens_read, "counter"),
        Measurement(
            "tokens_written_total", "Tokens that models wrote", counted.tokens_written, "counter"
        ),
        Measurement("cost_usd_total", "What models cost", counted.cost_usd, "counter"),
    ]
    found += [
        Measurement("sessions", "Sessions", n, labels=(("state", state),))
        for state, n in counted.sessions.items()
    ]
    return found + [
        Measurement("turns_total", "Turns that ended", n, "counter", (("reason", reason),))
        for reason, n in counted.turns.items()
    ]
