"""What the page shows, as values: who looks, which rooms there are, how the service is."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from geode.messages import Thread
from geode.transcripts import RoomMessage

DIRECT = "-"
"""Stands in an address for the thread of a direct room, which is the empty one."""


@dataclass(frozen=True, slots=True)
class Viewer:
    """The person who looks at a page."""

    id: str
    name: str
    is_operator: bool = False
    """Of at least one room: they are shown the way to the operator's page."""
    may_sign_out: bool = False
    """People sign in here with a token."""


@dataclass(frozen=True, slots=True)
class RoomView:
    """One room that the viewer may see."""

    id: str
    """As in its address, not yet quoted."""
    name: str
    is_direct: bool = False
    """The whole room is one conversation: it has no threads."""


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation as it stands at one revision."""

    thread: Thread
    messages: Sequence[RoomMessage]
    """What the viewer may see of it, oldest first."""
    revision: int
    """Read before the messages: the stream of events goes on after it."""
    marks: Collection[str] = ()
    """The ids of messages with the working mark."""
    status: str = ""
    """What is being done now, in a line; empty: nothing."""
    is_cut: bool = False
    """Older messages exist that are not here."""


@dataclass(frozen=True, slots=True)
class Unsent:
    """Words that did not arrive, for a form in which they can be sent again."""

    url: str
    text: str
    key: str = ""
    """Of the form that was sent; empty: these are new words and get a new one."""


@dataclass(frozen=True, slots=True)
class Line:
    """One row of a table of the operator's page."""

    cells: tuple[str, ...]
    url: str = ""
    """Where the first cell leads; empty: nowhere."""
    level: str = ""
    """`good`, `fair` or `bad` where the row says how something is."""


@dataclass(frozen=True, slots=True)
class Section:
    """One part of the operator's page: its rows, or the sentence that stands in their place."""

    id: str
    title: str
    heads: tuple[str, ...] = ()
    lines: tuple[Line, ...] = ()
    sentence: str = ""
    """Why there are no rows: there is nothing, or it could not be read."""
    is_fault: bool = False
    """The sentence tells a failure."""


@dataclass(frozen=True, slots=True)
class Report:
    """What the operator's page says."""

    hindrances: tuple[str, ...] = ()
    """What keeps the service from taking messages; empty: it takes them."""
    sections: tuple[Section, ...] = ()
