"""`geode setup`: asks what is wanted, checks it with the platforms, and writes geode.toml."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import typer

from geode.cli.setup_answers import PlaceAnswer
from geode.cli.setup_channels import ask_channels
from geode.cli.setup_choices import guess_timezone, is_timezone
from geode.cli.setup_draft import Draft
from geode.cli.setup_file import (
    check_document,
    check_writable,
    find_target,
    read_existing,
    show_change,
    write_all,
)
from geode.cli.setup_model import ask_model
from geode.cli.setup_probe import Probe
from geode.cli.setup_questions import Defaults, Questions
from geode.cli.setup_secrets import SecretDesk
from geode.errors import ChannelError
from geode.log import configure_logging
from geode.messages import Thread
from geode.reply.redaction import Redactor
from geode.roster import Opening, resolve_channels
from geode.settings_ids import split_where
from geode.settings_load import InstalledChannelModels, find_state_folder

NO_TERMINAL, INTERRUPTED, DECLINED = 2, 130, 1
ASKS = (
    "geode: geode setup asks questions and there is no terminal: run it in one, or with --yes to "
    "take every default."
)
HELLO = "Hello, this is GEODE. I can write here; mention me when `geode serve` runs."


def run_setup(config: Path | None, *, is_yes: bool) -> int:
    """Ask, check and write; the exit code. Until the last question nothing is written."""
    if not is_yes and not (sys.stdin.isatty() and sys.stdout.isatty()):
        typer.echo(ASKS, err=True)
        return NO_TERMINAL
    redactor = Redactor()
    configure_logging(redactor, style="console", level="CRITICAL")
    logging.disable(logging.CRITICAL)
    questions = Defaults(redactor) if is_yes else Questions(redactor)
    written: list[Path] = []
    try:
        return _set_up(questions, config, os.environ, written)
    except (typer.Abort, KeyboardInterrupt):
        told = f"{written[0]} is written." if written else "nothing was written."
        typer.echo(f"\nStopped: {told}", err=True)
        return INTERRUPTED


def print_manifest() -> int:
    """Print the texts to paste on platforms: Slack's is the only one."""
    for name in sorted(InstalledChannelModels()):
        section = InstalledChannelModels()[name]()
        if text := Probe(name, Opening(section, {}), Redactor()).guide().manifest:
            typer.echo(text, nl=False)
    return 0


def _set_up(
    questions: Questions, config: Path | None, environ: Mapping[str, str], written: list[Path]
) -> int:
    target = find_target(config, environ)
    existing = read_existing(target)
    for folder in (target.parent, find_state_folder(environ)):
        check_writable(folder)
    check_document(existing, target, environ)
    draft = Draft(questions, SecretDesk(questions, environ), environ, target, existing)
    _greet(draft)
    ask_model(draft)
    _ask_timezone(draft)
    ask_channels(draft)
    if not _write(draft):
        questions.say("Nothing was written.")
        return DECLINED
    written.append(target)
    _offer_test(draft)
    _say_next(draft, config)
    return 0


def _greet(draft: Draft) -> None:
    say = draft.questions.say
    say("This sets up GEODE: the model, the time zone, and where people talk to it.")
    say(f"It writes {draft.target}, after showing it; Enter takes the answer in brackets.")
    if draft.existing:
        say("That file is there: only what you answer otherwise changes, and a copy is kept.")


def _ask_timezone(draft: Draft) -> None:
    present = draft.settings().agent.timezone
    guessed = present if present != "UTC" else guess_timezone(draft.environ)

    def read(text: str) -> str:
        if not is_timezone(text):
            raise ValueError(f'{text!r} is no time zone; type a name such as "Europe/Berlin".')
        return text

    draft.questions.say("\nThe agent tells dates and times in one time zone.")
    draft.answers.timezone = draft.questions.ask("Time zone", guessed, read)


def _write(draft: Draft) -> bool:
    """Show, ask, write; False when somebody declined."""
    questions, target, secrets = draft.questions, draft.target, draft.answers.pasted
    text = draft.text()
    draft.settings()
    if text == draft.existing and not secrets:
        questions.say(f"\n{target} says all of this already; nothing is to be written.")
        return True
    questions.say(f"\nThis is written to {target}:\n")
    questions.say(show_change(draft.existing, text, target.name))
    questions.say()
    for path in secrets:
        questions.say(f"And a secret to {path}, for this user alone")
    if not questions.confirm("Write it?"):
        return False
    backup = write_all(target, text, secrets)
    questions.say(f"{target} is written.")
    if backup is not None:
        questions.say(f"The former one is {backup}.")
        questions.say("A running daemon takes over channels and places at `kill -HUP PID`.")
    return True


def _offer_test(draft: Draft) -> None:
    for channel in draft.answers.channels:
        for place in channel.places:
            _test_place(draft, place)


def _test_place(draft: Draft, place: PlaceAnswer) -> None:
    questions = draft.questions
    opening = resolve_channels(draft.settings(), draft.environ).openings[place.channel]
    probe = Probe(place.channel, opening, questions.redactor)
    where = split_where(place.where)
    here = where.channel
    if where.is_direct:
        if not probe.guide().has_rooms_by_person:
            questions.say(f"Try {place.name} yourself, once `geode serve` runs.")
            return
        here = place.operators[0]
    if not questions.confirm(f"Send a test message to {place.name}?", default=False):
        return
    try:
        probe.send(Thread(place.channel, where.workspace, here, where.thread), HELLO)
    except ChannelError as error:
        questions.say(f"  It was not sent: {error}")
    else:
        questions.say(f"  It was sent; look at {place.name}.")


def _say_next(draft: Draft, config: Path | None) -> None:
    say, more = draft.questions.say, f" --config {config}" if config else ""
    say(f"\nNext: `geode doctor{more}` looks at everything, `geode serve{more}` runs it.")
    if names := draft.answers.variables:
        say(f"Start it with {', '.join(names)} set, as now.")
    section = draft.settings().channels.get("web")
    if section is not None:
        say(f"The page is then at http://{getattr(section, 'listen', '')}.")
