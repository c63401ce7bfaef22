"""Random faults on three platforms at once: answers lost, waits, sockets cut, events told twice."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable

from fakes.storm_town import StormTown

METHODS = {
    "slack": ("chat.postMessage", "chat.update", "reactions.add", "reactions.remove"),
    "discord": (
        "message.create",
        "message.edit",
        "thread.create",
        "reaction.add",
        "reaction.remove",
        "message.list",
    ),
    "telegram": ("sendMessage", "editMessageText", "setMessageReaction", "getUpdates"),
}
KINDS = ("drop_response", "drop_request", "rate_limited", "server_error", "slow_response")
SLOW_S = 0.3
CALL_PAUSE_S, SOCKET_PAUSE_S = 0.08, 1.5
"""Between two faults, on average."""


class Weather:
    """Makes one thing go wrong after the other until it is cancelled."""

    def __init__(self, town: StormTown, chance: random.Random) -> None:
        self._town, self._chance = town, chance
        self.counters: Counter[str] = Counter()
        """What was done to sockets; faults of calls are counted where they are taken."""

    async def run(self) -> None:
        """Go on until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._spoil_calls())
            tasks.create_task(self._shake_sockets())

    async def _spoil_calls(self) -> None:
        while True:
            await asyncio.sleep(self._chance.uniform(0, 2 * CALL_PAUSE_S))
            self._spoil_call()

    async def _shake_sockets(self) -> None:
        while True:
            await asyncio.sleep(self._chance.uniform(0, 2 * SOCKET_PAUSE_S))
            await self._shake_socket()

    def clear(self) -> None:
        """Nothing goes wrong any more."""
        for platform in (self._town.slack, self._town.discord, self._town.telegram):
            platform.faults.clear()

    def taken(self) -> Counter[str]:
        """What really went wrong, by kind."""
        counted = Counter(self.counters)
        for platform in (self._town.slack, self._town.discord, self._town.telegram):
            counted.update({str(kind): count for kind, count in platform.faults.taken.items()})
        return counted

    def _spoil_call(self) -> None:
        name = self._chance.choice(tuple(METHODS))
        method, kind = self._chance.choice(METHODS[name]), self._chance.choice(KINDS)
        platform = {
            "slack": self._town.slack,
            "discord": self._town.discord,
            "telegram": self._town.telegram,
        }[name]
        if not platform.faults.is_set(method):
            platform.fault(kind, method=method, delay_s=SLOW_S)

    async def _shake_socket(self) -> None:
        name, shake = self._chance.choice(self._shakes())
        self.counters[name] += 1
        await shake()

    def _shakes(self) -> list[tuple[str, Callable[[], Awaitable[object]]]]:
        hub, gateway = self._town.slack.hub, self._town.discord.gateway
        count = self._chance.randrange(1, 6)

        async def cut_slack() -> None:
            hub.kill_all()

        async def cut_discord() -> None:
            gateway.kill_all()

        async def lose_ack() -> None:
            self._town.slack.fault("ignore_ack", times=count)

        return [
            ("socket_cut", cut_slack),
            ("socket_cut", cut_discord),
            ("ack_lost", lose_ack),
            ("socket_refreshed", lambda: hub.disconnect_all("refresh_requested")),
            ("socket_refreshed", gateway.ask_reconnect),
            ("socket_closed", lambda: gateway.close_all(4000)),
            ("session_lost", lambda: gateway.invalidate(is_resumable=False)),
            ("told_twice", lambda: hub.redeliver(count)),
            ("told_twice", lambda: gateway.replay(count)),
        ]
