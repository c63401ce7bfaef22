"""Where a message was written: Discord's channel objects as places of a conversation; pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from geode.messages import Thread

PLATFORM = "discord"
DIRECT_WORKSPACE = "dm"
"""Direct messages belong to no server."""

Kind = Literal["channel", "thread", "forum", "direct", "other"]
_KINDS: dict[int, Kind] = {
    0: "channel",
    5: "channel",
    1: "direct",
    10: "thread",
    11: "thread",
    12: "thread",
    15: "forum",
    16: "forum",
}


@dataclass(frozen=True, slots=True)
class Spot:
    """One channel object: what it is, what it hangs under, and the category above it all."""

    id: str
    guild: str
    kind: Kind
    parent: str = ""
    """Of a thread or forum post: the channel it belongs to."""
    category: str = ""

    def thread_of(self, message: str) -> Thread:
        """The conversation that a message here belongs to.

        A message in a channel begins one: the thread that is opened from it will have its id.
        """
        if self.kind == "direct":
            return Thread(PLATFORM, DIRECT_WORKSPACE, self.id, "")
        if self.kind == "thread":
            return Thread(PLATFORM, self.guild, self.parent, self.id)
        return Thread(PLATFORM, self.guild, self.id, message)


def kind_of(number: int) -> Kind:
    """What a channel type means to us; `other` is a place where no conversation can be held."""
    return _KINDS.get(number, "other")


def channel_of(thread: Thread) -> str:
    """The channel object in which a conversation's messages stand."""
    return thread.thread or thread.channel
