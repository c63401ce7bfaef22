"""Project files that an operator accepted, by absolute path and SHA-256."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, select
from sqlalchemy.dialects.postgresql import insert as upsert

from geode.store.gate_tables import trusted_files


@dataclass(frozen=True, slots=True)
class Trust:
    """One accepted file: exactly these bytes, nothing that stands at its path later."""

    path: str
    digest: str
    trusted_by: str


def find_trust(tx: Connection, path: str) -> Trust | None:
    """What was accepted at this path last."""
    row = tx.execute(select(trusted_files).where(trusted_files.c.path == path)).one_or_none()
    return None if row is None else Trust(row.path, row.digest, row.trusted_by)


def record_trust(tx: Connection, trust: Trust, now_us: int) -> None:
    """Accept these bytes at this path, in place of whatever was accepted there."""
    values = {"digest": trust.digest, "trusted_by": trust.trusted_by, "trusted_at_us": now_us}
    tx.execute(
        upsert(trusted_files)
        .values(path=trust.path, **values)
        .on_conflict_do_update(index_elements=["path"], set_=values)
    )
