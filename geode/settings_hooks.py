"""`[hooks]`: the operator's own code, asked about calls and answers, or told what happened."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from geode.settings_secrets import SecretRef
from geode.settings_section import Section, ToolNames, list_to_tuple

HOOK_S_MAX = 10.0
"""A hook that has not answered by then has denied."""

DecisionEvent: TypeAlias = Literal[
    "PreToolUse", "PermissionRequest", "PostToolUse", "PreVerify", "PostVerify", "Stop"
]
LifecycleName: TypeAlias = Literal[
    "turn_started",
    "tool_proposed",
    "tool_refused",
    "tool_ended",
    "approval_asked",
    "approval_decided",
    "verification_decided",
    "review_asked",
    "review_decided",
    "turn_ended",
]

_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_GIVEN = frozenset({"PATH", "LANG", "HOME"})


def _check_word(value: str) -> str:
    if "\0" in value:
        raise ValueError("holds a NUL character")
    return value


def _check_env(value: Mapping[str, SecretRef]) -> Mapping[str, SecretRef]:
    for name in value:
        if _ENV_NAME.fullmatch(name) is None:
            raise ValueError(f"{name!r} is not the name of a variable")
        if name in _GIVEN:
            raise ValueError(f"{name} is always the same for hooks; leave it out")
    return value


Words = Annotated[
    tuple[Annotated[str, AfterValidator(_check_word)], ...], BeforeValidator(list_to_tuple)
]


class CodeSettings(Section):
    """Which code: a command, or a Python entry point of the group `geode.hooks`."""

    command: Words = ()
    """The program and its arguments; no shell reads them."""
    entry_point: str = ""
    env: Annotated[Mapping[str, SecretRef], AfterValidator(_check_env)] = {}
    """What a command's environment holds beside PATH, LANG and HOME."""
    timeout_s: float = Field(default=HOOK_S_MAX, gt=0, le=HOOK_S_MAX)

    @model_validator(mode="after")
    def _is_one_of_both(self) -> CodeSettings:
        if bool(self.command) == bool(self.entry_point):
            raise ValueError('write either command = ["program", …] or entry_point = "name"')
        if self.command and not self.command[0].strip():
            raise ValueError("the command has no program")
        if self.env and not self.command:
            raise ValueError("env is for a command; an entry point runs inside GEODE")
        return self


class HookSettings(CodeSettings):
    """One hook that is asked about calls."""

    tools: ToolNames = ()
    """Exact names; empty: every tool."""


def list_tools(code: CodeSettings) -> tuple[str, ...]:
    """The tools that a hook is about; empty: every tool, or none at all."""
    return code.tools if isinstance(code, HookSettings) else ()


class ObserverSettings(CodeSettings):
    """One observer."""

    events: Annotated[tuple[LifecycleName, ...], BeforeValidator(list_to_tuple)] = ()
    """Empty: every event."""


CodeList = Annotated[tuple[CodeSettings, ...], BeforeValidator(list_to_tuple)]
HookList = Annotated[tuple[HookSettings, ...], BeforeValidator(list_to_tuple)]
ObserverList = Annotated[tuple[ObserverSettings, ...], BeforeValidator(list_to_tuple)]


class HooksSettings(Section):
    """The hooks by event, each list in the order in which it is asked."""

    PreToolUse: HookList = ()
    PermissionRequest: HookList = ()
    PostToolUse: HookList = ()
    PreVerify: CodeList = ()
    """Asked about answers, as are the two after it; these know no tools."""
    PostVerify: CodeList = ()
    Stop: CodeList = ()
    Observe: ObserverList = ()
    """Told what happened; asked nothing."""

    def list_decisions(self) -> Iterator[tuple[DecisionEvent, str, CodeSettings]]:
        """Every decision hook with its event and its name, `PreToolUse[1]`."""
        lists: tuple[tuple[DecisionEvent, Sequence[CodeSettings]], ...] = (
            ("PreToolUse", self.PreToolUse),
            ("PermissionRequest", self.PermissionRequest),
            ("PostToolUse", self.PostToolUse),
            ("PreVerify", self.PreVerify),
            ("PostVerify", self.PostVerify),
            ("Stop", self.Stop),
        )
        for event, hooks in lists:
            for number, hook in enumerate(hooks, start=1):
                yield event, f"{event}[{number}]", hook

    def list_observers(self) -> Iterator[tuple[str, ObserverSettings]]:
        """Every observer with its name, `Observe[1]`."""
        for number, observer in enumerate(self.Observe, start=1):
            yield f"Observe[{number}]", observer
