"""What the design says becomes of every command: by verb, person and state of the session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from fakes.contract_platform import Who

from geode.messages import COMMANDS, SessionState
from geode.reply import command_sentences as said

Form = Literal["own", "written"]
"""The platform's own form, and `!verb` in the thread."""
NO_CONVERSATION = "no conversation"
STATES = (*(state.value for state in SessionState), NO_CONVERSATION)
PEOPLE: tuple[Who, ...] = ("ana", "ben", "stranger")
"""Ana operates the place, Ben is one of its people, the stranger is nobody there."""

OPERATORS_ONLY = {"model", "review", "effects", "computer", "compact", "forget"}
ABOUT_A_CONVERSATION = {
    *("new", "stop", "status", "usage", "why", "review", "effects", "compact"),
}
CHANGES_COURSE = {"new", "stop", "compact"}
"""Others in the thread are told, also of one that was given and answered in private."""

IDLE, RUNNING = SessionState.IDLE, SessionState.RUNNING
APPROVAL, REVIEW = SessionState.AWAITING_APPROVAL, SessionState.AWAITING_REVIEW
BEGINNINGS: Mapping[str, str | Mapping[str, str]] = {
    "help": "You may use these here",
    "whoami": "You are `",
    "status": {
        IDLE: "Idle · model `",
        RUNNING: "Running · model `",
        APPROVAL: "Awaiting approval · model `",
        REVIEW: "Awaiting review · model `",
    },
    "usage": "- This conversation: ",
    "why": said.NO_REFUSAL,
    "jobs": said.NO_JOBS,
    "model": "The model is `",
    "review": {
        **dict.fromkeys((IDLE, RUNNING, APPROVAL), said.NO_REVIEW),
        REVIEW: "1 answer waits for a review:",
    },
    "effects": "No effect of this conversation",
    "computer": said.NO_COMPUTER,
    "forget": said.NOT_BUILT.format(verb="forget"),
    "new": {
        IDLE: said.NEW_CHAPTER,
        **dict.fromkeys((RUNNING, APPROVAL, REVIEW), said.NEW_CHAPTER_LATER),
    },
    "compact": {
        IDLE: said.SHORT_ALREADY,
        **dict.fromkeys((RUNNING, APPROVAL, REVIEW), said.COMPACTION_LATER),
    },
    "stop": {
        IDLE: said.NOTHING_RUNS,
        RUNNING: said.STOPPING,
        APPROVAL: said.APPROVAL_DENIED,
        REVIEW: said.REVIEW_REJECTED,
    },
}
"""How each answer begins where there is one, by the state where that matters."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One command as somebody gives it."""

    state: str
    who: Who
    form: Form
    verb: str

    def __str__(self) -> str:
        return f"{self.verb} by {self.who}, {self.form}, {self.state}"


@dataclass(frozen=True, slots=True)
class Expected:
    """What becomes of a cell."""

    outcome: Literal["answered", "refused", "ignored"]
    reason: str
    private: str = ""
    """How the answer to the person alone begins; empty: there is none."""
    public: str = ""
    """How the answer in the thread begins; empty: there is none."""


def list_cells(state: str, who: Who, forms: tuple[Form, ...]) -> Iterator[Cell]:
    """Every command of one person in one state."""
    for form in forms:
        for verb in COMMANDS:
            yield Cell(state, who, form, verb)


def expect(cell: Cell, *, is_private: bool) -> Expected:
    """The table; `is_private`: the form is one that the platform answers to the caller alone."""
    if cell.who == "stranger":
        return Expected("ignored", "access.stranger")
    if cell.who != "ana" and cell.verb in OPERATORS_ONLY:
        refusal = said.NOT_YOURS.format(verb=cell.verb)
        return Expected("refused", "command.not_yours", refusal)
    if cell.state == NO_CONVERSATION and cell.verb in ABOUT_A_CONVERSATION:
        return Expected("answered", cell.verb, said.NO_CONVERSATION)
    if cell.who != "ana" and (cell.verb, cell.state) == ("stop", REVIEW):
        return Expected("refused", "command.not_yours", said.NOT_YOUR_REVIEW)
    return _expect_answer(cell, is_private=is_private or cell.state == NO_CONVERSATION)


def _expect_answer(cell: Cell, *, is_private: bool) -> Expected:
    known = BEGINNINGS[cell.verb]
    beginning = known if isinstance(known, str) else known[cell.state]
    if not is_private:
        return Expected("answered", cell.verb, public=beginning)
    is_told = cell.verb in CHANGES_COURSE and beginning != said.SHORT_ALREADY
    return Expected("answered", cell.verb, beginning, "Asked by " if is_told else "")
