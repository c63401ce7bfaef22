"""What people asked, as the blocks of one user message: every sender named, data kept apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from geode.loop.prompt import quote_people
from geode.messages import Block, Person, Text
from geode.store.attachments import Attachment
from geode.store.inbox import InboxRow


@dataclass(frozen=True, slots=True)
class _Said:
    sender: Person
    text: str


def compose_request(rows: Sequence[InboxRow]) -> tuple[Block, ...]:
    """The collected messages in the platform's order, with quotes and edits told apart.

    Under a sender's words stands one line per file.
    """
    text = quote_people(_pick(rows, "message"), _pick(rows, "quote"), _pick(rows, "edit"))
    return (Text(text),)


def _pick(rows: Sequence[InboxRow], kind: str) -> list[_Said]:
    return [
        _Said(Person(row.sender_id, row.sender_name), _write_said(row))
        for row in rows
        if row.kind == kind
    ]


def _write_said(row: InboxRow) -> str:
    if not row.files:
        return row.text
    return "\n".join([row.text.strip(), *map(describe_attachment, row.attachments)]).strip()


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
