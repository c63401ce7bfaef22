"""`geode demo` plays the main job on one machine, counts honestly, and leaves nothing running."""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from fakes.geode_command import GEODE, command_environ

pytestmark = pytest.mark.timeout(120)
STORY_S = 60.0
SIDE_MESSAGES = "3"
"""Messages of a person on each platform of the side by side story, each with one answer."""
LEFT_S = 20.0
"""A daemon without any platform ends within ten seconds; twice that on a busy machine."""


class Playing:
    """A running `geode demo` and everything it has printed."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.text = ""

    async def wait_text(self, part: str) -> None:
        """Read until this was printed."""
        assert self.process.stdout is not None
        async with asyncio.timeout(STORY_S):
            while part not in self.text:
                line = await self.process.stdout.readline()
                assert line, f"ended without {part!r}:\n{self.text}"
                self.text += line.decode()

    async def wait_end(self) -> int:
        """Read to the end; the exit code."""
        assert self.process.stdout is not None
        async with asyncio.timeout(STORY_S):
            self.text += (await self.process.stdout.read()).decode()
            return await self.process.wait()


@asynccontextmanager
async def _playing(folder: Path, *options: str) -> AsyncGenerator[Playing]:
    process = await asyncio.create_subprocess_exec(
        GEODE,
        "demo",
        "--fast",
        *options,
        env=command_environ(
            # The last one is the operator's own setting, which must not matter to a demonstration.
            {"HOME": str(folder), "TMPDIR": str(folder), "GEODE_LIMITS__STEPS_MAX": "x"}
        ),
        cwd=folder,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        yield Playing(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        assert process.stdin is not None
        process.stdin.close()


def _count(text: str, name: str) -> str:
    found = re.search(rf"^  {name} +(\d+)", text, re.MULTILINE)
    assert found is not None, text
    return found[1]


def _processes_in(folder: Path) -> list[str]:
    """Command lines of processes that work on the demo's folder."""
    found: list[str] = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if str(folder) in path.read_bytes().decode(errors="replace"):
                found.append(path.with_name("cmdline").read_text())
        except OSError:
            continue  # it ended while we looked
    return found


def _left_in(folder: Path) -> list[str]:
    return [str(path) for path in folder.glob("geode-demo-*")] + _processes_in(folder)


async def test_demo_tells_the_whole_story_and_every_count_is_right(tmp_path: Path) -> None:
    async with _playing(tmp_path) as demo:
        code = await demo.wait_end()

    assert code == 0, demo.text
    assert [_count(demo.text, name) for name in ("messages in", "answers out")] == ["9", "8"]
    assert [_count(demo.text, name) for name in ("lost", "doubled")] == ["0", "0"]
    assert "Working on it" in demo.text
    assert "Refused (mode.removed): run_bash" in demo.text
    assert "yours is kept and comes next" in demo.text
    assert "-- kill -9 " in demo.text
    assert "6 * 9 = 54" in demo.text
    assert "Second try. 7 * 8 = 56" in demo.text
    waits, released = demo.text.index("Release this answer?"), demo.text.index("presses Release")
    assert waits < released < demo.text.index("9 * 9 = 81")
    assert "Decided by ana" in demo.text
    assert _left_in(tmp_path) == []


async def test_demo_on_all_channels_counts_every_platform_right(tmp_path: Path) -> None:
    async with _playing(tmp_path, "--channels", "all") as demo:
        code = await demo.wait_end()

    assert code == 0, demo.text
    for platform in ("slack", "discord", "telegram"):
        row = re.search(rf"^  {platform} +(\d+) +(\d+) +(\d+) +(\d+)$", demo.text, re.MULTILINE)
        assert row is not None, demo.text
        assert row.groups() == (SIDE_MESSAGES, SIDE_MESSAGES, "0", "0"), demo.text
        assert re.search(rf"^{platform} +Geode +Idle · model", demo.text, re.MULTILINE), demo.text
        assert re.search(rf"^{platform} +Geode .*6 \* 9 = 54", demo.text, re.MULTILINE), demo.text
    assert demo.text.count("-- kill -9 ") == 1
    assert max(map(len, demo.text.splitlines())) <= 80
    assert _left_in(tmp_path) == []


async def test_interrupted_demo_on_all_channels_leaves_no_process_behind(tmp_path: Path) -> None:
    async with _playing(tmp_path, "--channels", "slack,discord,telegram") as demo:
        await demo.wait_text("Wrote the new file")

        demo.process.send_signal(signal.SIGINT)
        code = await demo.wait_end()

    assert code == 130, demo.text
    assert "Traceback" not in demo.text
    assert _left_in(tmp_path) == []


async def test_unknown_channel_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    async with _playing(tmp_path, "--channels", "slack,irc") as demo:
        code = await demo.wait_end()

    assert code == 1
    (sentence,) = demo.text.splitlines()
    assert "slack, discord, telegram" in sentence
    assert _left_in(tmp_path) == []


async def test_demo_stays_answers_what_is_typed_and_ends_on_ctrl_c(tmp_path: Path) -> None:
    async with _playing(tmp_path, "--stay") as demo:
        await demo.wait_text("Its log: ")
        assert demo.process.stdin is not None
        demo.process.stdin.write(b"what is 12 * 12?\n")
        await demo.wait_text("12 * 12 = 144")
        control_url = re.search(r"http://127\.0\.0\.1:\d+/control/say", demo.text)

        demo.process.send_signal(signal.SIGINT)
        code = await demo.wait_end()

    assert code == 0, demo.text
    assert control_url is not None
    assert _left_in(tmp_path) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
async def test_stopped_demo_leaves_no_process_behind(
    tmp_path: Path, number: signal.Signals
) -> None:
    async with _playing(tmp_path) as demo:
        await demo.wait_text("list the files")

        demo.process.send_signal(number)
        code = await demo.wait_end()

        # A daemon whose Slack died with the demo drains and closes before it ends.
        async with asyncio.timeout(LEFT_S):
            while _processes_in(tmp_path):  # noqa: ASYNC110 - processes that are not our children
                await asyncio.sleep(0.05)

    assert code == (-signal.SIGKILL if number is signal.SIGKILL else 130)
    assert "Traceback" not in demo.text
