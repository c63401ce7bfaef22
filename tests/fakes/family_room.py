"""A thread whose turns have somebody beside them and may begin children without being asked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from fakes.scripted_model import Scripted
from fakes.spine_room import SpineRoom, Worker, open_room
from sqlalchemy import update

from geode.delegation import DELEGATE_TASK
from geode.messages import JsonObject, SessionId
from geode.session.toolbox import Toolbox
from geode.steps import FixedTools, Tool
from geode.store.tables import sessions

TASK: tuple[str, JsonObject] = (DELEGATE_TASK, {"prompt": "find it out"})


@asynccontextmanager
async def open_family_room(
    folder: Path,
    *tools: Tool,
    granted: Sequence[str] = (),
    asking: Sequence[str] = (),
    **limits: Any,
) -> AsyncIterator[SpineRoom]:
    """A room whose profile grants `delegate_task` and what is named."""
    async with open_room(folder, tools=tools, **limits) as room:
        profiles = room.settings.profiles
        spine = profiles["spine"]
        more = (*spine.tools, DELEGATE_TASK, *granted)
        own = spine.model_copy(update={"tools": more, "ask": tuple(asking)})
        room.settings = room.settings.model_copy(update={"profiles": {**profiles, "spine": own}})
        yield room


async def say_attended(room: SpineRoom, text: str = "do it") -> SessionId:
    """A person writes where somebody sits beside it."""
    await room.say(text)
    session_id = await room.session_id()
    attended = update(sessions).where(sessions.c.id == session_id).values(mode="ipc")
    await room.store.write("attend", lambda tx: tx.execute(attended) and None)
    return session_id


def family_worker(
    room: SpineRoom, name: str = "one", replies: Sequence[Scripted] = (), **more: Any
) -> Worker:
    """A worker in whose catalogue `delegate_task` needs no approval; nothing else differs."""
    worker = room.worker(name, replies, **more)
    services = worker.runner._services
    tools = [_set_free(tool) for tool in services.toolbox.tools]
    services.toolbox = Toolbox((FixedTools(tuple(tools)),))
    return worker


def _set_free(tool: Tool) -> Tool:
    if tool.name != DELEGATE_TASK:
        return tool
    return replace(tool, policy=replace(tool.policy, approval="none"))


async def find_child(room: SpineRoom, parent: SessionId) -> SessionId:
    """The parent's only child."""
    (child,) = await room.rows(sessions.c.id, order=sessions.c.id, parent=parent)
    return SessionId(child)
