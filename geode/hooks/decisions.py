"""What a hook is shown of a call and what it may answer: it strengthens, it never grants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from geode.messages import JsonObject
from geode.steps import ToolContext


@dataclass(frozen=True, slots=True)
class ProposedCall:
    """A call that has passed scope, policy and schema, and has not begun."""

    tool: str
    effect: str
    data_class: str
    arguments: JsonObject
    context: ToolContext


@dataclass(frozen=True, slots=True)
class EndedCall:
    """A call that has ended in any way, and what the model would be told of it."""

    proposed: ProposedCall
    ending: str
    """The timeline's word: done, applied_with_error, not_applied, failed, uncertain."""
    text: str
    is_error: bool


@dataclass(frozen=True, slots=True)
class Proceed:
    """No objection."""


@dataclass(frozen=True, slots=True)
class Block:
    """The call does not run; `hook` names who said so."""

    hook: str
    reason: str
    has_failed: bool = False
    """The hook gave no valid answer in time: it denies, and the record tells the two apart."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """The call is to run with other arguments, if it passes every check again."""

    hook: str
    arguments: JsonObject


@dataclass(frozen=True, slots=True)
class AskPerson:
    """The call is to wait for a person's approval, whatever the profile says."""

    hook: str
    reason: str
    arguments: JsonObject | None = None
    """What the call is to run with, when a hook has rewritten it too: checked again, then asked."""


@dataclass(frozen=True, slots=True)
class Keep:
    """The result stays as it is."""


@dataclass(frozen=True, slots=True)
class AddContext:
    """The result stays, and the model is told this beside it, as data."""

    hook: str
    text: str


@dataclass(frozen=True, slots=True)
class Withhold:
    """The model is not shown the result, only that it was withheld and why."""

    hook: str
    reason: str
    has_failed: bool = False


PreToolUse: TypeAlias = Proceed | Block | Rewrite | AskPerson
PermissionRequest: TypeAlias = Proceed | Block
PostToolUse: TypeAlias = Keep | AddContext | Withhold
