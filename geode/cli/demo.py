"""`geode demo`: the main job from end to end on one machine, with no account and no key."""

from __future__ import annotations

import asyncio
import shutil
import signal
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from geode.cli.demo_count import Tally, count_thread
from geode.cli.demo_scenes import Story
from geode.cli.demo_talk import talk
from geode.cli.demo_view import Screen, ThreadView
from geode.cli.demo_world import DaemonProcess, LocalSlack, start_slack
from geode.errors import ControlError, GeodeError
from geode.serve.client import ask_daemon

SETTLE_S = 10.0
QUIET_S = 1.0
"""How long a second answer is waited for before "doubled 0" is claimed."""
PAUSE_S = 0.8
FAILED = 1
STOPPED = 130
"""Ended by a signal before the story was told."""


class Demo:
    """One playing of the story in a folder of its own."""

    def __init__(self, home: Path, *, is_staying: bool, is_fast: bool) -> None:
        self._home = home
        self._is_staying = is_staying
        self._pause_s = 0.0 if is_fast else PAUSE_S
        self._screen = Screen()
        self.tally: Tally | None = None
        """What was counted, once the story is told."""

    async def play(self) -> None:
        """Start the processes, tell the story, count, and end the processes again."""
        self._screen.title("GEODE demo: a local Slack, the real Slack adapter, the rehearsal model")
        self._screen.say("No key, no account, nothing leaves this machine.")
        self._screen.say("`slow N` makes the rehearsal model think for N seconds.")
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        async with start_slack(self._home / "slack.log") as slack:
            daemon = DaemonProcess(self._home, slack)
            try:
                await daemon.start()
                await self._tell(slack, daemon)
            finally:
                await daemon.end()

    async def _tell(self, slack: LocalSlack, daemon: DaemonProcess) -> None:
        names = {user: name for name, user in slack.people.items()} | {slack.bot_user: "Geode"}
        view = ThreadView(self._screen, slack, names)
        async with asyncio.TaskGroup() as tasks:
            following = tasks.create_task(view.follow())
            story = Story(self._screen, slack, daemon, view, pause_s=self._pause_s)
            await story.play()
            await _settle(self._home)
            await view.look()
            effects = await _ask(self._home, "effects.list")
            self.tally = count_thread(
                story.said, view.messages, effects["effects"], await slack.count_refusals()
            )
            _sum_up(self._screen, self.tally)
            if self._is_staying:
                await talk(self._screen, slack, daemon, view)
            following.cancel()


def run_demo(*, is_staying: bool, is_fast: bool) -> int:
    """Play it; 0 when every count is right."""
    home = Path(tempfile.mkdtemp(prefix="geode-demo-"))
    demo = Demo(home, is_staying=is_staying, is_fast=is_fast)
    try:
        with suppress(KeyboardInterrupt, asyncio.CancelledError):
            asyncio.run(demo.play())
    except (GeodeError, ExceptionGroup):
        Screen().say(f"\nThe demo's folder was kept: {home}")
        raise
    if demo.tally is not None and demo.tally.faults:
        Screen().say(f"The demo's folder was kept: {home}")
        return FAILED
    shutil.rmtree(home, ignore_errors=True)
    return 0 if demo.tally is not None else STOPPED


async def _settle(home: Path) -> None:
    """Nothing waits and nothing runs any more, for long enough to see what comes twice."""
    try:
        async with asyncio.timeout(SETTLE_S):
            while not _is_quiet(await _ask(home, "status")):  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise ControlError(f"The daemon did not come to rest within {SETTLE_S:g} s.") from None
    await asyncio.sleep(QUIET_S)


def _is_quiet(status: dict[str, Any]) -> bool:
    waiting = ("messages_queued", "outbox_open", "turns_running")
    return not any(status[name] for name in waiting)


async def _ask(home: Path, verb: str) -> dict[str, Any]:
    return await asyncio.to_thread(ask_daemon, home, verb)


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
