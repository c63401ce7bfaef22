"""Slack's text markup as a person reads it: mentions, links and the three entities."""

from __future__ import annotations

import re

_MARKUP = re.compile(r"<([^<>\n]+)>")


def read_text(wire: str, bot_user: str, bot_name: str = "") -> str:
    """A message's text without the bot's mention, which stays only when it is all there is."""
    rest = mention_of(bot_user).sub(" ", wire).strip() if bot_user else wire.strip()
    if not rest and is_mentioned(wire, bot_user):
        return f"@{bot_name or bot_user}"
    return unescape(_MARKUP.sub(lambda found: _readable(found[1]), rest))


def mention_of(user: str) -> re.Pattern[str]:
    """A pattern of that user's mention, with or without the name Slack may add."""
    return re.compile(rf"[ \t]*<@{re.escape(user)}(?:\|[^<>]*)?>[ \t]*")


def is_mentioned(wire: str, user: str) -> bool:
    """Whether a text mentions that user."""
    return bool(user) and mention_of(user).search(wire) is not None


def unescape(text: str) -> str:
    """The three entities as the characters they stand for, each once."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _readable(markup: str) -> str:
    target, bar, label = markup.partition("|")
    kind, rest = target[:1], target[1:]
    if kind == "@":
        return f"@{label or rest}"
    if kind == "#":
        return f"#{label or rest}"
    if kind == "!":
        return label if bar and label else f"@{rest.partition('^')[0]}"
    address = target.removeprefix("mailto:").removeprefix("tel:")
    if not label or label in (target, address, address.partition("://")[2].rstrip("/")):
        return address
    return f"{label} ({address})"
