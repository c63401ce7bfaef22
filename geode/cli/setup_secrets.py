"""Asks for one secret: where it lies already, or what it is, to be kept in a file."""

from __future__ import annotations

from collections.abc import Mapping

from geode.cli.setup_answers import SecretAnswer
from geode.cli.setup_questions import Questions
from geode.settings_load import find_state_folder
from geode.settings_secrets import SecretMissingError, SecretRef, resolve_secret

PASTE, NAME = 0, 1
FOLDER = "secrets"


class SecretDesk:
    """Keeps nothing: what is pasted is written when everything is."""

    def __init__(self, questions: Questions, environ: Mapping[str, str]) -> None:
        self._questions = questions
        self._environ = environ
        self._folder = find_state_folder(environ) / FOLDER

    def ask(self, what: str, written: SecretRef, file: str, *, is_refused: bool) -> SecretAnswer:
        """A secret; one that is there already is offered first, unless it was just refused."""
        questions = self._questions
        found = None if is_refused else self._find(written)
        if found is not None and questions.confirm(f"Use the {what} in {written}?"):
            return found
        path = self._folder / file
        options = (
            f"paste it here; it is kept in {path}, for this user alone",
            "it is in an environment variable",
        )
        questions.say()
        while True:
            if questions.choose(f"Where is the {what}?", options) == PASTE:
                value = questions.paste(what)
                return SecretAnswer(SecretRef("file", str(path)), value, is_pasted=True)
            if named := self._ask_name(written):
                return named

    def _find(self, ref: SecretRef) -> SecretAnswer | None:
        try:
            value = resolve_secret(ref, self._environ).reveal()
        except SecretMissingError:
            return None
        self._questions.redactor.register(value)
        return SecretAnswer(ref, value)

    def _ask_name(self, written: SecretRef) -> SecretAnswer | None:
        usual = written.target if written.kind == "env" else ""
        ref = self._questions.ask("Its name", usual, _read_variable)
        try:
            value = resolve_secret(ref, self._environ).reveal()
        except SecretMissingError as error:
            self._questions.say(f"  {error} Or paste it.")
            return None
        self._questions.redactor.register(value)
        return SecretAnswer(ref, value)


def _read_variable(text: str) -> SecretRef:
    try:
        return SecretRef.parse(f"env:{text}")
    except ValueError:
        # What was typed may be the secret itself.
        raise ValueError("That is no variable's name: letters, digits and _ only.") from None


def file_of(channel: str, key: str) -> str:
    """The name of a secret's file: `slack-bot-token`."""
    return f"{channel}-{key}".replace("_", "-")
