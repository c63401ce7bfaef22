"""Files on their way out as the text of a row, and back; and which of them are still to be sent."""

from __future__ import annotations

from collections.abc import Sequence

import orjson
from sqlalchemy import Connection, select

from geode.messages import OutboundFile
from geode.store.tables import outbox


def files_to_json(files: Sequence[OutboundFile]) -> str:
    """The stored form; empty for no files."""
    return orjson.dumps([_to_row(file) for file in files]).decode() if files else ""


def files_from_json(text: str) -> tuple[OutboundFile, ...]:
    """The files of a stored form."""
    return tuple(OutboundFile(**row) for row in orjson.loads(text)) if text else ()


def file_to_json(file: OutboundFile | None) -> str:
    """The stored form of one file; empty for none."""
    return "" if file is None else orjson.dumps(_to_row(file)).decode()


def file_from_json(text: str) -> OutboundFile | None:
    """The file of a stored form; None for the empty text."""
    return OutboundFile(**orjson.loads(text)) if text else None


def list_open_hashes(tx: Connection) -> set[str]:
    """The hashes of all files that a row which has not ended may still send."""
    rows = tx.execute(
        select(outbox.c.files).where(
            outbox.c.files != "", outbox.c.state.in_(("queued", "sending"))
        )
    )
    return {file.sha256 for row in rows for file in files_from_json(row.files)}


def _to_row(file: OutboundFile) -> dict[str, object]:
    return {
        "name": file.name,
        "media_type": file.media_type,
        "size_bytes": file.size_bytes,
        "sha256": file.sha256,
    }
