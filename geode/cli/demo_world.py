"""The demo's two processes: a local Slack and the daemon; both end when the demo does."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import aiohttp
import orjson

from geode.errors import ControlError
from geode.messages import JsonObject

READY_S = 30.0
END_S = 10.0
CALL_S = 10.0

CONFIGURATION = """\
# Written by `geode demo`: everything a real geode.toml needs, aimed at the local Slack.
[channels.slack]
bot_token = "env:SLACK_BOT_TOKEN"
app_token = "env:SLACK_APP_TOKEN"
api_url = "{api_url}"

[[bindings]]
channel = "slack"
where = "{team}/{channel}"
people = [{people}]
operators = ["{operator}"]
profile = "demo"

[profiles.demo]
tools = ["list_files", "read_file", "grep_files", "memory_search", "memory_save", "write_file"]
"""


@dataclass(frozen=True, slots=True)
class LocalSlack:
    """The running stand-in, as its first line described it."""

    api_url: str
    control_url: str
    bot_token: str
    app_token: str
    team: str
    bot_user: str
    channel: str
    people: dict[str, str]
    """Ids by name."""
    http: aiohttp.ClientSession

    async def call(self, verb: str, **fields: Any) -> JsonObject:
        """One verb of the stand-in's control interface."""
        try:
            async with (
                asyncio.timeout(CALL_S),
                self.http.post(f"{self.control_url}/{verb}", json=fields) as response,
            ):
                answer = cast("JsonObject", orjson.loads(await response.read()))
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            raise ControlError(f"The local Slack does not answer ({error}).") from error
        if response.status != 200:
            raise ControlError(f"The local Slack refused {verb}: {answer.get('error')}.")
        return answer

    async def say(self, person: str, text: str, thread_ts: str = "") -> str:
        """A person writes; the message's time stamp."""
        answer = await self.call(
            "say", user=self.people[person], channel=self.channel, text=text, thread_ts=thread_ts
        )
        return str(answer["ts"])

    async def read_thread(self, thread_ts: str) -> list[dict[str, Any]]:
        """Every message of the thread, oldest first."""
        answer = await self.call("transcript", channel=self.channel, thread_ts=thread_ts)
        return cast("list[dict[str, Any]]", answer["messages"])

    async def count_refusals(self) -> int:
        """Calls the strict stand-in did not accept."""
        refused = cast("dict[str, int]", (await self.call("counters"))["refused"])
        return sum(refused.values())


@asynccontextmanager
async def start_slack(log: Path) -> AsyncGenerator[LocalSlack]:
    """A local Slack as a process of its own, for the length of the block."""
    process = await _start(("-m", "channels.rehearsal", "slack"), log, dict(os.environ))
    try:
        said = cast("dict[str, Any]", orjson.loads(await _read_line(process, log)))
        async with aiohttp.ClientSession() as http:
            yield LocalSlack(
                api_url=said["api_url"],
                control_url=said["control_url"],
                bot_token=said["bot_token"],
                app_token=said["app_token"],
                team=said["team"],
                bot_user=said["bot_user"],
                channel=said["channels"][0],
                people=said["people"],
                http=http,
            )
    finally:
        await _end(process)


class DaemonProcess:
    """`geode serve` on a folder of its own; can be killed and started again."""

    def __init__(self, home: Path, slack: LocalSlack) -> None:
        self.home = home
        self.log = home / "serve.log"
        self.config = home / "geode.toml"
        self.config.write_text(_configure(slack), encoding="utf-8")
        # The operator's own settings must not reach into the demo.
        kept = {key: value for key, value in os.environ.items() if not key.startswith("GEODE_")}
        self._environ = kept | {
            "GEODE_HOME": str(home),
            "SLACK_BOT_TOKEN": slack.bot_token,
            "SLACK_APP_TOKEN": slack.app_token,
        }
        self._process: asyncio.subprocess.Process | None = None
        self._reading: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int:
        """The running process."""
        assert self._process is not None, "the daemon was started"
        return self._process.pid

    async def start(self) -> None:
        """Start it and return once Slack is connected; raises `ControlError` when it ends first."""
        command = ("-m", "geode.cli", "serve", "--log", "json", "--config", str(self.config))
        self._process = await _start(command, self.log, self._environ)
        while b"slack is up" not in await _read_line(self._process, self.log):
            pass
        self._reading = asyncio.create_task(_drop_lines(self._process))

    async def kill(self) -> None:
        """End it as a crash would: SIGKILL, nothing is written any more."""
        assert self._process is not None, "the daemon was started"
        self._process.send_signal(signal.SIGKILL)
        await self._process.wait()
        await self.end()

    async def end(self) -> None:
        """Let it drain and end; safe to call twice."""
        if self._reading is not None:
            self._reading.cancel()
        if self._process is not None:
            await _end(self._process)


def _configure(slack: LocalSlack) -> str:
    people = [slack.people["ana"], slack.people["ben"]]
    return CONFIGURATION.format(
        api_url=slack.api_url,
        team=slack.team,
        channel=slack.channel,
        people=", ".join(f'"{person}"' for person in people),
        operator=people[0],
    )


async def _start(
    arguments: tuple[str, ...], log: Path, environ: dict[str, str]
) -> asyncio.subprocess.Process:
    """A Python process that ends when its standard input does, so even our own crash ends it."""
    with log.open("ab") as errors:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            *arguments,
            "--until-stdin-closes",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            env=environ,
            start_new_session=True,  # Ctrl-C is ours to pass on, in order
        )


async def _read_line(process: asyncio.subprocess.Process, log: Path) -> bytes:
    assert process.stdout is not None
    try:
        async with asyncio.timeout(READY_S):
            line = await process.stdout.readline()
    except TimeoutError:
        raise ControlError(f"A process of the demo did not start in time; see {log}.") from None
    if not line:
        raise ControlError(f"A process of the demo ended at its start; see {log}.")
    return line


async def _drop_lines(process: asyncio.subprocess.Process) -> None:
    assert process.stdout is not None
    while await process.stdout.readline():
        pass


async def _end(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        process.terminate()
    try:
        async with asyncio.timeout(END_S):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
    if process.stdin is not None:
        process.stdin.close()
