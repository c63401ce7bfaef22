"""The seams: what lower rooms need of upper ones, and what a channel must promise."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from geode.errors import FileUnavailableError, SendRefusedError, SendUnfindableError
from geode.guides import FoundPlace, SetupGuide
from geode.messages import (
    FileRef,
    Inbound,
    OutboundBody,
    Part,
    Person,
    Place,
    QuotedMessage,
    Thread,
)
from geode.oversight import OperatorView
from geode.steps import ToolContext
from geode.transcripts import Transcript


class Clock(Protocol):
    """Time as an argument, so that a test can own it."""

    def now_us(self) -> int:
        """UTC microseconds since 1970."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait; cancellable."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now_us(self) -> int:
        """UTC microseconds since 1970."""
        return time.time_ns() // 1000

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait; cancellable."""
        await asyncio.sleep(seconds)


class Failpoints(Protocol):
    """Named points just before and after durable writes and outside effects."""

    def hit(self, name: str) -> None:
        """Called at the point; a crash test dies or stops here, production does nothing."""
        ...


class NoFailpoints:
    """What production uses."""

    def hit(self, name: str) -> None:
        """Do nothing."""


class Redactor(Protocol):
    """Takes secrets out of text on its way out."""

    def redact(self, text: str) -> str:
        """The text with every known secret replaced; idempotent."""
        ...

    def take_out(self, text: str) -> str:
        """The text of a person without the secrets of this service; nothing else is changed."""
        ...


@dataclass(frozen=True, slots=True)
class Accepted:
    """The event is committed: stored, or known before, or dropped on purpose. Acknowledge it."""

    outcome: Literal["stored", "duplicate", "ignored", "refused", "changed", "decided", "answered"]
    reason: str = ""
    answer: str = ""
    """Markdown for the person who pressed or commanded, shown to them alone where that can be."""
    is_confidential: bool = False
    """The answer is for nobody else: shown to that person alone, or not at all."""


@dataclass(frozen=True, slots=True)
class CatchUpRoot:
    """A watched place and the message up to which nothing of it is missing."""

    workspace: str
    channel: str
    after: str
    """The platform's own message id; empty when nothing was confirmed yet."""
    since_us: int = 0
    """When `after` is empty: since when the place is served; nothing older is read."""


@dataclass(frozen=True, slots=True)
class CatchUpThread:
    """A thread active in the last days and the message up to which nothing of it is missing."""

    thread: Thread
    after: str


@dataclass(frozen=True, slots=True)
class CatchUpDirects:
    """People whose direct messages are served; such a place has a root once anything is stored."""

    workspace: str
    people: tuple[str, ...]
    since_us: int
    """Since when they are served; nothing older is read."""


@dataclass(frozen=True, slots=True)
class CatchUpPlan:
    """What a channel reads back after a gap: roots since the cursor, then threads, newest first."""

    roots: tuple[CatchUpRoot, ...] = ()
    threads: tuple[CatchUpThread, ...] = ()
    directs: tuple[CatchUpDirects, ...] = ()
    """Direct messages that are no root yet are looked for, where the platform can list them."""


Role = Literal["stranger", "person", "operator"]
"""What somebody is under the binding of a place; a stranger where none serves the place."""


class Intake(Protocol):
    """The front door: every ingress of every channel goes through `accept`."""

    async def accept(self, event: Inbound) -> Accepted:
        """Decide and store one event; returns only after the commit.

        Raises `StoreError` when nothing could be stored: the channel must then not acknowledge.
        """
        ...

    def admits(self, event: Inbound) -> bool:
        """Whether the person may do this here at all; asked before something is opened for them.

        Stores nothing and promises nothing: `accept` decides.
        """
        ...

    def role_of(self, person: Person, place: Thread, *, is_direct: bool = False) -> Role:
        """What the person is in a place, for deciding what to show; it admits nothing."""
        ...

    async def confirm_read(self, place: Thread, order_key: str, message_id: str) -> None:
        """Everything said in the place up to that message was handed to `accept`.

        The next catch-up of the place starts behind it. The message may be anybody's, and need not
        have been stored. Raises `StoreError` when this could not be noted: it is then read again.
        """
        ...

    async def move_place(self, old: Thread, new: Thread) -> None:
        """The platform gave a conversation another id: sessions, cursors and binding move along.

        The thread parts are empty: everything in the old channel moves. Repeating it is harmless.
        Raises `StoreError` when nothing could be stored.
        """
        ...

    def mark_catch_up_due(self, channel: str) -> None:
        """The channel may have missed events (reconnect, failed commit); a catch-up will follow."""
        ...


@dataclass(frozen=True, slots=True)
class ChannelLimits:
    """What one message of a platform holds at most."""

    text_units_max: int
    """Of one message's text, in the units the platform counts."""
    file_bytes_max: int
    """Of one file that the channel takes in or sends out; 0: it has no files."""


@dataclass(frozen=True, slots=True)
class ChannelStatus:
    """A channel's health in words an operator reads."""

    state: Literal["starting", "up", "down", "degraded", "conflict", "stopped"]
    reason: str = ""
    since_us: int = 0
    address: str = ""
    """Where people open it, for a channel that is its own platform and listens."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: what works, or what is missing and the one thing to do."""

    level: Literal["ok", "warning", "fault"]
    subject: str
    """In a word: `token`, `scopes`."""
    sentence: str


