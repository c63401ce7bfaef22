"""A thread in which an effect of unknown outcome waits on its card."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fakes.gate_room import make_tool
from fakes.loopback import Posted
from fakes.scripted_model import call, say
from fakes.spine_room import SpineRoom, Worker, open_room

from geode.messages import JsonObject
from geode.steps import Effect, Ending, ToolContext
from geode.store.tables import cards, outbox, receipts, timeline

HAPPENED, DID_NOT = "It happened", "It did not happen"
PARCEL: JsonObject = {"text": "to Ada"}


async def burn(_context: ToolContext, _arguments: JsonObject) -> Ending:
    raise OSError("the wire was cut")


@asynccontextmanager
async def open_card_room(folder: Path) -> AsyncIterator[SpineRoom]:
    """A room whose tool `send_parcel` never tells whether it sent."""
    tool = make_tool("send_parcel", Effect.COMMUNICATE, burn).tool
    async with open_room(folder, tools=(tool,)) as room:
        yield room


async def leave_uncertain(
    room: SpineRoom, arguments: JsonObject | None = None, worker: Worker | None = None
) -> Worker:
    """Run a turn whose effect ends uncertain; nothing is delivered yet."""
    await room.say("send it")
    replies = [call(("send_parcel", arguments or PARCEL)), say("I do not know")]
    chosen = worker or room.worker()
    chosen.model.replies = list(replies)
    await chosen.runner.run_session(await room.session_id())
    return chosen


async def post_card(room: SpineRoom, arguments: JsonObject | None = None) -> Posted:
    """The same, delivered: the message that shows the card."""
    worker = await leave_uncertain(room, arguments)
    await worker.deliver(await room.session_id())
    return find_card_post(room)


def find_card_post(room: SpineRoom) -> Posted:
    """The one message that shows buttons."""
    (post,) = [post for post in room.platform.posted if post.buttons]
    return post


async def deliver(room: SpineRoom) -> None:
    """Send everything that waits in the thread."""
    await room.worker().deliver(await room.session_id())


async def read_receipt(room: SpineRoom) -> tuple[str, str, str]:
    """State, result and author of the one receipt."""
    (found,) = await room.rows(receipts.c.state, receipts.c.result, receipts.c.settled_by)
    return found


async def read_card(room: SpineRoom) -> tuple[str, str, str]:
    """State, choice and decider of the one card."""
    (found,) = await room.rows(cards.c.state, cards.c.choice, cards.c.decided_by)
    return found


async def count_rows(room: SpineRoom) -> tuple[int, int]:
    """Timeline rows and outbox rows."""
    noted = await room.rows(timeline.c.seq, order=timeline.c.seq)
    return len(noted), len(await room.rows(outbox.c.id))
