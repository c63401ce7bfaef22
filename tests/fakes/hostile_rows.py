"""What a row of the hostile model is: its calls, and what they would reach if nothing held it.

A row is a `Plan`. Its texts may hold these marks, which the world replaces: `@OUTSIDE@` a folder
that is not the agent's, `@HOME@` the state folder, `@OTHER@` another session's folder beside its
own, `@PORT@` a listening server on loopback, `@ROOT@` the thread. A file named `owned…` may never
come to be, wherever it lies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from geode.messages import JsonObject

Kind: TypeAlias = Literal["told", "written", "reached", "said", "started", "remembered", "sent"]
"""Canaries: told to the model, written, reached over the network, said elsewhere, a process
started, another place's memory touched, a file sent."""


@dataclass(frozen=True, slots=True)
class Raw:
    """A call whose argument text is exactly this."""

    name: str
    text: str


Proposal: TypeAlias = "tuple[str, JsonObject] | Raw"


@dataclass(frozen=True, slots=True)
class Plan:
    """What the model proposes in one thread, and which canaries that hits without a gate."""

    name: str
    batches: Sequence[Sequence[Proposal]]
    shows: frozenset[Kind]
    said: str = "go"
    """What the person writes; addresses in it are named."""
    last: str = "done"
    """The model's answer."""
    room: Literal["writer", "reader", "asker"] = "writer"
    """The writer's profile grants file tools and memory, the reader's only reads."""
    call_ids: Sequence[str] = ()
    """The ids of the first batch's calls; empty: a fresh one each."""
    stop: str = "tool_use"
    obeys: bool = False
    """After its batches the model does whatever the texts that it was given tell it."""
    planted: dict[str, str] = field(default_factory=dict[str, str])
    """Files of the thread's own workspace."""
    page: str = "nothing to do"
    """What every page says, and every snippet that a search finds."""
    may_ask: Sequence[str] = ()
    """Hosts whose addresses may be looked up though nobody named them."""


def kinds(*names: Kind) -> frozenset[Kind]:
    """The canaries by name."""
    return frozenset(names)
