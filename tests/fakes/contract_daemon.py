"""The daemon's own parts behind any platform of the suite, with a model that a test writes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fakes.asked import put_questions, put_reviews
from fakes.contract_discord import DiscordPlatform
from fakes.contract_platform import ContractPlatform, Who
from fakes.contract_slack import SlackPlatform
from fakes.contract_telegram import TelegramPlatform
from fakes.contract_web import WebPlatform
from fakes.empty_database import lay_database
from fakes.scripted_model import Scripted, ScriptedModel
from sqlalchemy import Column, select, update

from geode.app import Daemon, Seams
from geode.llm.routes import ModelRoute
from geode.messages import Place, SessionId, SessionState
from geode.settings import Settings
from geode.settings_load import Loaded
from geode.steps import Tool
from geode.store.database import Tx
from geode.store.sessions import find_thread
from geode.store.tables import inbox, sessions
from geode.verify.judge import Judge

WAIT_S = 10.0


@dataclass
class Serving:
    """A running daemon, its one platform and its model."""

    daemon: Daemon
    platform: ContractPlatform
    model: ScriptedModel

    async def begin(self, text: str, who: Who = "ana") -> tuple[Place, str]:
        """A person addresses the agent; where the message stands, and its id, once it is stored."""
        message_id = await self.platform.begin(text, who=who)
        query = select(inbox.c.session_id, inbox.c.reply_to).where(inbox.c.message_id == message_id)

        def look(tx: Any) -> Place | None:
            row = tx.execute(query).one_or_none()
            return row and Place(find_thread(tx, SessionId(row.session_id)), row.reply_to)

        async with asyncio.timeout(WAIT_S):
            while not (place := await self.daemon.store.read(look)):  # noqa: ASYNC110 - no event
                await asyncio.sleep(0.01)
        return place, message_id

    async def wait_for(self, is_so: Callable[[], object]) -> None:
        """Wait until something is observable."""
        async with asyncio.timeout(WAIT_S):
            while not is_so():  # noqa: ASYNC110 - any observable state, not one event
                await asyncio.sleep(0.01)

    async def wait_column(self, of: Column[Any], *values: object) -> None:
        """Wait until the rows of a table say that, in row order."""
        async with asyncio.timeout(WAIT_S):
            while await self.column(of) != list(values):  # noqa: ASYNC110 - a row is no event
                await asyncio.sleep(0.01)

    async def column(self, of: Column[Any]) -> list[Any]:
        """One column of a table, in row order."""
        return await self.daemon.store.read(lambda tx: list(tx.execute(select(of)).scalars()))

    async def suspend(self, state: SessionState) -> None:
        """Let the running session wait for a decision, which its worker learns from its epoch."""
        values = {"state": state.value, "lease_until_us": 0, "lease_owner": ""}
        moved = update(sessions).values(epoch=sessions.c.epoch + 1, **values)

        def unit(tx: Tx) -> None:
            tx.execute(moved)
            if state is SessionState.AWAITING_APPROVAL:
                put_questions(tx)
            if state is SessionState.AWAITING_REVIEW:
                put_reviews(tx)

        await self.daemon.store.write("suspend", unit)

    def marks(self, place: Place, message_id: str) -> list[str]:
        """The marks of ours that people see on a message; none where there are no such marks."""
        platform = self.platform
        match platform:
            case SlackPlatform():
                post = platform.slack.workspace.find_post(place.thread.channel, message_id)
                return list(post.reactions) if post is not None else []
            case DiscordPlatform():
                room = place.thread.thread or place.thread.channel
                reactions = platform.discord.find(room, message_id).reactions
                return [name for name, users in reactions.items() if users]
            case TelegramPlatform():
                chat = int(place.thread.channel)
                told = platform.telegram.town.find_post(chat, int(message_id))
                return [name for names in told.reactions.values() for name in names] if told else []
            case WebPlatform():
                assert platform.channel is not None
                return list(platform.channel._hub.marks_of(place.thread))
            case _:
                return []

    @property
    def has_marks(self) -> bool:
        """Whether the platform shows marks on messages."""
        return self.platform.name != "toy"


@asynccontextmanager
async def serving(
    platform: ContractPlatform,
    folder: Path,
    replies: Sequence[Scripted],
    tools: tuple[Tool, ...] = (),
    profile: Mapping[str, object] | None = None,
    *,
    approve: bool = False,
    judge: Judge | None = None,
    review_aside: bool = False,
) -> AsyncGenerator[Serving]:
    """A daemon that is connected to that platform; cancelled and closed at the end.

    `approve`: the operators are approvers too. `review_aside`: answers of the first place are
    reviewed in the second, which nothing serves then. A folder that was served before is
    served again.
    """
    if not (folder / "geode.db").exists():
        lay_database(folder / "geode.db")
    bindings = [
        {**each, "profile": "held", "approvers": each["operators"] if approve else []}
        for each in platform.bindings
    ]
    if review_aside:
        bindings[0]["review_where"] = bindings.pop(1)["where"]
    granted = {"held": {"tools": [tool.name for tool in tools], **(profile or {})}}
    settings = Settings.model_validate({"bindings": bindings, "profiles": granted})
    model = ScriptedModel(replies)
    route = ModelRoute(model, "scripted/model", "model", 150_000, 8_000)
    seams = Seams(route=route, tools=tools, second_look_s=0.2, judge=judge)
    daemon = await Daemon.open(Loaded(settings, {}, None, folder), environ={}, seams=seams)
    channel = platform.make_channel()
    daemon.add_channel(channel)
    running = asyncio.create_task(daemon.run())
    serves = Serving(daemon, platform, model)
    try:
        await serves.wait_for(lambda: channel.status().state == "up")
        yield serves
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
        await daemon.close()
