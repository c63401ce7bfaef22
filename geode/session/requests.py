"""What people asked, as the blocks of one user message: every sender named, data kept apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from geode.loop.prompt import quote_people
from geode.messages import Block, Image, Person, Text
from geode.store.attachments import Attachment
from geode.store.inbox import InboxRow

PICTURES_MAX = 8
"""Shown to the model with one request."""
NOT_SHOWN = f"not shown to you, as {PICTURES_MAX} pictures are"


@dataclass(frozen=True, slots=True)
class _Said:
    sender: Person
    text: str


def compose_request(rows: Sequence[InboxRow]) -> tuple[Block, ...]:
    """The collected messages in the platform's order, with quotes and edits told apart.

    Under a sender's words stands one line per file; the pictures follow the words.
    """
    files = _find_files(rows)
    text = quote_people(
        *([_say(row, files) for row in rows if row.kind == kind] for kind in _KINDS)
    )
    return (Text(text), *(_show(each) for of in files.values() for each in of if each.sha256))


_KINDS = ("message", "quote", "edit")


def _find_files(rows: Sequence[InboxRow]) -> dict[int, list[Attachment]]:
    """What is attached, by row; only so many stay pictures."""
    found = {row.id: list(row.attachments) for row in rows if row.files}
    shown = 0
    for of_row in found.values():
        for number, each in enumerate(of_row):
            shown += bool(each.sha256)
            if each.sha256 and shown > PICTURES_MAX:
                of_row[number] = replace(each, sha256="", note=NOT_SHOWN)
    return found


def _say(row: InboxRow, files: Mapping[int, Sequence[Attachment]]) -> _Said:
    lines = [row.text, *map(describe_attachment, files.get(row.id, ()))]
    return _Said(Person(row.sender_id, row.sender_name), "\n".join(lines))


def _show(attachment: Attachment) -> Image:
    file = attachment.file
    return Image(file.media_type, attachment.sha256, file.name, file.size_bytes)


def describe_attachment(attachment: Attachment) -> str:
    """One line: what the file is and where, or why it is not there."""
    file = attachment.file
    if not attachment.path:
        return f'[attached file "{file.name}" is not there: {attachment.note}]'
    note = f"; {attachment.note}" if attachment.note else ""
    return (
        f'[attached file "{file.name}", {file.media_type}, {file.size_bytes:,} bytes, '
        f"in the workspace as {attachment.path}{note}]"
    )
