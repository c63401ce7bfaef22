"""`geode ask`: one question, its answer, and an exit code that says what came of it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Coroutine
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console

from geode.cli.chat import ABSENT, WAITS, make_name, note, print_outcome
from geode.cli.chat_ask import (
    AWAITING,
    FAILED,
    REVIEWING,
    WAITS_FOR_REVIEW,
    Outcome,
    ask_once,
)
from geode.cli.chat_files import find_path, save_file
from geode.cli.chat_screen import Screen
from geode.cli.chat_talk import Lines, Talk
from geode.errors import ControlError, DaemonAbsentError
from geode.serve.line import SocketLine
from geode.settings_load import find_state_folder

STDIN = "-"
STDIN_NAME = "input.txt"
STDIN_BYTES_MAX = 20_000_000


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and how its answer is wanted."""

    text: str
    files: tuple[str, ...] = ()
    name: str = ""
    """Of the conversation; empty: one of its own."""
    save_to: Path | None = None
    as_json: bool = False
    skips_verification: bool = False
    """The answer is wanted without a check; it says so."""


def run_ask(question: Question) -> int:
    """Ask the running daemon; 0: answered, 2: a decision waits, 3: a review, 1: it failed."""
    with TemporaryDirectory(prefix="geode-ask-") as spare:
        text, files = _read_input(question, Path(spare))
        return asyncio.run(_ask(question, text, files))


def _read_input(question: Question, spare: Path) -> tuple[str, tuple[Path, ...]]:
    """The question and its files; standard input is either, when it is written as a dash."""
    wants_text = question.text in ("", STDIN)
    if wants_text and STDIN in question.files:
        raise ControlError("Standard input is the question or a file, not both.")
    if wants_text and sys.stdin.isatty():
        raise ControlError('Write the question: geode ask "…", or pipe it in.')
    text = _read_stdin().decode("utf-8", "replace") if wants_text else question.text
    files: list[Path] = []
    for name in question.files:
        path = Path(name)
        if name == STDIN:
            path = spare / STDIN_NAME
            path.write_bytes(_read_stdin())
        files.append(path)
    return text, tuple(files)


def _read_stdin() -> bytes:
    found = sys.stdin.buffer.read(STDIN_BYTES_MAX + 1)
    if len(found) > STDIN_BYTES_MAX:
        raise ControlError(f"Standard input has more than {STDIN_BYTES_MAX // 1_000_000} MB.")
    return found


async def _ask(question: Question, text: str, files: tuple[Path, ...]) -> int:
    folder = find_state_folder(os.environ)
    talk_lines = Lines(SocketLine(folder), SocketLine(folder))
    talk = Talk(talk_lines, question.name or make_name("ask"), note)
    try:
        opened = await talk.open(0)
        asking = ask_once(talk, text, files, skips_verification=question.skips_verification)
        outcome = await _finish_or_stop(talk, asking)
    except DaemonAbsentError:
        raise ControlError(ABSENT.format(folder=folder)) from None
    finally:
        await talk_lines.close()
    if outcome.code == REVIEWING:
        note(WAITS_FOR_REVIEW.format(id=outcome.review))
    _save(question, folder, outcome)
    if question.as_json:
        _print_json(talk, folder, outcome)
        return outcome.code
    console = Console(
        force_terminal=sys.stdout.isatty(), highlight=False, markup=False, emoji=False
    )
    screen = Screen(console, folder, agent=opened["agent"])
    if outcome.code == FAILED:
        note(outcome.text or outcome.reason)
    else:
        print_outcome(outcome, screen)
    if outcome.cards or outcome.code == AWAITING:
        note(WAITS.format(name=talk.name))
    return outcome.code


async def _finish_or_stop(talk: Talk, work: Coroutine[Any, Any, Outcome]) -> Outcome:
    """Ctrl-C stops the turn before it leaves."""
    asking = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, asking.cancel)
    try:
        return await asking
    except asyncio.CancelledError:
        await talk.say("/stop")
        return Outcome(FAILED, "You stopped it.", "answered", "user_cancelled")
    finally:
        loop.remove_signal_handler(signal.SIGINT)


def _save(question: Question, folder: Path, outcome: Outcome) -> None:
    if question.save_to is None:
        return
    question.save_to.mkdir(parents=True, exist_ok=True)
    for file in outcome.files:
        note(f"Saved as {save_file(folder, file, question.save_to)}.")


def _print_json(talk: Talk, folder: Path, outcome: Outcome) -> None:
    said = {
        "state": outcome.state,
        "reason": outcome.reason,
        "termination": outcome.termination,
        "verification": outcome.verification,
        "review": outcome.review,
        "answer": outcome.text,
        "conversation": talk.name,
        "session": talk.session,
        "files": [
            {"name": f.name, "size_bytes": f.size_bytes, "path": str(find_path(folder, f))}
            for f in outcome.files
        ],
        "cards": [{"title": c.title, "body": c.body} for c in outcome.cards],
    }
    # Only plain characters: nothing in it can act on a terminal.
    sys.stdout.write(f"{json.dumps(said, ensure_ascii=True)}\n")
