"""Commands written as messages: `!status`, and `status` alone after a mention; pure."""

from __future__ import annotations

import unicodedata

from geode.messages import COMMANDS

MARKS = "!/"
"""What a command begins with; full-width forms count as these."""


def parse_command(
    text: str, *, is_mention: bool, opens_thread: bool = False
) -> tuple[str, str] | None:
    """The verb and its argument, or None for an ordinary message.

    `text` is what the person wrote without the mention of the agent. `!verb` is a command anywhere;
    after a mention so is `/verb`, and a bare verb when it is all that was said: "stop" is one,
    "stop the server" is not. Where the message would open a thread there is no conversation yet to
    steer: a bare verb is then a request like any other, such as "status".
    """
    first, _, rest = text.strip().partition("\n")
    word, _, argument = first.partition(" ")
    said = unicodedata.normalize("NFKC", word)
    mark, verb = (said[0], said[1:]) if said[:1] in MARKS and said else ("", said)
    if mark == "/" and not is_mention:
        return None
    argument = "\n".join((argument, rest)).strip()
    if not mark and (not is_mention or argument or opens_thread):
        return None
    verb = verb.lower()
    return (verb, argument) if verb in COMMANDS else None
