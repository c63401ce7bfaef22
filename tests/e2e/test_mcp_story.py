"""A server that this project did not write, used in a Slack thread, and killed in mid-call."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import orjson
import pytest
from fakes.mcp_foreign import command_for, find_servers
from fakes.model_town import Town, scripted_town
from fakes.scripted_model import call, say
from fakes.town import answers

from geode.messages import ToolResult

MORE = """
[profiles.filer]
tools = ["files__write_file", "files__edit_file", "files__read_text_file"]
[mcp.servers.files]
command = {command}
env = {{ GREETING = "hello" }}
[mcp.servers.files.tools.read_text_file]
effect = "read"
[mcp.servers.files.tools.write_file]
effect = "mutate"
resources = ["files:all"]
[mcp.servers.files.tools.edit_file]
effect = "mutate"
resources = ["files:all"]
"""


@asynccontextmanager
async def files_town(home: Path, served: Path) -> AsyncGenerator[Town]:
    await asyncio.to_thread(served.mkdir)
    command = orjson.dumps(command_for(served)).decode()
    more = MORE.format(command=command)
    async with scripted_town(home, profile="filer", more=more) as town:
        await town.wait_for(lambda: len(town.daemon.mcp.tools) == 3, 60.0)
        yield town


async def _wait_reader(fifo: Path) -> int:
    """Open the pipe for writing, which succeeds as soon as somebody reads it."""
    async with asyncio.timeout(20):
        while True:
            try:
                return os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
            except OSError:
                await asyncio.sleep(0.02)


async def _wait_state(town: Town, tool: str, state: str) -> None:
    async with asyncio.timeout(20):
        while await town.rows("receipts", "state", tool=tool) != [state]:  # noqa: ASYNC110 - a row
            await asyncio.sleep(0.02)


def _results(town: Town) -> list[ToolResult]:
    messages = town.model.steps[-1].messages
    return [b for message in messages for b in message.blocks if isinstance(b, ToolResult)]


@pytest.mark.timeout(120)
async def test_foreign_server_serves_dies_in_mid_call_and_is_settled_by_the_card(
    tmp_path: Path,
) -> None:
    served = tmp_path / "served"
    async with files_town(tmp_path / "home", served) as town:
        note, fifo = str(served / "note.txt"), str(served / "pipe.txt")
        town.model.add(
            call(("files__write_file", {"path": note, "content": "written by chat"})),
            call(("files__read_text_file", {"path": note})),
            say("It says: written by chat"),
        )
        root = await town.slack.say("<@UBOT> keep a note and read it")
        assert await town.wait_answers(root.ts, 1, 30.0) == ["It says: written by chat"]
        assert (served / "note.txt").read_text() == "written by chat"
        assert [result.is_error for result in _results(town)] == [False, False]

        os.mkfifo(fifo)
        edits = [{"oldText": "a", "newText": "b"}]
        town.model.add(
            call(("files__edit_file", {"path": fifo, "edits": edits})),
            say("I cannot tell whether it was edited."),
        )
        await town.slack.say("<@UBOT> edit the pipe", thread_ts=root.ts)
        held = await _wait_reader(Path(fifo))
        for pid in find_servers(served):
            os.kill(pid, signal.SIGKILL)

        said = await town.wait_answers(root.ts, 3, 30.0)
        os.close(held)
        assert "I cannot tell whether it was edited." in said
        assert await town.rows("receipts", "tool", "state") == [
            ("files__write_file", "committed"),
            ("files__edit_file", "uncertain"),
        ]
        await town.wait_for(lambda: len(town.daemon.mcp.tools) == 3, 60.0)

        again = call(("files__write_file", {"path": note, "content": "after the crash"}))
        town.model.add(again, say("It is blocked."))
        await town.slack.say("<@UBOT> write again", thread_ts=root.ts)
        await town.wait_answers(root.ts, 4, 30.0)
        assert "receipt.blocked" in _results(town)[-1].text
        assert (served / "note.txt").read_text() == "written by chat"

        posts = town.slack.bot_posts("C0GENERAL", root.ts)
        card = next(post for post in posts if "files__edit_file" in str(post.blocks))
        await town.slack.press("C0GENERAL", card.ts, "It did not happen")
        await _wait_state(town, "files__edit_file", "reconciled")
        town.model.add(again, say("Written."))
        await town.slack.say("<@UBOT> and now", thread_ts=root.ts)
        await town.wait_for(lambda: "Written." in answers(town.slack, root.ts), 30.0)
        assert (served / "note.txt").read_text() == "after the crash"
    assert find_servers(served) == []
