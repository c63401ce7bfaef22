"""GEODE as it is measured: the real daemon with the official SDK, behind the loopback channel."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from pathlib import Path

from bench.channel import NAME, PERSON, ROOM, WORKSPACE, BenchChannel, BenchSettings
from bench.history import Said, make_history
from bench.stub import ANSWER, FOLDERS
from geode.app import Daemon, Seams
from geode.llm.routes import open_models
from geode.mcp.manager import MCPServerManager
from geode.messages import Message, SessionId, Text, Thread, ToolCall, ToolResult, TurnId
from geode.reply.redaction import Redactor
from geode.settings_load import Loaded, load_settings
from geode.store import conversation, sessions
from geode.store.database import Store, Tx

CONFIG = """
[agent]
model = "anthropic/claude-opus-5-5"
[providers.anthropic]
api_key = "env:ANTHROPIC_API_KEY"
base_url = "{url}"
[limits]
turns_parallel = 100
[channels.bench]
[[bindings]]
channel = "bench"
where = "{where}"
people = ["{person}"]
operators = ["{person}"]
respond = "always"
"""


class GeodeLoop:
    """The daemon, driven through Intake and observed where the answer is sent."""

    def __init__(self, url: str, folder: Path) -> None:
        self._url = url
        self._folder = folder
        self._channel = BenchChannel()
        self._daemon: Daemon | None = None
        self._running: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Start everything that `geode serve` starts but the control socket."""
        environ = {**os.environ, "ANTHROPIC_API_KEY": "sk-ant-bench-0123456789"}
        environ["GEODE_HOME"] = str(self._folder)
        loaded = self._load(environ)
        seams, redactor = Seams(), Redactor()
        models = open_models(loaded.settings, environ, seams.clock)
        redactor.register(*(key.reveal() for key in models.keys))
        store = Store.open(loaded.database_path, seams.clock, seams.failpoints)
        mcp = await MCPServerManager.open(loaded, store, redactor, environ)
        self._daemon = Daemon(loaded, store, models, redactor, seams, mcp)
        self._daemon.add_channel(self._channel)
        self._running = asyncio.create_task(self._daemon.run())
        await models.warm_up()
        async with asyncio.timeout(10):
            await self._channel.started.wait()

    def _load(self, environ: dict[str, str]) -> Loaded:
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / "geode.toml"
        where = f"{WORKSPACE}/{ROOM}"
        path.write_text(CONFIG.format(url=self._url, where=where, person=PERSON))
        return load_settings(path, channel_models={NAME: BenchSettings}, environ=environ)

    @property
    def daemon(self) -> Daemon:
        """The running daemon."""
        assert self._daemon is not None, "open it first"
        return self._daemon

    async def close(self) -> None:
        """Stop everything."""
        assert self._running is not None, "open it first"
        self._running.cancel()
        with suppress(asyncio.CancelledError):
            await self._running
        await self.daemon.close()

    async def ask(self, conversation: str, text: str) -> None:
        """One message, until its answer is sent."""
        answer = await self._channel.ask(conversation, text)
        if answer != "".join(ANSWER):
            raise RuntimeError(f"not the stub's answer: {answer}")

    async def settle(self) -> None:
        """Wait until everything that follows an answer is written."""
        async with asyncio.timeout(30):
            await self.daemon.lanes.wait_idle()
            await self.daemon.delivery.flush()

    async def _find(self, name: str) -> SessionId:
        thread = Thread(NAME, WORKSPACE, ROOM, name)
        found = await self.daemon.store.read(lambda tx: sessions.find_session(tx, thread))
        assert found is not None, "the conversation has a session"
        return found

    async def prepare(self, conversation: str) -> None:
        """Begin a conversation and give it the files that tool calls list."""
        await self.ask(conversation, "hi")
        files = self._folder / "files" / await self._find(conversation)
        for number in range(FOLDERS):
            (files / f"d{number}").mkdir(parents=True)
            (files / f"d{number}" / "notes.md").write_text("notes")

    async def seed(self, conversation: str, count: int) -> None:
        """Store a conversation of so many messages, as the turns before would have left it."""
        await self._channel.ask(conversation, "hi")
        await self.settle()
        session_id = await self._find(conversation)
        history = [_to_message(said) for said in make_history(count - 2)]
        await self.daemon.store.write("seed", lambda tx: _seed(tx, session_id, history))

    def count(self) -> dict[str, int]:
        """COMMITs, write units, and units by label so far."""
        writer = self.daemon.store.writer
        counts = {f"unit:{label}": number for label, number in writer.units_by_label.items()}
        return {"commits": writer.commits, "units": writer.units, **counts}


def _seed(tx: Tx, session_id: SessionId, history: list[Message]) -> None:
    conversation.append_messages(tx, session_id, TurnId("seed"), history)
    found = conversation.load_checkpoint(tx, session_id)
    assert found is not None, "the first turn left a checkpoint"
    found.state["observed_count"] = len(history) + 2
    conversation.save_checkpoint(tx, session_id, found, epoch=1, now_us=0)


def _to_message(said: Said) -> Message:
    if said.role == "assistant" and said.call_id:
        call = ToolCall(said.call_id, "list_files", {"path": said.path})
        return Message("assistant", (call,), provider="anthropic")
    if said.role == "assistant":
        return Message("assistant", (Text(said.text),), provider="anthropic")
    if said.call_id:
        return Message("tool", (ToolResult(said.call_id, said.text),))
    return Message("user", (Text(f'<message from="Ana" id="P1">\n{said.text}\n</message>'),))
