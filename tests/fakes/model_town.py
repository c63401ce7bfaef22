"""A local Slack, a daemon, and a model that a test writes: in memory, or over real HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fakes.scripted_model import Scripted, ScriptedModel, say
from fakes.town import answers, running_daemon
from sqlalchemy import func, select

from channels.rehearsal.model import RehearsalModel
from channels.rehearsal.model_answers import Scripted as Served
from channels.rehearsal.model_http import API_KEY
from channels.rehearsal.slack import RehearsalSlack
from channels.rehearsal.slack_state import Posted
from geode.app import Daemon, Seams
from geode.llm.adapters.anthropic import AnthropicAdapter, AnthropicSettings
from geode.llm.retry import RetryPolicy
from geode.llm.routes import ModelRoute
from geode.ports import Clock, SystemClock
from geode.steps import ModelReply, StepSnapshot, Tool
from geode.store.schema import metadata

MODEL = "claude-opus-5-5"


FILES = ("list_files", "read_file", "write_file", "grep_files")


class Brake:
    """A scripted reply that begins and waits until a test lets it go."""

    def __init__(self, text: str = "late answer") -> None:
        self.begun, self.go, self._text = asyncio.Event(), asyncio.Event(), text

    async def __call__(self, step: StepSnapshot) -> ModelReply:
        self.begun.set()
        await self.go.wait()
        return say(self._text)


@dataclass
class Town:
    """Everything a story needs."""

    slack: RehearsalSlack
    daemon: Daemon
    model: ScriptedModel = field(default_factory=ScriptedModel)
    server: RehearsalModel = field(default_factory=RehearsalModel)

    def kill(self) -> None:
        """Let nothing more be written, as if the process were gone; then leave the block."""
        self.daemon.store.writer.close()

    async def ask(
        self, text: str, thread_ts: str = "", *, user: str = "U0ANA", answers_in: int = 1
    ) -> Posted:
        """A person writes and the thread gets its next answer."""
        root = thread_ts or ""
        before = len(answers(self.slack, root)) if root else 0
        post = await self.slack.say(text, thread_ts=root, user=user)
        await self.wait_answers(root or post.ts, before + answers_in)
        return post

    async def wait_answers(self, root: str, number: int, timeout_s: float = 10.0) -> list[str]:
        """Wait until so many answers stand in the thread."""
        await self.wait_for(lambda: len(answers(self.slack, root)) >= number, timeout_s)
        return answers(self.slack, root)

    async def wait_for(self, is_so: Callable[[], object], timeout_s: float = 10.0) -> None:
        """Wait until something is observable."""
        await self.slack.wait_for(is_so, timeout_s)

    async def rows(self, table: str, *columns: str, **where: object) -> list[Any]:
        """Values of a table: plain values for one column, tuples for more."""
        found = metadata.tables[table]
        query = select(*(found.c[name] for name in columns))
        for name, value in where.items():
            query = query.where(found.c[name] == value)
        rows = await self.daemon.store.read(lambda tx: tx.execute(query).all())
        return [row[0] if len(columns) == 1 else tuple(row) for row in rows]

    async def count(self, table: str) -> int:
        """How many rows a table has."""
        query = select(func.count()).select_from(metadata.tables[table])
        return int(await self.daemon.store.read(lambda tx: tx.execute(query).scalar_one()))

    async def wait_idle(self, timeout_s: float = 10.0) -> None:
        """Wait until no turn runs and nothing waits to be said."""
        async with asyncio.timeout(timeout_s):
            while await self._is_busy():  # noqa: ASYNC110 - any observable state
                await asyncio.sleep(0.01)

    async def _is_busy(self) -> bool:
        states = await self.rows("sessions", "state")
        waiting = await self.rows("outbox", "state")
        queued = await self.rows("inbox", "id", state="queued", kind="message")
        return bool({"running"} & set(states) or {"queued", "sending"} & set(waiting) or queued)


@asynccontextmanager
async def scripted_town(
    home: Path, replies: Sequence[Scripted] = (), **config: str
) -> AsyncGenerator[Town]:
    """A town whose model says what the test wrote down."""
    model = ScriptedModel(replies)
    route = ModelRoute(model, "scripted/model", "model", 150_000, 8_000)
    seams = Seams(route=route, second_look_s=0.2)
    async with (
        RehearsalSlack(ack_deadline_s=0.6) as slack,
        running_daemon(slack, home, seams=seams, **config) as daemon,
    ):
        yield Town(slack, daemon, model)


def http_route(
    server: RehearsalModel,
    *,
    clock: Clock | None = None,
    context_tokens: int = 150_000,
    output_tokens: int = 8_000,
) -> ModelRoute:
    """The real adapter against the server, with short pauses between its tries."""
    settings = AnthropicSettings(API_KEY, server.url)
    policy = RetryPolicy(backoff_s=0.01, backoff_s_max=0.02)
    adapter = AnthropicAdapter(settings, clock or SystemClock(), policy)
    name = f"anthropic/{MODEL}"
    return ModelRoute(adapter, name, MODEL, context_tokens, output_tokens)


@asynccontextmanager
async def http_town(
    home: Path,
    *script: Served,
    fallback: Served | None = None,
    route: Callable[[RehearsalModel], ModelRoute] = http_route,
    tools: Sequence[Tool] = (),
    **config: str,
) -> AsyncGenerator[Town]:
    """A town whose model is reached over HTTP by the real adapter and SDK."""
    async with (
        RehearsalModel(*script, fallback=fallback) as server,
        RehearsalSlack(ack_deadline_s=0.6) as slack,
        restarted(home, slack, server, route=route, tools=tools, **config) as town,
    ):
        yield town


@asynccontextmanager
async def restarted(
    home: Path,
    slack: RehearsalSlack,
    server: RehearsalModel,
    *,
    route: Callable[[RehearsalModel], ModelRoute] = http_route,
    tools: Sequence[Tool] = (),
    **config: str,
) -> AsyncGenerator[Town]:
    """The next daemon on the same state, between the same Slack and the same model."""
    if tools:
        granted = ", ".join(f'"{name}"' for name in (*(tool.name for tool in tools), *FILES))
        config = {"profile": "tools", "more": f"[profiles.tools]\ntools = [{granted}]", **config}
    seams = Seams(route=route(server), tools=tuple(tools), second_look_s=0.2)
    async with running_daemon(slack, home, seams=seams, **config) as daemon:
        yield Town(slack, daemon, server=server)
