"""How `geode setup` asks: one question at a time, each with a default, and again until it fits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeVar

import typer

from geode.errors import ConfigError
from geode.reply.redaction import Redactor

T = TypeVar("T")
REPEATS_MAX = 2


class Questions:
    """Asks at the terminal; what it says never holds a secret. Ctrl-C and an end raise `Abort`."""

    def __init__(self, redactor: Redactor) -> None:
        self.redactor = redactor

    def say(self, text: str = "") -> None:
        """Print a line or several."""
        typer.echo(self.redactor.redact(text))

    def ask(self, question: str, default: str, read: Callable[[str], T]) -> T:
        """An answer that `read` takes; its `ValueError` is said, and the question asked again."""
        while True:
            answer: str = typer.prompt(
                self.redactor.redact(question), default=default, show_default=bool(default)
            )
            try:
                return read(answer.strip())
            except ValueError as error:
                self.say(f"  {error}")

    def choose(self, question: str, options: Sequence[str], default: int = 0) -> int:
        """The index of one of the options, which are shown with numbers from one."""
        for number, option in enumerate(options, start=1):
            self.say(f"  {number}. {option}")

        def read(text: str) -> int:
            if not text.isdecimal() or not 1 <= int(text) <= len(options):
                raise ValueError(f"Type a number from 1 to {len(options)}.")
            return int(text) - 1

        return self.ask(question, str(default + 1), read)

    def confirm(self, question: str, *, default: bool = True) -> bool:
        """Yes or no."""
        return typer.confirm(self.redactor.redact(question), default=default)

    def paste(self, what: str) -> str:
        """A secret, typed or pasted without being shown, and from then on redacted."""
        while True:
            value: str = typer.prompt(
                f"{what} (not shown)", default="", hide_input=True, show_default=False
            )
            value = value.strip()
            if value and value.isascii() and value.isprintable() and " " not in value:
                self.redactor.register(value)
                return value
            self.say(f"  That is no {what}: paste it whole, without spaces.")


class Defaults(Questions):
    """Takes every default without asking, for `--yes`; what has none ends it in a sentence."""

    def __init__(self, redactor: Redactor) -> None:
        super().__init__(redactor)
        self._asked: Counter[str] = Counter()

    def ask(self, question: str, default: str, read: Callable[[str], T]) -> T:
        """The default; raises `ConfigError` when there is none, or it leads round in a circle."""
        self._asked[question] += 1
        try:
            if self._asked[question] <= REPEATS_MAX:
                return read(default)
        except ValueError:
            pass
        raise ConfigError(f"{question}: this needs an answer; run geode setup in a terminal.")

    def confirm(self, question: str, *, default: bool = True) -> bool:
        """The default."""
        return default

    def paste(self, what: str) -> str:
        """Nobody is there to paste anything."""
        raise ConfigError(f"The {what} is missing: set its variable, or run setup in a terminal.")
