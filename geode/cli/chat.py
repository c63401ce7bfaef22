"""`geode chat`: at a terminal a conversation, through a pipe one message a line."""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
from pathlib import Path

from rich.console import Console

from geode.cli.chat_ask import (
    ANSWERED,
    AWAITING,
    REVIEWING,
    WAITS_FOR_REVIEW,
    Outcome,
    ask_once,
)
from geode.cli.chat_plain import LineFeed
from geode.cli.chat_room import ChatRoom
from geode.cli.chat_screen import Screen
from geode.cli.chat_talk import Lines, Talk
from geode.cli.chat_text import clean_text
from geode.errors import ControlError, DaemonAbsentError
from geode.serve.line import SocketLine
from geode.settings_load import find_state_folder

MAIN = "main"
WAITS = "A decision waits; nobody decides through a pipe. Decide it with: geode chat --name {name}"
ABSENT = "No daemon is running on {folder}; start one with geode serve, or use geode chat --local."


def run_chat(config: Path | None, name: str, *, is_local: bool) -> int:
    """Talk until the person leaves; the exit code is that of the last message of a pipe."""
    if is_local:
        from geode.cli.chat_local import run_local  # noqa: PLC0415 - the daemon is heavy

        return run_local(config, lambda lines, folder: _chat(lines, folder, name))
    return asyncio.run(_chat_with_daemon(find_state_folder(os.environ), name))


def make_name(kind: str) -> str:
    """The name of a conversation that is begun now."""
    return f"{kind}-{secrets.token_hex(4)}"


async def _chat_with_daemon(folder: Path, name: str) -> int:
    lines = Lines(SocketLine(folder), SocketLine(folder))
    try:
        return await _chat(lines, folder, name)
    except DaemonAbsentError:
        raise ControlError(ABSENT.format(folder=folder)) from None
    finally:
        await lines.close()


async def _chat(lines: Lines, folder: Path, name: str) -> int:
    is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    console = Console(force_terminal=is_terminal, highlight=False, markup=False, emoji=False)
    screen = Screen(console, folder)
    notes = screen.tell if is_terminal else note
    talk = Talk(lines, name, notes)
    if is_terminal:
        return await ChatRoom(talk, screen).run()
    return await _pass_lines(talk, screen)


async def _pass_lines(talk: Talk, screen: Screen) -> int:
    """Each line is a message, said when the one before is answered."""
    opened = await talk.open(0)
    screen.agent, code = opened["agent"], ANSWERED
    feed = LineFeed()
    feed.begin()
    while line := await feed.lines.get():
        if not line.strip():
            continue
        outcome = await ask_once(talk, line.strip())
        print_outcome(outcome, screen)
        code = outcome.code
        if code == REVIEWING:
            note(WAITS_FOR_REVIEW.format(id=outcome.review))
            break
        if code == AWAITING:
            note(WAITS.format(name=talk.name))
            break
    return code


def print_outcome(outcome: Outcome, screen: Screen) -> None:
    """What a message came to, and what waits for a decision."""
    if outcome.text:
        screen.say(outcome.text)
    for file in outcome.files:
        screen.show_file(file)
    for card in outcome.cards:
        screen.print_card(card)


def note(sentence: str) -> None:
    """What is said beside the answers."""
    sentence = clean_text(sentence)
    sys.stderr.write(f"geode: {sentence}\n")
    sys.stderr.flush()
