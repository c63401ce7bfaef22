"""`geode demo`: the main job from end to end on one machine, with no account and no key."""

from __future__ import annotations

import asyncio
import shutil
import signal
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from geode.cli.demo_count import SideTally, Tally, count_thread
from geode.cli.demo_page import tell_on_page
from geode.cli.demo_platform import LocalPlatform
from geode.cli.demo_platforms import PLATFORMS, LocalSlack
from geode.cli.demo_scenes import Story
from geode.cli.demo_sides import Side, SideStory, ask
from geode.cli.demo_talk import talk
from geode.cli.demo_view import Screen, ThreadView
from geode.cli.demo_world import DaemonProcess, open_page, start_platforms
from geode.errors import ConfigError, ControlError, GeodeError

SETTLE_S = 10.0
QUIET_S = 1.0
"""How long a second answer is waited for before "doubled 0" is claimed."""
PAUSE_S = 0.8
FAILED = 1
STOPPED = 130
"""Ended by a signal before the story was told."""


class Demo:
    """One playing of a story in a folder of its own."""

    def __init__(
        self, home: Path, names: Sequence[str], *, is_staying: bool, is_fast: bool
    ) -> None:
        self._home = home
        self._names = names
        self._is_staying = is_staying
        self._pause_s = 0.0 if is_fast else PAUSE_S
        self._screen = Screen()
        self.faults: list[str] | None = None
        """What was wrong, once the story is told and counted."""

    async def play(self) -> None:
        """Start the processes, tell the story, count, and end the processes again."""
        titles = [name.title() for name in self._names]
        local = ", ".join(f"a local {title}" for title in titles)
        self._screen.title(f"GEODE demo: {local}")
        adapters = "the real adapters" if len(titles) > 1 else f"the real {titles[0]} adapter"
        self._screen.say(f"One `geode serve` with {adapters} and the rehearsal model.")
        self._screen.say("No key, no account, nothing leaves this machine.")
        self._screen.say("`slow N` makes the rehearsal model think for N seconds.")
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        async with open_page() as page, start_platforms(self._names, self._home) as platforms:
            daemon = DaemonProcess(self._home, platforms, page)
            try:
                await daemon.start()
                self._screen.say(f"Its page in the browser: {page.page_url}")
                if len(platforms) == 1 and isinstance(platforms[0], LocalSlack):
                    await self._tell_in_slack(platforms[0], daemon)
                else:
                    await self._tell_everywhere(platforms, daemon)
            finally:
                await daemon.end()

    async def _tell_in_slack(self, slack: LocalSlack, daemon: DaemonProcess) -> None:
        names = {user: name for name, user in slack.people.items()} | {slack.bot_user: "Geode"}
        view = ThreadView(self._screen, slack, names)
        async with asyncio.TaskGroup() as tasks:
            following = tasks.create_task(view.follow())
            story = Story(self._screen, slack, daemon, view, pause_s=self._pause_s)
            await story.play()
            await _settle(self._home)
            await view.look()
            effects: dict[str, Any] = await ask(self._home, "effects.list")
            tally = count_thread(
                story.said, view.messages, effects["effects"], await slack.count_refusals()
            )
            _sum_up(self._screen, tally)
            self.faults = [*tally.faults, *await tell_on_page(self._screen, daemon.page)]
            if self._is_staying:
                slack.thread_ts = view.thread_ts
                await talk(self._screen, [slack], daemon)
            following.cancel()

    async def _tell_everywhere(
        self, platforms: Sequence[LocalPlatform], daemon: DaemonProcess
    ) -> None:
        sides = [Side(self._screen, platform) for platform in platforms]
        async with asyncio.TaskGroup() as tasks:
            following = [tasks.create_task(side.follow()) for side in sides]
            await SideStory(self._screen, sides, daemon, pause_s=self._pause_s).play()
            await _settle(self._home)
            for side in sides:
                await side.look()
            faults = _sum_up_sides(self._screen, [side.tally() for side in sides])
            self.faults = [*faults, *await tell_on_page(self._screen, daemon.page)]
            if self._is_staying:
                await talk(self._screen, platforms, daemon)
            for task in following:
                task.cancel()


def choose_platforms(channels: str) -> tuple[str, ...]:
    """The platforms that `--channels` names, in the order in which the demo shows them."""
    known = tuple(PLATFORMS)
    named = {name.strip().lower() for name in channels.split(",") if name.strip()}
    if named == {"all"}:
        return known
    if not named or named - set(known):
        listed = ", ".join(known)
        raise ConfigError(f"--channels takes all or some of {listed}; {channels!r} is not that.")
    return tuple(name for name in known if name in named)


def run_demo(channels: str, *, is_staying: bool, is_fast: bool) -> int:
    """Play it; 0 when every count is right."""
    names = choose_platforms(channels)
    home = Path(tempfile.mkdtemp(prefix="geode-demo-"))
    demo = Demo(home, names, is_staying=is_staying, is_fast=is_fast)
    try:
        with suppress(KeyboardInterrupt, asyncio.CancelledError):
            asyncio.run(demo.play())
    except (GeodeError, ExceptionGroup):
        Screen().say(f"\nThe demo's folder was kept: {home}")
        raise
    if demo.faults:
        Screen().say(f"The demo's folder was kept: {home}")
        return FAILED
    shutil.rmtree(home, ignore_errors=True)
    return 0 if demo.faults is not None else STOPPED


async def _settle(home: Path) -> None:
    """Nothing waits and nothing runs any more, for long enough to see what comes twice."""
    try:
        async with asyncio.timeout(SETTLE_S):
            while not _is_quiet(await ask(home, "status")):  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise ControlError(f"The daemon did not come to rest within {SETTLE_S:g} s.") from None
    await asyncio.sleep(QUIET_S)


def _is_quiet(status: dict[str, Any]) -> bool:
    waiting = ("messages_queued", "outbox_open", "turns_running")
    return not any(status[name] for name in waiting)


def _sum_up(screen: Screen, tally: Tally) -> None:
    screen.title("What the local Slack saw")
    screen.say(f"  messages in     {tally.messages}")
    screen.say(f"  answers out     {tally.answers} (two messages were answered together)")
    screen.say(f"  lost            {tally.lost}")
    screen.say(f"  doubled         {tally.doubled}")
    screen.say(f"  effects         {tally.effects} committed, {tally.effects_open} unknown")
    screen.say(f"  calls refused   {tally.refused_calls}")
    for sentence in tally.faults:
        screen.say(f"  WRONG: {sentence}")
    if not tally.faults:
        screen.say("  Every count is right.")


def _sum_up_sides(screen: Screen, tallies: Sequence[SideTally]) -> list[str]:
    """Print what the platforms saw; the faults of all."""
    screen.title("What the local platforms saw")
    screen.say("             messages in   answers out   lost   doubled")
    for t in tallies:
        counts = f"{t.messages:>11}   {t.answers:>11}   {t.lost:>4}   {t.doubled:>7}"
        screen.say(f"  {t.platform:<9}  {counts}")
    faults = [sentence for tally in tallies for sentence in tally.faults]
    for sentence in faults:
        screen.say(f"  WRONG: {sentence}")
    if not faults:
        screen.say("  Every count is right.")
    return faults
