"""Cards in the local Discord, a clock that can be moved on, and what every body must hold."""

from __future__ import annotations

from typing import Any

from fakes.discord_world import DiscordWorld

from channels.fields import object_of, text_of
from channels.rehearsal.discord_state import Posted
from geode.messages import Button, Card, OutboundBody, Place
from geode.ports import SystemClock

YES, NO, WHY = "y" * 22, "n" * 22, "w" * 22
CARD = Card(
    "Run *this*?",
    "It writes `a.txt`.",
    (("Tool", "write_file"), ("By", "<@1>")),
    (
        Button("Allow", YES, "primary"),
        Button("Deny", NO, "danger"),
        Button("Deny because", WHY, asks="Why not?"),
    ),
)


class MovedClock(SystemClock):
    """The machine's clock, moved on by as many seconds as a test wants."""

    def __init__(self) -> None:
        self.ahead_s = 0.0

    def now_us(self) -> int:
        """UTC microseconds, moved on."""
        return super().now_us() + int(self.ahead_s * 1_000_000)


async def post_card(world: DiscordWorld, card: Card = CARD) -> tuple[Place, Posted]:
    """Ask, and put a card below; the place and the card's last message."""
    where = await world.ask()
    for number, part in enumerate(world.channel.plan(OutboundBody("", "card", card))):
        await world.channel.send(where, part, f"card:{number}")
    return where, world.discord.bot_posts(where.thread.thread)[-1]


def spoken_bodies(world: DiscordWorld) -> list[dict[str, Any]]:
    """Every message that the bot sent on any path, as the server read it."""
    found: list[dict[str, Any]] = []
    for call in world.discord.api.log:
        body = object_of(call, "body")
        body = object_of(body, "data") if text_of(call, "name") == "interaction" else body
        is_message = body.keys() & {"content", "attachments", "components"}
        if is_message and "title" not in body:
            found.append(body)
    return found
