"""From `[hooks]` to the code that is asked and told; what cannot be started ends the start."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import cast

from geode.errors import ConfigError
from geode.hooks.asking import RegisteredHook
from geode.hooks.code import CommandCode, PythonCode, PythonObserver
from geode.hooks.observers import HookSystem, RegisteredObserver
from geode.hooks.processes import Command, Processes
from geode.hooks.programs import SEARCH_PATH, HookPlace, find_entry_point, find_faults, find_program
from geode.hooks.registry import HookRegistry
from geode.hooks.wire import ANSWER_BYTES_MAX
from geode.records.guard import Raised, run_guarded
from geode.settings_hooks import CodeSettings, DecisionEvent, HooksSettings, list_tools
from geode.settings_secrets import resolve_secret

DECIDING_MAX = 8
OBSERVING_MAX = 2
"""Commands that run at once; observers never keep a decision waiting."""


@dataclass(frozen=True, slots=True)
class Hooks:
    """What `[hooks]` comes to."""

    registry: HookRegistry = field(default_factory=HookRegistry)
    system: HookSystem = field(default_factory=HookSystem)
    secrets: tuple[str, ...] = ()
    """What commands are given in their environment, for whoever redacts."""


async def build_hooks(
    settings: HooksSettings, place: HookPlace, environ: Mapping[str, str]
) -> Hooks:
    """Find every program, secret and entry point; raises `ConfigError` at the first that fails."""
    for fault in find_faults(settings, place, environ):
        raise ConfigError(fault)
    deciding, observing = Processes(DECIDING_MAX), Processes(OBSERVING_MAX)
    found: dict[DecisionEvent, list[RegisteredHook]] = {}
    secrets: list[str] = []
    for event, name, hook in settings.list_decisions():
        if hook.command:
            command = _command_of(name, hook, place, environ, secrets)
            code = CommandCode(name, command, deciding)
        else:
            code = PythonCode(await _load(name, hook.entry_point))
        registered = RegisteredHook(name, code, frozenset(list_tools(hook)), hook.timeout_s)
        found.setdefault(event, []).append(registered)
    observers: list[RegisteredObserver] = []
    for name, each in settings.list_observers():
        if each.command:
            command = _command_of(name, each, place, environ, secrets)
            told = CommandCode(name, command, observing)
        else:
            told = PythonObserver(await _load(name, each.entry_point))
        observers.append(RegisteredObserver(name, told, frozenset(each.events), each.timeout_s))
    return Hooks(HookRegistry(found), HookSystem(observers), tuple(secrets))


def _command_of(
    name: str,
    code: CodeSettings,
    place: HookPlace,
    environ: Mapping[str, str],
    secrets: list[str],
) -> Command:
    given = {key: resolve_secret(ref, environ).reveal() for key, ref in code.env.items()}
    secrets += given.values()
    plain = {"PATH": SEARCH_PATH, "LANG": "C.UTF-8", "HOME": environ.get("HOME", "/")}
    program = find_program(name, code.command, place)
    argv = (str(program), *code.command[1:])
    return Command(argv, place.folder, plain | given, ANSWER_BYTES_MAX)


async def _load(name: str, entry_point: str) -> Callable[[object], Awaitable[object]]:
    """The async callable that the entry point names, or that its factory makes."""

    async def load() -> object:
        found = find_entry_point(name, entry_point).load()
        return found if _is_async(found) or not callable(found) else found()

    loaded = await run_guarded(name, load)
    if isinstance(loaded, Raised):
        raise ConfigError(f"hooks.{name}: {entry_point!r} could not be loaded ({loaded.sentence}).")
    if not _is_async(loaded):
        raise ConfigError(
            f"hooks.{name}: {entry_point!r} is neither an async function nor makes one."
        )
    return cast("Callable[[object], Awaitable[object]]", loaded)


def _is_async(found: object) -> bool:
    if inspect.iscoroutinefunction(found):
        return True
    # An object of a class with `async def __call__`; the class itself is a factory.
    return inspect.iscoroutinefunction(getattr(type(found), "__call__", None))  # noqa: B004
