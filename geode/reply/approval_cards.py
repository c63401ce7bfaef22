"""The card of a call that waits for a person: all that it would do, then what became of it."""

from __future__ import annotations

import re

import orjson

from geode.messages import Card, OutboundFile
from geode.reply.cards import say_card
from geode.reply.effect_cards import describe_person, show_time
from geode.reply.escaping import escape_unseen, quote_name
from geode.store import approvals as rows
from geode.store.approvals import NewApproval
from geode.store.cards import Choice, NewCard

KIND = "approval"
ALLOW = "allow"
ALLOW_SESSION = "allow_session"
DENY = "deny"
DENY_WITH_REASON = "deny_reason"
INLINE_CHARS_MAX = 1_000
"""Longer arguments go as a file, so that the card fits into one message of every platform."""
FILE_NAME = "arguments.json"
MEDIA_TYPE = "application/json"

_ONCE = Choice(ALLOW, "Allow once", "primary")
_SESSION = Choice(ALLOW_SESSION, "Allow in this conversation")
_DENY = Choice(DENY, "Deny", "danger")
_REASON = Choice(DENY_WITH_REASON, "Deny with a reason", asks="Why not? The agent is told.")


def ask_about_call(new: NewApproval, reply_to: str, file: OutboundFile | None) -> NewCard:
    """The card that asks for an approval; `file` holds arguments that are too long for it."""
    asked_for = ", ".join(f"`{_plain(each)}`" for each in new.requesters) or "nobody by name"
    body = (
        f"The agent wants to run `{new.tool}` and waits for an approver. {quote_name_line(new.why)}"
        f"\n\n{show_arguments(new, file)}"
    )
    fields = (
        ("Tool", f"`{new.tool}`"),
        ("Effect", f"`{new.effect}`"),
        ("For", asked_for),
        ("Call", f"`{new.id}`"),
    )
    card = Card(f"Allow {new.tool}?", body, fields)
    choices = (_ONCE, *((_SESSION,) if new.may_last else ()), _DENY, _REASON)
    fallback = say_card(card) + "\n\nThis place shows no buttons, so nobody can allow it here."
    files = () if file is None else (file,)
    return NewCard(KIND, new.id, card, choices, fallback, reply_to, new.turn_id, files)


def show_decided(approval: rows.Approval, word: rows.Word, name: str, at_us: int) -> Card:
    """The same card once nobody can decide it any more; no buttons."""
    who = describe_person(word.by, name) if ":" in word.by else f"the {word.by}"
    body = f"**{describe_word(word)}** By {who}, {show_time(at_us)}."
    if word.reason:
        body += f"\n\n> {quote_name_line(word.reason)}"
    shown = _block(approval.arguments)
    if len(shown) <= INLINE_CHARS_MAX:
        body += f"\n\n{shown}"
    fields = (("Tool", f"`{approval.tool}`"), ("Call", f"`{approval.id}`"))
    return Card(f"{describe_word(word).rstrip('.')}: {approval.tool}", body, fields)


def describe_word(word: rows.Word) -> str:
    """What became of a question, as one sentence; each ending has its own."""
    match word.state:
        case rows.APPROVED if word.scope == rows.SESSION:
            return "Allowed in this conversation."
        case rows.APPROVED:
            return "Allowed once."
        case rows.DENIED:
            return "Denied."
        case rows.EXPIRED:
            return "Expired: nobody answered in time."
        case rows.UNDELIVERABLE:
            return "Not asked: the question could not be shown."
        case _:
            return "Withdrawn."


def show_arguments(new: NewApproval, file: OutboundFile | None) -> str:
    """Whole or as a file: half of what is decided on would mislead."""
    if file is None:
        return f"Its arguments:\n\n{_block(new.arguments)}"
    return (
        f"Its arguments are in the attached file, whole: {file.size_bytes:,} bytes, "
        f"SHA-256 `{file.sha256}`."
    )


def must_attach(new: NewApproval) -> bool:
    """Whether the arguments do not fit into the card."""
    return len(_block(new.arguments)) > INLINE_CHARS_MAX


def write_file(new: NewApproval) -> bytes:
    """The attached file: the arguments with every unseen character written out."""
    return (_indent(new.arguments) + "\n").encode("utf-8", "replace")


def quote_name_line(text: str) -> str:
    """Words of a person or a hook as inert Markdown on one line, not cut."""
    return re.sub(r"([\\`*_{}\[\]<>#|~])", r"\\\1", escape_unseen(" ".join(text.split())))


def _block(arguments: str) -> str:
    shown = _indent(arguments).replace("`", "\\u0060")
    return f"```json\n{shown}\n```"


def _indent(arguments: str) -> str:
    pretty = orjson.dumps(orjson.loads(arguments), option=orjson.OPT_INDENT_2).decode()
    return escape_unseen(pretty)


def _plain(text: str) -> str:
    return quote_name(text).replace("`", "")
