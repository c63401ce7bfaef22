"""The value types that cross rooms: what comes in, what a step is made of, what goes out."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, NewType, TypeAlias

SessionId = NewType("SessionId", str)
TurnId = NewType("TurnId", str)
ReceiptId = NewType("ReceiptId", str)

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
JsonObject: TypeAlias = "dict[str, JsonValue]"


class Mode(StrEnum):
    """How a session was started: decides who may approve and what is always removed."""

    REPL = "repl"
    IPC = "ipc"
    DAEMON = "daemon"
    SCHEDULER = "scheduler"
    HEADLESS = "headless"


UNATTENDED = frozenset({Mode.DAEMON, Mode.SCHEDULER, Mode.HEADLESS})
"""Modes in which nobody can approve and a tool must be granted by name."""


class SessionState(StrEnum):
    """Where a session stands; only a claim makes it running."""

    IDLE = "idle"
    RUNNING = "running"
    AWAITING_APPROVAL = "awaiting_approval"
    AWAITING_REVIEW = "awaiting_review"


class TerminationReason(StrEnum):
    """Why a turn ended; the first three are the only deliverable stops."""

    NATURAL = "natural"
    FORCED_TEXT = "forced_text"
    ACTIONABLE_PARTIAL = "actionable_partial"
    MAX_ROUNDS = "max_rounds"
    TIME_BUDGET_EXPIRED = "time_budget_expired"
    SESSION_TIME_BUDGET_EXPIRED = "session_time_budget_expired"
    CONTEXT_EXHAUSTED = "context_exhausted"
    COST_BUDGET_EXCEEDED = "cost_budget_exceeded"
    BILLING_ERROR = "billing_error"
    PROVIDER_ERROR = "provider_error"
    MODEL_REFUSAL = "model_refusal"
    MODEL_ACTION_REQUIRED = "model_action_required"
    REPEATED_ERRORS = "repeated_errors"
    REPEATED_SUCCESS_NO_PROGRESS = "repeated_success_no_progress"
    INPUT_BLOCKED = "input_blocked"
    USER_CANCELLED = "user_cancelled"
    INTERRUPTED = "interrupted"
    POISONED = "poisoned"
    EXTERNAL_VERIFICATION_REQUIRED = "external_verification_required"
    UNKNOWN = "unknown"


DELIVERABLE = frozenset(
    {
        TerminationReason.NATURAL,
        TerminationReason.FORCED_TEXT,
        TerminationReason.ACTIONABLE_PARTIAL,
    }
)


@dataclass(frozen=True, slots=True)
class Thread:
    """One conversation's place: exact platform ids as strings, compared by equality only."""

    platform: str
    workspace: str
    channel: str
    thread: str
    """Empty for a direct message: the whole conversation is one thread."""


@dataclass(frozen=True, slots=True)
class Person:
    """A sender as the platform names them; `name` is for display and grants nothing."""

    id: str
    name: str = ""
    is_bot: bool = False
    is_external: bool = False
    """Of another organisation, in a place that both share: admitted by id, never as a member."""


@dataclass(frozen=True, slots=True)
class FileRef:
    """A file that a person attached: named by its platform, not read yet."""

    id: str
    """What the channel needs to fetch it."""
    name: str
    media_type: str = ""
    """What the platform says; the bytes decide."""
    size_bytes: int = 0
    """What the platform says; 0: unknown."""
    url: str = field(default="", repr=False)
    """Where the platform keeps it, when the id alone does not find it."""


@dataclass(frozen=True, slots=True)
class InboundMessage:
    """One message event of a platform, already parsed; carries no authority by itself."""

    thread: Thread
    message_id: str
    order_key: str
    """Sorts as text in the platform's own order within one thread."""
    dedupe_key: str
    sender: Person
    text: str
    kind: Literal["message", "edit", "delete"] = "message"
    is_addressed: bool = False
    """The agent is mentioned, or the place is a direct message."""
    is_direct: bool = False
    has_earlier: bool = False
    """The message replies in a thread that people used before."""
    reply_to: str = ""
    """The message under which an answer belongs when the thread part is empty."""
    sent_at_us: int = 0
    """UTC microseconds by the platform's clock."""
    is_catch_up: bool = False
    """Read back from the platform's history, not delivered live."""
    category: str = ""
    """The group of channels above the place, where the platform has such; a binding may name it."""
    is_edited: bool = False
    """The platform says that these are not its first words."""
    is_part: bool = False
    """More of what was sent as one follows at once: the turn waits a moment for it."""
    files: tuple[FileRef, ...] = ()
    skips_verification: bool = False
    """Its writer wants the answer without a check; heeded of whoever owns the terminal only."""


@dataclass(frozen=True, slots=True)
class ButtonPress:
    """A person pressed a button of one of our cards, or sent the words that the button asks for."""

    thread: Thread
    message_id: str
    """The message that carries the card."""
    presser: Person
    nonce: str = field(repr=False)
    dedupe_key: str
    text: str = ""
    """The free-text answer; empty when the button asks for none."""
    is_direct: bool = False
    category: str = ""
    """As in `InboundMessage`."""


COMMANDS = (
    *("new", "stop", "status", "usage", "help", "whoami", "why", "jobs"),
    *("model", "review", "effects", "computer", "compact", "forget"),
)
"""The verbs that are commands on every platform; any other word is an ordinary message."""
ALIASES = {"reset": "new", "id": "whoami", "compress": "compact"}
"""Other words for verbs; in a message they are commands only behind a mark, as in `!reset`."""


