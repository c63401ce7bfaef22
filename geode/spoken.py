"""Commands written as messages: `!status`, and `status` alone after a mention; pure."""

from __future__ import annotations

import unicodedata

from geode.messages import ALIASES, COMMANDS, ChatCommand, InboundMessage

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
    verb = ALIASES.get(verb, verb) if mark else verb
    return (verb, argument) if verb in COMMANDS else None


def read_said(message: InboundMessage, *, is_mention: bool) -> InboundMessage | ChatCommand:
    """What a person said: a command where it reads as one and carries no file."""
    if message.files:
        return message
    opens_thread = message.message_id == message.thread.thread
    command = parse_command(message.text, is_mention=is_mention, opens_thread=opens_thread)
    return message if command is None else command_of(message, *command)


def command_of(message: InboundMessage, verb: str, argument: str) -> ChatCommand:
    """The command that a message is: place, person, order and time stay the message's own."""
    return ChatCommand(
        thread=message.thread,
        sender=message.sender,
        verb=verb,
        argument=argument,
        dedupe_key=message.dedupe_key,
        message_id=message.message_id,
        reply_to=message.reply_to,
        is_direct=message.is_direct,
        category=message.category,
        order_key=message.order_key,
        sent_at_us=message.sent_at_us,
        is_catch_up=message.is_catch_up,
    )
