"""Discord's text markup as a person reads it: mentions, emoji, commands; pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

_USER = re.compile(r"<@!?([0-9]+)>")
_ROLE = re.compile(r"<@&([0-9]+)>")
_CHANNEL = re.compile(r"<#([0-9]+)>")
_EMOJI = re.compile(r"<a?:(\w+):[0-9]+>")
_COMMAND = re.compile(r"</([^:<>]+):[0-9]+>")


def read_text(wire: str, bot: Mapping[str, str], names: Mapping[str, str]) -> str:
    """A message's text without the bot's mention, which stays only when it is all there is.

    `bot` holds every id that means the bot (itself, its own role) with its name; `names` the
    people who are mentioned.
    """
    rest = wire
    for one in bot:
        rest = _mention_of(one).sub(" ", rest)
    rest = rest.strip()
    if not rest and is_mentioned(wire, bot):
        return f"@{next(iter(bot.values())) or next(iter(bot))}"
    rest = _USER.sub(lambda found: f"@{names.get(found[1]) or found[1]}", rest)
    rest = _CHANNEL.sub(r"#\1", _ROLE.sub(r"@\1", rest))
    return _COMMAND.sub(r"/\1", _EMOJI.sub(r":\1:", rest))


def is_mentioned(wire: str, ids: Mapping[str, str]) -> bool:
    """Whether a text mentions one of these, as a person or as a role."""
    return any(_mention_of(one).search(wire) for one in ids)


def _mention_of(one: str) -> re.Pattern[str]:
    return re.compile(rf"[ \t]*<@[!&]?{re.escape(one)}>[ \t]*")
