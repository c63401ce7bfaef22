"""The menu of commands that Telegram shows: registered once per change of it."""

from __future__ import annotations

from typing import Final

from channels.telegram.web import TelegramWeb

MENU: Final = (
    ("help", "What I can do here"),
    ("status", "What is going on, and what it cost"),
    ("stop", "Stop what I am doing"),
    ("new", "Begin a new chapter"),
    ("usage", "Tokens and cost"),
    ("whoami", "Your id, and what you may do"),
    ("why", "Which tool calls were refused, and by which rule"),
    ("jobs", "What is scheduled"),
    ("model", "Which model answers (operators)"),
    ("review", "Answers that wait for a review (operators)"),
    ("effects", "Effects and their outcome (operators)"),
    ("computer", "Computer use (operators)"),
    ("compact", "Shorten the conversation (operators)"),
    ("forget", "Forget this conversation (operators)"),
)


async def register_commands(web: TelegramWeb) -> bool:
    """Write the menu when it reads otherwise; whether it was written."""
    if await web.read_commands() == MENU:
        return False
    await web.write_commands(MENU)
    return True
