"""A thousand turns over a hundred threads of three platforms while everything goes wrong."""

from __future__ import annotations

import asyncio
import os
import random
import sys
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

import pytest
from fakes import storm_daemon
from fakes.geode_command import command_environ
from fakes.storm_judge import StormVerdict, answered_tokens, count_lost_copies, judge
from fakes.storm_town import StormTown, Talk
from fakes.storm_weather import Weather

from channels.rehearsal.discord import RehearsalDiscord
from channels.rehearsal.slack import RehearsalSlack
from channels.rehearsal.telegram import RehearsalTelegram

pytestmark = pytest.mark.timeout(300)

TURNS = 1_000
BURSTS = (1, 1, 1, 1, 1, 1, 1, 2, 2, 3)
"""How many messages people say in a thread before they wait for an answer."""
KILLS = 3
CALM_AFTER = 0.9
"""Of all answers: for the last ones it is calm, or they would take every fault that is left."""
ANSWER_S = 60.0
REST_S = 15.0


class Child:
    """The daemon's process, killed and started again."""

    def __init__(self, home: Path, environ: dict[str, str]) -> None:
        self.home, self._environ = home, environ
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Return once it is there; it connects by itself."""
        roots = os.pathsep.join(str(Path(__file__).parents[up]) for up in (1, 2))
        with (self.home / "log.txt").open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                storm_daemon.__file__,
                str(self.home),
                env=command_environ(self._environ) | {"PYTHONPATH": roots},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
            )
        assert self._process.stdout is not None
        async with asyncio.timeout(60):
            line = await self._process.stdout.readline()
        assert line == b"open\n", (self.home / "log.txt").read_text()[-2_000:]

    async def wait_up(self) -> None:
        """Return once every channel is connected."""
        assert self._process is not None
        assert self._process.stdout is not None
        async with asyncio.timeout(60):
            assert await self._process.stdout.readline() == b"up\n"

    async def kill(self) -> None:
        """End it in the middle of whatever it does."""
        assert self._process is not None
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()


class Listener:
    """Knows which marks were answered, as everybody on the platforms can see."""

    def __init__(self, talks: list[Talk]) -> None:
        self._talks = talks
        self.answered: dict[Talk, set[str]] = {talk: set() for talk in talks}
        self._changed = asyncio.Condition()

    @property
    def total(self) -> int:
        """How many marks were answered."""
        return sum(map(len, self.answered.values()))

    async def run(self) -> None:
        """Look around until cancelled."""
        while True:
            for talk in self._talks:
                self.answered[talk] = answered_tokens(talk.read())
                await asyncio.sleep(0)
            async with self._changed:
                self._changed.notify_all()
            await asyncio.sleep(0.05)

    async def wait_total(self, total: int) -> None:
        """Return once so many marks were answered."""
        async with self._changed:
            await self._changed.wait_for(lambda: self.total >= total)

    async def wait(self, talk: Talk, tokens: set[str]) -> None:
        """Return once these were answered in that conversation."""
        async with self._changed:
            await self._changed.wait_for(lambda: tokens <= self.answered[talk])


async def converse(
    talk: Talk, turns: int, chance: random.Random, numbers: Iterator[int], listener: Listener
) -> None:
    """Say something, often several things at once, wait for the answer, and go on."""
    for _ in range(turns):
        await asyncio.sleep(chance.uniform(0, 0.2))
        tokens = [f"tok{next(numbers):05d}" for _ in range(chance.choice(BURSTS))]
        try:
            async with asyncio.timeout(ANSWER_S):
                for token in tokens:
                    await talk.say(f"please note {token}")
                    await asyncio.sleep(chance.uniform(0, 0.05))
                await listener.wait(talk, set(tokens))
        except TimeoutError:
            return  # what is lost is found by the judge


async def kill_now_and_then(child: Child, listener: Listener) -> None:
    """Kill and restart the daemon at equal distances."""
    for number in range(1, KILLS + 1):
        await listener.wait_total(TURNS * number // (KILLS + 1))
        await child.kill()
        await child.start()


async def storm(weather: Weather, listener: Listener) -> None:
    """Let things go wrong until nearly everything was answered."""
    raging = asyncio.create_task(weather.run())
    try:
        await listener.wait_total(int(TURNS * CALM_AFTER))
    finally:
        raging.cancel()
        weather.clear()


@asynccontextmanager
async def stormy_town(home: Path, seed: str) -> AsyncGenerator[tuple[StormTown, Child]]:
    """Three platforms and a daemon."""
    async with (
        RehearsalSlack(ack_deadline_s=1.0) as slack,
        RehearsalDiscord() as discord,
        RehearsalTelegram() as telegram,
    ):
        town = StormTown(slack, discord, telegram)
        town.open_talks(random.Random(f"{seed} places"))  # noqa: S311
        town.write_config(home)
        child = Child(home, town.environ(home, seed))
        await child.start()
        try:
            await child.wait_up()
            yield town, child
        finally:
            await child.kill()


async def ride_out(town: StormTown, child: Child, weather: Weather, seed: str) -> StormVerdict:
    """Everybody talks while it storms; the verdict once all is quiet."""
    chance, numbers = random.Random(f"{seed} people"), count(1)  # noqa: S311
    listener = Listener(town.talks)
    async with asyncio.TaskGroup() as tasks:
        listening = tasks.create_task(listener.run())
        storming = tasks.create_task(storm(weather, listener))
        killing = tasks.create_task(kill_now_and_then(child, listener))
        async with asyncio.TaskGroup() as people:
            for talk in town.talks:
                turns = -(-TURNS // len(town.talks))
                people.create_task(converse(talk, turns, chance, numbers, listener))
        await killing
        storming.cancel()
        verdict = look(town, child)
        rest_until = time.monotonic() + REST_S
        while verdict.faults and time.monotonic() < rest_until:
            await asyncio.sleep(0.2)
            verdict = look(town, child)
        listening.cancel()
    return verdict


def look(town: StormTown, child: Child) -> StormVerdict:
    """What the platforms show, with what the daemon itself doubts."""
    return judge(town.talks).forgive(count_lost_copies(child.home / "geode.db"))


async def test_a_thousand_turns_in_a_storm_are_answered_once_in_place_and_in_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], pytestconfig: pytest.Config
) -> None:
    seed = str(pytestconfig.getoption("--storm-seed"))
    began = time.monotonic()
    async with stormy_town(tmp_path, seed) as (town, child):
        weather = Weather(town, random.Random(f"{seed} weather"))  # noqa: S311
        verdict = await ride_out(town, child, weather, seed)
    with capsys.disabled():
        sys.stdout.write(
            f"\n--storm-seed={seed}: {verdict.describe()}; "
            f"faults {dict(weather.taken())}; kills {KILLS}; {time.monotonic() - began:.0f} s\n"
        )
    assert verdict.faults == {}
    assert verdict.turns >= TURNS
