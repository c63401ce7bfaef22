"""The running daemon for whoever watches it: what it does, what hinders it, and its numbers."""

from __future__ import annotations

import asyncio
import resource
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from geode.errors import StoreError
from geode.loop.prompt import day_start_us
from geode.messages import JsonObject
from geode.oversight import Measurement
from geode.ports import ChannelStatus, Clock
from geode.store import figures, views
from geode.store.database import Store
from geode.store.figures import MICRO, Figures
from geode.store.spent import Spent
from geode.store.timeline import AppendedEntry

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
    judge: str
    """The model that judges answers."""
    turns_running: int
    channels: Mapping[str, ChannelStatus]
    degraded: Sequence[str]
    ignored: Mapping[str, int]
    """Events that stored nothing, by the rule that ignored them."""
    commits: int
    timezone: str = "UTC"
    """In which a day begins."""
    evidence_lost: int = 0
    """Rows of evidence that were not written."""


class DaemonHealth:
    """The one implementation of `OperatorView`; it changes nothing that it is asked about."""

    def __init__(self, store: Store, clock: Clock, look: Callable[[], Moment]) -> None:
        self._store = store
        self._clock = clock
        self._look = look
        self._begun = self._probe_again = clock.monotonic()
        self._store_fault = ""
        self._probing = asyncio.Lock()
        self.verdicts: Counter[str] = Counter()
        """Verdicts about answers since the start, by their outcome."""

    def record(self, appended: Sequence[AppendedEntry]) -> None:
        """Count the verdicts that were committed; never raises."""
        self.verdicts.update(
            str(each.entry.body.get("outcome"))
            for each in appended
            if each.entry.kind == "verification"
        )

    async def status(self) -> dict[str, object]:
        """Health in one object."""
        now = self._look()
        since_us = day_start_us(self._clock.now_us(), now.timezone)
        counts = await self._store.read(lambda tx: views.count_all(tx, since_us))
        return {
            **counts,
            "state": now.state,
            "model": now.model,
            "judge": now.judge,
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
            *_measure_spent(counted.spent),
            *self._measure_verdicts(),
            *self._measure_process(),
        ]

    def _measure_verdicts(self) -> list[Measurement]:
        return [
            Measurement(
                "verdicts_total", "Verdicts about answers", n, "counter", (("outcome", outcome),)
            )
            for outcome, n in self.verdicts.items()
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
        Measurement(
            "evidence_lost_total", "Rows of evidence not written", now.evidence_lost, "counter"
        ),
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
        Measurement("reviews_open", "Answers that wait for a review", counted.reviews_open),
    ]
    found += [
        Measurement("sessions", "Sessions", n, labels=(("state", state),))
        for state, n in counted.sessions.items()
    ]
    return found + [
        Measurement("turns_total", "Turns that ended", n, "counter", (("reason", reason),))
        for reason, n in counted.turns.items()
    ]


def _measure_spent(spent: Spent) -> list[Measurement]:
    """Everything that was used, then what of it repairs and checks used."""
    found = [
        Measurement("repairs_total", "Repairs of answers", spent.repairs.count, "counter"),
        Measurement("checks_total", "Checks by a judge", spent.checks.count, "counter"),
        Measurement(
            "turns_unpriced_total", "Turns with calls of unknown price", spent.unpriced, "counter"
        ),
    ]
    used = {"": ("models", spent.total), "repair_": ("repairs", spent.repairs)}
    for prefix, (who, part) in {**used, "check_": ("checks", spent.checks)}.items():
        figures = {
            "tokens_read_total": (f"Tokens that {who} read", part.input_tokens),
            "tokens_written_total": (f"Tokens that {who} wrote", part.output_tokens),
            "cost_usd_total": (f"What {who} cost", part.cost_micro_usd / MICRO),
        }
        found += [
            Measurement(f"{prefix}{name}", description, value, "counter")
            for name, (description, value) in figures.items()
        ]
    return found