class Channel(Protocol):
    """A platform's adapter. Only it knows the platform; it holds no state that matters.

    A class that names this protocol as its parent needs only `name`, `limits`, `status`, `start`,
    `stop`, `plan`, `send` and `edit`: the rest then says what a platform without it says.
    """

    @property
    def name(self) -> str:
        """The platform's name as bindings write it."""
        ...

    @property
    def limits(self) -> ChannelLimits:
        """What the platform takes at most."""
        ...

    def status(self) -> ChannelStatus:
        """The present health; never raises."""
        ...

    async def start(self, intake: Intake) -> None:
        """Connect and receive until cancelled or stopped; reconnects by itself.

        Returns early only on a fault that needs the operator (a refused token), after saying so in
        `status()`. Acknowledges an event only after `intake.accept` returned.
        """
        ...

    async def stop(self) -> None:
        """Close every connection; safe to call twice."""
        ...

    def follow(self, places: Sequence[Thread]) -> None:
        """Bindings name these places from now on: a reload came that leaves the channel open."""
        return

    def plan(self, body: OutboundBody) -> tuple[Part, ...]:
        """Render a body into at least one part, each within the platform's limits; pure."""
        ...

    async def send(self, place: Place, part: Part, key: str) -> str:
        """Post one part and return the platform's message id.

        `key` travels with the message so that `find_sent` can find it. Raises `SendRefusedError`,
        `FormatRefusedError`, `SendRateLimitedError`, `ChannelDownError` (certainly not sent) or
        `SendUnknownError`.
        """
        ...

    async def edit(self, place: Place, message_id: str, part: Part) -> None:
        """Replace a message of ours; repeating it is harmless. Raises as `send` does.

        Buttons that the part does not have are gone from the message.
        """
        ...

    async def find_sent(
        self, place: Place, key: str, since_us: int, part: Part | None = None
    ) -> str | None:
        """The id of the message that carries `key`, or None when it may be sent without harm.

        None means that it is certainly not there, or that a repeated `send` under the same key
        makes no second copy. `part` is what was sent, for a platform that shows no key.
        Raises `ChannelDownError` or `SendRateLimitedError` when the platform cannot be asked now,
        and `SendUnfindableError` when it can never be asked: the part is then sent once more and
        recorded as possibly doubled.
        """
        raise SendUnfindableError("The channel cannot look for its messages.")

    def mark_repeated(self, part: Part) -> Part:
        """The part with a visible word that it may stand there twice; pure.

        Called before a part is sent once more because nobody could look for the first one.
        """
        return part

    async def upload(self, place: Place, part: Part, content: bytes, key: str) -> str:
        """Post a file with its caption and return the message's id; raises as `send` does."""
        raise SendRefusedError("The channel takes no files.")

    async def download(self, file: FileRef, bytes_max: int) -> bytes:
        """The bytes of a file that a person attached.

        Raises `FileUnavailableError`, with what to do about it, when they cannot be had or are too
        many, and `ChannelError` when trying later may help.
        """
        raise FileUnavailableError("The channel takes no files.")

    async def set_status(self, place: Place, line: str) -> None:
        """Show by the platform's own means what is being done; empty: nothing. Best effort.

        Called again every few seconds while a turn runs, and once with an empty line at its end.
        """
        return

    async def react(self, place: Place, message_id: str, *, is_on: bool) -> None:
        """Show or take away the working mark on a person's message; best effort."""
        return

    async def read_earlier(self, thread: Thread, before: str) -> Sequence[QuotedMessage]:
        """Up to 50 messages (20 kB) people wrote in the thread before that id, oldest first."""
        return ()

    async def diagnose(self) -> Sequence[Finding]:
        """Look for what the operator must mend; asked of a channel that was opened, not started.

        Changes nothing on the platform. Raises a `ChannelError` when it cannot be reached.
        """
        return ()

    def guide(self) -> SetupGuide:
        """What to do on the platform first; asked without tokens too, and pure."""
        return SetupGuide()

    async def discover(self, wait_s: float) -> Sequence[FoundPlace]:
        """The places that the channel could serve, for whoever writes a configuration.

        Asked of a channel that was opened, not started. A platform that tells a bot nothing waits
        up to `wait_s` for somebody to write to it. Changes and confirms nothing. Raises a
        `ChannelError` when the platform cannot be asked.
        """
        return ()

    async def catch_up(self, plan: CatchUpPlan, intake: Intake) -> None:
        """Read back what the plan names and hand every message to `intake.accept`, marked catch-up.

        Confirms with `intake.confirm_read` what it handed over, place by place and oldest first:
        nothing else moves a place's beginning. Raises `ChannelError` when more is to be read; it is
        then run again soon, from what was confirmed.
        """
        return


@dataclass(frozen=True, slots=True)
class ChannelContext:
    """What a channel's entry point receives beside its own settings."""

    clock: Clock
    redactor: Redactor
    failpoints: Failpoints
    secrets: dict[str, str] = field(default_factory=dict, repr=False)
    """The resolved values of the settings' secret references, by settings key."""
    places: tuple[Thread, ...] = ()
    """What its bindings name, for telling what the platform must allow there; no authority."""
    agent_name: str = "Geode"
    transcript: Transcript | None = None
    """For a channel that is its own platform; None where no daemon runs."""
    operator_view: OperatorView | None = None
    """For a channel that shows the service to its operators; None where no daemon runs."""


class MemoryStore(Protocol):
    """Notes that belong to a binding and outlive its sessions."""

    async def save(self, context: ToolContext, text: str) -> None:
        """Store one note under the call's operation id; raises `StaleEpochError` when fenced."""
        ...

    async def search(self, binding: str, query: str, limit: int) -> Sequence[str]:
        """Notes that contain the query as a substring, any script, newest first."""
        ...

    async def has(self, context: ToolContext) -> bool:
        """Whether the call's note is stored."""
        ...


class UrlWitness(Protocol):
    """Knows which addresses a person or the outside world named in a session."""

    async def is_named(self, context: ToolContext, url: str) -> bool:
        """Whether a person's message or an outside result of the session holds exactly this URL."""
        ...
