"""What people asked, as the text of one user message: every sender named, data kept apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from geode.loop.prompt import quote_people
from geode.messages import Person
from geode.store.inbox import InboxRow


@dataclass(frozen=True, slots=True)
class _Said:
    sender: Person
    text: str


def compose_request(rows: Sequence[InboxRow]) -> str:
    """The collected messages in the platform's order, with quotes and edits told apart."""
    return quote_people(_pick(rows, "message"), _pick(rows, "quote"), _pick(rows, "edit"))


def _pick(rows: Sequence[InboxRow], kind: str) -> list[_Said]:
    return [
        _Said(Person(row.sender_id, row.sender_name), row.text) for row in rows if row.kind == kind
    ]
