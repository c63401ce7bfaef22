"""The terminal's own binding: always there, for one person, never written in a configuration."""

from __future__ import annotations

from geode.messages import Mode
from geode.settings import TERMINAL, Binding, Settings

WORKSPACE = "local"
ALWAYS = "always"


class TerminalBinding(Binding):
    """The place of whoever owns the state folder; a person sits there: there is no time limit."""

    mode: Mode = Mode.IPC


def bind_terminal(settings: Settings, person_id: str, mode: Mode) -> Settings:
    """The settings with the terminal bound for that person, who operates and approves there."""
    own = (person_id,)
    binding = TerminalBinding(
        channel=TERMINAL,
        where=f"{WORKSPACE}/{person_id}",
        people=own,
        operators=own,
        approvers=own,
        respond=ALWAYS,
        profile=settings.agent.terminal_profile,
        mode=mode,
    )
    others = (each for each in settings.bindings if each.channel != TERMINAL)
    return settings.model_copy(update={"bindings": (*others, binding)})


def rebind_terminal(settings: Settings, before: Settings) -> Settings:
    """The settings with the terminal bound as it was before, under the profile that they name."""
    for binding in before.bindings:
        if isinstance(binding, TerminalBinding):
            return bind_terminal(settings, binding.operators[0], binding.mode)
    return settings


def is_local(settings: Settings) -> bool:
    """Whether the process serves its own terminal only, and leaves the rest to a daemon."""
    return any(mode_of(binding) is Mode.REPL for binding in settings.bindings)


def mode_of(binding: Binding) -> Mode:
    """How sessions of the binding run; only the terminal's have somebody beside them."""
    return binding.mode if isinstance(binding, TerminalBinding) else Mode.DAEMON


def time_limit_s(binding: Binding | None) -> float | None:
    """How long a turn under the binding may take; None: without end."""
    if binding is None or isinstance(binding, TerminalBinding):
        return None
    return binding.time_budget_s