@dataclass(frozen=True, slots=True)
class ChatCommand:
    """A person used a command such as /status; handled before the queue and without the model."""

    thread: Thread
    sender: Person
    verb: str
    """Lower case; a command the platform delivers may be none of `COMMANDS`."""
    argument: str
    dedupe_key: str
    message_id: str = ""
    """The person's message; empty for a slash command, which leaves none."""
    reply_to: str = ""
    """As in `InboundMessage`."""
    is_direct: bool = False
    category: str = ""
    is_private: bool = False
    """The platform can answer the caller alone, and names no thread of the channel."""
    order_key: str = ""
    """As in `InboundMessage`; empty for a slash command, before which everything was said."""
    sent_at_us: int = 0
    is_catch_up: bool = False
    """Read back: nobody waits for its answer any more, and an old one is not obeyed."""


Inbound: TypeAlias = InboundMessage | ButtonPress | ChatCommand


@dataclass(frozen=True, slots=True)
class QuotedMessage:
    """An earlier message of a thread: data with an author, never a request."""

    message_id: str
    order_key: str
    sender: Person
    text: str


@dataclass(frozen=True, slots=True)
class Text:
    """Plain text said by a person or the model."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call the model proposed; a proposal is not permission."""

    call_id: str
    """The provider's id: echoed back, never trusted to be unique."""
    name: str
    arguments: JsonObject | None
    """None when the provider's text is not one JSON object; `raw` then holds it."""
    raw: str = ""
    fault: str = ""
    """Why the arguments could not be read, for the model."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What one call came to: a result, a refusal and an error all look like this."""

    call_id: str
    text: str
    is_error: bool = False
    names_urls: bool = False
    """URLs in the text come from the outside world, so a later fetch may follow them."""


@dataclass(frozen=True, slots=True)
class Image:
    """A picture that a person attached; its bytes are kept beside the store, under their hash."""

    media_type: str
    """image/png, image/jpeg, image/gif or image/webp, as the bytes say."""
    sha256: str
    name: str
    size_bytes: int


Block: TypeAlias = Text | ToolCall | ToolResult | Image

NOTE_TAG = "runtime-note"
"""Around what the runtime tells the model; no person's message can begin with it."""


@dataclass(frozen=True, slots=True)
class Message:
    """One immutable entry of a conversation, in our neutral form.

    `opaque` holds the provider's own bytes of an assistant message (a JSON array of its content
    blocks, reasoning signatures included): replayed unchanged to that provider, dropped for others.
    `wire` caches each provider's serialised form, so that a history is serialised once.
    """

    role: Literal["user", "assistant", "tool"]
    blocks: tuple[Block, ...]
    provider: str = ""
    opaque: bytes = b""
    wire: dict[str, bytes] = field(default_factory=dict, compare=False, repr=False)

    @property
    def text(self) -> str:
        """All text blocks joined by blank lines."""
        return "\n\n".join(b.text for b in self.blocks if isinstance(b, Text))

    @property
    def is_note(self) -> bool:
        """Whether the runtime wrote it to the model, in the place of a person."""
        first = self.blocks[0] if self.role == "user" and self.blocks else None
        return isinstance(first, Text) and first.text.startswith(f"<{NOTE_TAG}>")

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls of this message, in order."""
        return tuple([b for b in self.blocks if isinstance(b, ToolCall)])

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """The tool results of this message, in order."""
        return tuple([b for b in self.blocks if isinstance(b, ToolResult)])


@dataclass(frozen=True, slots=True)
class Button:
    """One choice of a card."""

    label: str
    """At most 30 characters."""
    nonce: str = field(repr=False)
    """Opaque, 22 characters of base64url: names this choice of this card, once."""
    style: Literal["plain", "primary", "danger"] = "plain"
    asks: str = ""
    """Not empty: pressing it asks for words under this prompt, and they are the press."""


@dataclass(frozen=True, slots=True)
class Card:
    """Something people decide on: a title, a body, named values and buttons.

    A card without buttons is a decided one. All text is Markdown but the title and the names.
    """

    title: str
    body: str = ""
    fields: tuple[tuple[str, str], ...] = ()
    """Names with their values, at most 10."""
    buttons: tuple[Button, ...] = ()
    """At most 5."""


@dataclass(frozen=True, slots=True)
class OutboundFile:
    """A file on its way to a thread; its bytes are kept under their hash until it is sent."""

    name: str
    media_type: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class ProgressStep:
    """One tool that a turn used or uses, or one step of its plan."""

    title: str
    state: Literal["pending", "running", "done", "failed"] = "running"


@dataclass(frozen=True, slots=True)
class OutboundBody:
    """What one outbox row says, before a channel renders it."""

    markdown: str
    kind: Literal["progress", "answer", "notice", "card"] = "answer"
    card: Card | None = None
    """With the kind `card`; the markdown is then what a channel without cards may say instead."""
    steps: tuple[ProgressStep, ...] = ()
    """With the kind `progress`: what was done so far, oldest first; never candidate text."""


@dataclass(frozen=True, slots=True)
class Part:
    """One platform message of an outbound body; fixed by `plan()` before the first send."""

    payload: JsonObject
    """The platform's own fields; opaque above the channel."""
    plain: str
    """The same content as plain text, for a formatting refusal."""
    file: OutboundFile | None = None
    """Not None: the part is this file, sent by `upload`; `plain` is its caption."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a part goes: the thread, and the message it answers when the thread part is empty."""

    thread: Thread
    reply_to: str = ""
