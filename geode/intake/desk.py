"""What a command is answered from: who asks, where, and what of the service they may know."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from geode.gate.why import DecideNow
from geode.intake.access import may_talk
from geode.intake.outcomes import Stored
from geode.messages import ChatCommand, Person, SessionId
from geode.ports import Accepted, ChannelStatus
from geode.settings import Binding, Settings
from geode.store.database import Tx


class Audience(IntEnum):
    """Who may use a command; each has all that the one before has."""

    ADMITTED = 0
    """Everyone whose command is admitted at all."""
    PEOPLE = 1
    """Whom the binding lists, or every member where it says so."""
    OPERATORS = 2


def audience_of(binding: Binding, person: Person) -> Audience:
    """What an admitted person is under a binding; pure."""
    if person.id in binding.operators:
        return Audience.OPERATORS
    return Audience.PEOPLE if may_talk(binding, person) else Audience.ADMITTED


@dataclass(frozen=True, slots=True)
class DeskView:
    """The service at the moment of a command."""

    settings: Settings
    model: str
    channels: Mapping[str, ChannelStatus]
    decide_now: DecideNow | None = None
    """None: nobody can say what would be decided now."""


def _no_channels() -> Mapping[str, ChannelStatus]:
    return {}


@dataclass(frozen=True, slots=True)
class Desk:
    """What intake knows of the service beside its settings."""

    model: str = ""
    channel_states: Callable[[], Mapping[str, ChannelStatus]] = _no_channels
    take_out: Callable[[str], str] = str
    """Replaces registered secrets in what comes in and in private answers."""
    decide_now: DecideNow | None = None

    def look(self, settings: Settings) -> DeskView:
        """The present moment."""
        return DeskView(settings, self.model, self.channel_states(), self.decide_now)


@dataclass(frozen=True, slots=True)
class Asked:
    """One command that its sender may use, inside the transaction that answers it."""

    tx: Tx
    command: ChatCommand
    binding: Binding
    role: Audience
    session_id: SessionId | None
    view: DeskView
    now_us: int

    @property
    def session(self) -> SessionId:
        """The conversation of a command that needs one."""
        assert self.session_id is not None, "the verb is answered only in a conversation"
        return self.session_id

    @property
    def names_no_thread(self) -> bool:
        """The platform delivered it for a whole channel: no thread of it may be guessed."""
        command = self.command
        return command.is_private and not command.is_direct and not command.thread.thread


@dataclass(frozen=True, slots=True)
class Reply:
    """What a command comes to."""

    text: str
    refusal: str = ""
    """Not empty: nothing was done, and this rule says why."""
    concerns_others: bool = False
    """The thread is told, also when the answer is private."""
    effects: Stored = field(default_factory=lambda: Stored(Accepted("answered")))
    """Who is to hear of it after the commit."""
