"""The same turn over the real Slack client and a strict Slack, each in a process of its own."""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import suppress
from pathlib import Path

from bench.cases import Figures
from bench.processes import Stub, running_child
from bench.stub import ANSWER
from channels.rehearsal.slack_remote import RemoteSlack, spawn_slack
from geode.app import Daemon
from geode.messages import JsonObject
from geode.settings_load import load_settings

CONFIG = """
[agent]
model = "anthropic/claude-opus-5-5"
[providers.anthropic]
api_key = "env:ANTHROPIC_API_KEY"
base_url = "{url}"
[channels.slack]
bot_token = "env:SLACK_BOT_TOKEN"
app_token = "env:SLACK_APP_TOKEN"
api_url = "{api_url}"
[[bindings]]
channel = "slack"
where = "{team}/C0GENERAL"
people = ["U0ANA"]
operators = ["U0ANA"]
"""
TOLD = "GEODE_BENCH_SLACK"
"""The variable in which the child finds the stand-in's address and tokens."""


class SlackLoop:
    """The daemon behind the real Slack adapter; people write from another process."""

    def __init__(self, url: str, folder: Path, told: JsonObject) -> None:
        self._url = url
        self._folder = folder
        self._told = told
        self._daemon: Daemon | None = None
        self._running: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Connect."""
        self._folder.mkdir(parents=True)
        path = self._folder / "geode.toml"
        told = self._told
        path.write_text(CONFIG.format(url=self._url, api_url=told["api_url"], team=told["team"]))
        environ = {
            **os.environ,
            "GEODE_HOME": str(self._folder),
            "ANTHROPIC_API_KEY": "sk-ant-bench-0123456789",
            "SLACK_BOT_TOKEN": str(told["bot_token"]),
            "SLACK_APP_TOKEN": str(told["app_token"]),
        }
        self._daemon = await Daemon.open(load_settings(path, environ=environ), environ=environ)
        self._running = asyncio.create_task(self._daemon.run())
        async with asyncio.timeout(30):
            # The port gives no event, and what this wait costs is not measured.
            while self._daemon.channels["slack"].status().state != "up":  # noqa: ASYNC110
                await asyncio.sleep(0.02)

    async def close(self) -> None:
        """Stop everything."""
        assert self._running is not None
        assert self._daemon is not None
        self._running.cancel()
        with suppress(asyncio.CancelledError):
            await self._running
        await self._daemon.close()

    async def settle(self) -> None:
        """Wait until everything that follows an answer is written."""
        assert self._daemon is not None
        async with asyncio.timeout(30):
            await self._daemon.lanes.wait_idle()
            await self._daemon.delivery.flush()


async def measure_wire(stub: Stub, folder: Path, turns: int) -> Figures:
    """CPU of the daemon per turn, from the socket's bytes to the settled answer."""
    process, told = await spawn_slack()
    try:
        environ = {TOLD: json.dumps(told)}
        async with (
            running_child("slack", stub, folder, environ) as child,
            RemoteSlack(str(told["control_url"])) as slack,
        ):
            await child.ask("spent")
            await _talk(slack, 2)
            before = await child.ask("spent")
            await _talk(slack, turns)
            after = await child.ask("spent")
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()
    return {"cpu": (after["cpu"] - before["cpu"]) / turns}


async def _talk(slack: RemoteSlack, turns: int) -> None:
    """One mention after the other, each in a thread of its own."""
    answer = "".join(ANSWER)
    for _ in range(turns):
        ts = await slack.say("<@UBOT> hi")
        await slack.wait_for(lambda rows: any(answer in str(row) for row in rows), thread_ts=ts)
