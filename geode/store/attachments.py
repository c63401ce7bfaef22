"""What people attached to a stored message and what came of it, as the JSON of an inbox row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from geode.messages import FileRef


@dataclass(frozen=True, slots=True)
class Attachment:
    """One attached file: as its platform names it, and settled once it was fetched or given up."""

    file: FileRef
    is_settled: bool = False
    path: str = ""
    """Where it lies in the session's workspace; empty when it could not be had."""
    sha256: str = ""
    """Of the private copy of a picture that a model may be shown; empty: there is none."""
    note: str = ""
    """Why it is not there, or why it is not shown."""


def refs_to_json(files: Sequence[FileRef]) -> str:
    """The column's text for files that nobody fetched yet; empty for none."""
    return attachments_to_json([Attachment(file) for file in files]) if files else ""


def attachments_to_json(attachments: Sequence[Attachment]) -> str:
    """The column's text."""
    return orjson.dumps([_to_row(each) for each in attachments]).decode()


def json_to_attachments(text: str) -> tuple[Attachment, ...]:
    """What the column holds."""
    if not text:
        return ()
    return tuple(
        Attachment(
            FileRef(row["id"], row["name"], row["media_type"], row["size_bytes"], row["url"]),
            row["is_settled"],
            row["path"],
            row["sha256"],
            row["note"],
        )
        for row in orjson.loads(text)
    )


def _to_row(attachment: Attachment) -> dict[str, object]:
    file = attachment.file
    return {
        "id": file.id,
        "name": file.name,
        "media_type": file.media_type,
        "size_bytes": file.size_bytes,
        "url": file.url,
        "is_settled": attachment.is_settled,
        "path": attachment.path,
        "sha256": attachment.sha256,
        "note": attachment.note,
    }
