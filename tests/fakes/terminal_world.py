"""A daemon with its terminal behind a real control socket, and a model that a test writes."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fakes.empty_database import lay_database
from fakes.scripted_judge import ScriptedJudge, Verdict
from fakes.scripted_model import Scripted, ScriptedModel
from sqlalchemy import Column, select

from geode.app import Daemon, Seams
from geode.llm.routes import ModelRoute
from geode.messages import Mode
from geode.serve.audit_control import AuditControl
from geode.serve.control import Control
from geode.serve.ipc import CLIPoller
from geode.serve.line import SocketLine
from geode.serve.why import WhyGround
from geode.settings import Settings
from geode.settings_load import Loaded
from geode.steps import Tool
from geode.verify.judge import Judge

WAIT_S = 10.0
Row = dict[str, Any]


@dataclass
class TerminalWorld:
    """A running daemon and its socket."""

    daemon: Daemon
    model: ScriptedModel
    folder: Path
    judge: ScriptedJudge

    async def ask(self, verb: str, **arguments: Any) -> Any:
        """What a client is answered on a connection of its own."""
        line = SocketLine(self.folder)
        try:
            return await line.ask(f"chat.{verb}", **arguments)
        finally:
            await line.close()

    async def ask_control(self, verb: str, **arguments: Any) -> Any:
        """The same of a verb outside the chat."""
        line = SocketLine(self.folder)
        try:
            return await line.ask(verb, **arguments)
        finally:
            await line.close()

    async def say(self, text: str, name: str = "main", **more: Any) -> Any:
        """Say something once."""
        key = more.pop("key", secrets.token_urlsafe(12))
        return await self.ask("say", name=name, key=key, text=text, **more)

    async def watch(
        self, is_enough: Callable[[list[Row]], object], name: str = "main", after: int = 0
    ) -> list[Row]:
        """What a listener was told until it is enough, each message as it was told last."""
        seen: dict[str, Row] = {}
        mark = ""
        async with asyncio.timeout(WAIT_S):
            while not is_enough(list(seen.values())):
                view = await self.ask("listen", name=name, after=after, seen=mark, wait_s=2)
                after, mark = view["revision"], view["mark"]
                seen |= {row["id"]: row for row in view["messages"]}
        return list(seen.values())

    async def settle(self, message_id: str, name: str = "main") -> Any:
        """What came of a message once nothing more is to come of it."""
        async with asyncio.timeout(WAIT_S):
            while True:
                view = await self.ask("listen", name=name, about=message_id, wait_s=1)
                if view["asking"]["state"] in ("answered", "awaiting"):
                    return view["asking"]

    async def column(self, of: Column[Any]) -> list[Any]:
        """One column of a table, in row order."""
        return await self.daemon.store.read(lambda tx: list(tx.execute(select(of)).scalars()))


def has_answer(text: str) -> Callable[[list[Row]], object]:
    """Whether an answer of ours says that."""
    return lambda rows: any(r["kind"] == "answer" and text in r["markdown"] for r in rows)


def open_cards(rows: list[Row]) -> list[Row]:
    """The cards that wait for somebody."""
    return [row for row in rows if row["card"] and row["card"]["buttons"]]


def make_seams(
    replies: Sequence[Scripted], tools: tuple[Tool, ...] = (), judge: Judge | None = None
) -> tuple[Seams, ScriptedModel]:
    """A daemon's seams with that script."""
    model = ScriptedModel(replies)
    route = ModelRoute(model, "scripted/model", "model", 150_000, 8_000)
    return Seams(route=route, tools=tools, judge=judge, second_look_s=0.2), model


@asynccontextmanager
async def open_terminal(
    folder: Path,
    replies: Sequence[Scripted] = (),
    tools: tuple[Tool, ...] = (),
    mode: Mode = Mode.IPC,
    *,
    profile: str = "held",
    verdicts: Sequence[Verdict] = (),
    hooks: Mapping[str, object] | None = None,
) -> AsyncGenerator[TerminalWorld]:
    """A daemon that serves nothing but its terminal; cancelled and closed at the end.

    The profile `held` grants the tools, without asking; `terminal` is the built-in one. The judge
    says the verdicts in order, then passes everything. `hooks` is the table of that name.
    """
    if not (folder / "geode.db").exists():
        lay_database(folder / "geode.db")
    granted = {"tools": [tool.name for tool in tools]}
    settings = Settings.model_validate(
        {
            "agent": {"terminal_profile": profile},
            "profiles": {"held": granted},
            "hooks": dict(hooks or {}),
        }
    )
    judge = ScriptedJudge(list(verdicts))
    seams, model = make_seams(replies, tools, judge)
    loaded = Loaded(settings, {}, None, folder)
    daemon = await Daemon.open(loaded, environ={}, seams=seams, terminal=mode)
    ground = WhyGround(lambda: daemon.settings, daemon.decide_now)
    control = Control(daemon.health, daemon.store, daemon.clock, ground)
    verbs = {
        **control.verbs,
        **daemon.chat.verbs,
        **daemon.reviews.verbs,
        **AuditControl(daemon.store).verbs,
    }
    poller = CLIPoller(folder, verbs, redactor=daemon.redactor)
    listens = asyncio.Event()
    running = [
        asyncio.create_task(daemon.run()),
        asyncio.create_task(poller.run(listens.set)),
    ]
    try:
        async with asyncio.timeout(WAIT_S):
            await listens.wait()
        yield TerminalWorld(daemon, model, folder, judge)
    finally:
        for task in running:
            task.cancel()
        for task in running:
            with suppress(asyncio.CancelledError):
                await task
        await daemon.close()
