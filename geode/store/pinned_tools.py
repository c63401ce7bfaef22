"""Definitions of other servers' tools as they were accepted, and what a server offers since."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from geode.store.gate_tables import pinned_tools


@dataclass(frozen=True, slots=True)
class Pin:
    """One tool of one server: the accepted definition, and another one that it offers since."""

    server: str
    tool: str
    digest: str
    definition: str
    accepted_by: str
    offered_digest: str = ""
    offered: str = ""


@dataclass(frozen=True, slots=True)
class Sighting:
    """A definition as a server listed it."""

    tool: str
    digest: str
    definition: str


def load_pins(tx: Connection, server: str | None = None) -> Sequence[Pin]:
    """Every pin, or one server's, in the order of names."""
    query = select(pinned_tools).order_by(pinned_tools.c.server, pinned_tools.c.tool)
    if server is not None:
        query = query.where(pinned_tools.c.server == server)
    return [
        Pin(
            row.server,
            row.tool,
            row.digest,
            row.definition,
            row.accepted_by,
            row.offered_digest,
            row.offered,
        )
        for row in tx.execute(query)
    ]


def record_sightings(
    tx: Connection, server: str, seen: Sequence[Sighting], accepted_by: str, now_us: int
) -> Mapping[str, Pin]:
    """Pin what was never seen, note what differs from its pin; the server's pins by tool.

    A definition that is equal to its pin again takes back what was noted.
    """
    for each in seen:
        tx.execute(
            upsert(pinned_tools)
            .values(
                server=server,
                tool=each.tool,
                digest=each.digest,
                definition=each.definition,
                accepted_by=accepted_by,
                accepted_at_us=now_us,
                seen_at_us=now_us,
            )
            .on_conflict_do_nothing(index_elements=["server", "tool"])
        )
        _note_offer(tx, server, each, now_us)
    return {pin.tool: pin for pin in load_pins(tx, server)}


def _note_offer(tx: Connection, server: str, seen: Sighting, now_us: int) -> None:
    mine = (pinned_tools.c.server == server) & (pinned_tools.c.tool == seen.tool)
    tx.execute(
        update(pinned_tools)
        .where(mine & (pinned_tools.c.digest != seen.digest))
        .values(offered_digest=seen.digest, offered=seen.definition, seen_at_us=now_us)
    )
    tx.execute(
        update(pinned_tools)
        .where(mine & (pinned_tools.c.digest == seen.digest))
        .values(offered_digest="", offered="", seen_at_us=now_us)
    )


def accept_offer(tx: Connection, pin: Pin, who: str, now_us: int) -> bool:
    """Take the offered definition in place of the accepted one; False when it is another by now."""
    moved = tx.execute(
        update(pinned_tools)
        .where(
            (pinned_tools.c.server == pin.server)
            & (pinned_tools.c.tool == pin.tool)
            & (pinned_tools.c.offered_digest == pin.offered_digest)
            & (pinned_tools.c.offered_digest != "")
        )
        .values(
            digest=pinned_tools.c.offered_digest,
            definition=pinned_tools.c.offered,
            offered_digest="",
            offered="",
            accepted_by=who,
            accepted_at_us=now_us,
        )
        .returning(pinned_tools.c.tool)
    )
    return moved.one_or_none() is not None
