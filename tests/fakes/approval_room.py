"""A place whose calls ask: one approver, tools of every effect, and a worker with a script."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from fakes.gate_room import Counted, make_tool
from fakes.loopback import Posted
from fakes.scripted_model import Scripted
from fakes.spine_room import BINDING, LEASE_S, SpineRoom, Worker, open_room

from geode.ports import Accepted
from geode.settings import Settings
from geode.steps import Effect
from geode.store.gate_tables import approvals
from geode.store.tables import cards

ONCE = "Allow once"
LASTING = "Allow in this conversation"
DENY = "Deny"
REASON = "Deny with a reason"
APPROVER, ASKER, STRANGER = "U9", "U2", "U8"


ASKING = ("peek", "note", "send", "run")


def make_ask_settings(*, ask: Sequence[str] = ASKING, **more: object) -> Settings:
    """`U2` asks, `U9` approves; everything of the profile asks but `look`."""
    binding = {**BINDING, "approvers": [APPROVER], **more}
    profile = {"tools": ["look"], "ask": list(ask)}
    return Settings.model_validate(
        {
            "bindings": [binding],
            "limits": {"lease_s": LEASE_S},
            "profiles": {"spine": profile},
        }
    )


@dataclass
class ApprovalRoom:
    """The room, its tools by name, and its one worker."""

    room: SpineRoom
    tools: dict[str, Counted]
    worker: Worker

    async def ask(self, *replies: Scripted, text: str = "do it", sender: str = ASKER) -> bool:
        """A person writes, and the turn runs as far as it can."""
        self.worker.model.replies = list(replies)
        await self.room.say(text, sender=sender)
        return await self.go_on()

    async def go_on(self) -> bool:
        """Run what can run, and deliver what is to be said."""
        session_id = await self.room.session_id()
        has_more = await self.worker.runner.run_session(session_id)
        await self.deliver()
        return has_more

    async def deliver(self) -> None:
        """Send everything that waits in the thread."""
        await self.worker.deliver(await self.room.session_id())

    def open_cards(self) -> list[Posted]:
        """The messages that show buttons, oldest first."""
        return [post for post in self.room.platform.posted if post.buttons]

    async def press(
        self, label: str, *, who: str = APPROVER, post: Posted | None = None, words: str = ""
    ) -> Accepted:
        """Somebody presses a button of the one open card."""
        chosen = post or self.open_cards()[0]
        press = self.room.platform.press(chosen, label, who, text=words)
        return await self.room.door.accept(press)

    async def state(self) -> str:
        """The session's state."""
        return await self.room.state(await self.room.session_id())

    async def ends(self) -> list[str]:
        """What became of the questions, in the order of their calls."""
        return await self.room.rows(approvals.c.state, order=approvals.c.position)

    def entered(self, name: str) -> int:
        """How often the tool's body began."""
        return len(self.tools[name].entered)

    async def card_states(self) -> list[str]:
        """The cards' states."""
        return await self.room.rows(cards.c.state, order=cards.c.created_at_us)


def make_tools() -> dict[str, Counted]:
    """One tool per effect."""
    made = [
        make_tool("look"),
        make_tool("peek"),
        make_tool("note", Effect.MUTATE),
        make_tool("send", Effect.COMMUNICATE),
        make_tool("run", Effect.EXECUTE),
    ]
    return {each.tool.name: each for each in made}


@asynccontextmanager
async def open_approval_room(folder: Path, **more: object) -> AsyncIterator[ApprovalRoom]:
    """A room of its own."""
    tools = make_tools()
    registered = tuple(each.tool for each in tools.values())
    async with open_room(folder, tools=registered, settings=make_ask_settings(**more)) as room:
        yield ApprovalRoom(room, tools, room.worker())
