"""The seam to the running daemon for whoever watches it: its socket, its page, its metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from geode.messages import JsonObject


@dataclass(frozen=True, slots=True)
class Measurement:
    """One number of the service at this moment, for whoever watches it."""

    name: str
    """Without a prefix: `sessions`; a counter's name ends in `_total`."""
    description: str
    value: float
    kind: Literal["gauge", "counter"] = "gauge"
    labels: tuple[tuple[str, str], ...] = ()


class StatusView(Protocol):
    """What can be said of the service, also while no daemon runs."""

    async def status(self) -> dict[str, object]:
        """Health in one object."""
        ...


class OperatorView(StatusView, Protocol):
    """What an operator may ask of the running daemon, by its socket or its page."""

    async def list_sessions(self, limit: int) -> Sequence[JsonObject]:
        """Sessions with their threads, the most recently active first; no content."""
        ...

    async def list_open_cards(self, limit: int) -> Sequence[JsonObject]:
        """Cards that wait for somebody, oldest first: id, kind, title, thread, session, age."""
        ...

    async def find_hindrances(self) -> Sequence[str]:
        """What keeps the service from taking messages now, one sentence each; empty: ready."""
        ...

    async def measure(self) -> Sequence[Measurement]:
        """The service in numbers."""
        ...
