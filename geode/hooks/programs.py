"""Finds what a hook names, on this machine and never by the working directory; one fault each."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from geode.errors import ConfigError
from geode.settings_hooks import CodeSettings, HooksSettings, list_tools
from geode.settings_load import Loaded
from geode.settings_secrets import SecretMissingError, resolve_secret

SEARCH_PATH = "/usr/local/bin:/usr/bin:/bin"
"""Where a bare program name is looked for, and the PATH of every hook."""
ENTRY_POINT_GROUP = "geode.hooks"

_INTERPRETER = re.compile(r"(?:python|pypy|bash|dash|sh|zsh|node|ruby|perl)[\d.]*")


@dataclass(frozen=True, slots=True)
class HookPlace:
    """Where relative paths begin, and which folder no hook may lie in."""

    folder: Path
    """That of the configuration file; absolute."""
    agent_files: Path
    """What the agent itself may write."""


def place_of(loaded: Loaded) -> HookPlace:
    """Beside the configuration file, or in the state folder where there is none."""
    folder = loaded.state_folder if loaded.path is None else loaded.path.parent
    return HookPlace(folder, loaded.state_folder / "files")


def find_faults(
    hooks: HooksSettings, place: HookPlace, environ: Mapping[str, str]
) -> Iterator[str]:
    """A sentence for each hook that could not be started; nothing is run or imported."""
    named: list[tuple[str, CodeSettings]] = [
        (name, each) for _, name, each in hooks.list_decisions()
    ]
    for name, code in [*named, *hooks.list_observers()]:
        try:
            if code.command:
                find_program(name, code.command, place)
            else:
                find_entry_point(name, code.entry_point)
            for ref in code.env.values():
                resolve_secret(ref, environ)
        except SecretMissingError as error:
            yield f"hooks.{name}: {error}"
        except ConfigError as error:
            yield str(error)


def check_tools(hooks: HooksSettings, known: Collection[str]) -> None:
    """A hook about a tool that does not exist would guard nothing: say so now."""
    for _, name, hook in hooks.list_decisions():
        unknown = sorted(set(list_tools(hook)).difference(known))
        if unknown:
            raise ConfigError(
                f"hooks.{name} is about {', '.join(unknown)}, which this GEODE does not have; "
                f"correct it. There are: {', '.join(sorted(known))}."
            )


def find_program(name: str, command: tuple[str, ...], place: HookPlace) -> Path:
    """The program's absolute path; raises `ConfigError` when it cannot be run or be trusted."""
    written = command[0]
    if "/" in written:
        program = place.folder / written
    else:
        found = shutil.which(written, path=SEARCH_PATH)
        if found is None:
            raise ConfigError(
                f"hooks.{name}: {written} is in none of {SEARCH_PATH}; write its absolute path."
            )
        program = Path(found)
    if not program.is_file() or not os.access(program, os.X_OK):
        raise ConfigError(
            f"hooks.{name}: {program} is not a program; correct the path, or make it executable."
        )
    _check_script(name, command, place)
    for path in (program, *(place.folder / word for word in command[1:])):
        if path.resolve().is_relative_to(place.agent_files.resolve()):
            raise ConfigError(
                f"hooks.{name}: {path} lies among the files that the agent itself writes; "
                "put it elsewhere."
            )
    return program


def find_entry_point(name: str, written: str) -> EntryPoint:
    """The entry point of that name; raises `ConfigError` when not exactly one is installed."""
    installed = entry_points(group=ENTRY_POINT_GROUP)
    found = {entry.value: entry for entry in installed if entry.name == written}
    if len(found) > 1:
        raise ConfigError(
            f"hooks.{name}: {written!r} is an entry point of several packages; remove all but one."
        )
    for entry in found.values():
        return entry
    names = ", ".join(sorted({entry.name for entry in installed})) or "none"
    raise ConfigError(
        f"hooks.{name}: {written!r} is no installed entry point of {ENTRY_POINT_GROUP}; "
        f"there are: {names}."
    )


def _check_script(name: str, command: tuple[str, ...], place: HookPlace) -> None:
    """An interpreter starts without its script too, and would then deny every call."""
    if _INTERPRETER.fullmatch(Path(command[0]).name) is None or len(command) == 1:
        return
    script = place.folder / command[1]
    if not command[1].startswith("-") and not script.is_file():
        raise ConfigError(f"hooks.{name}: there is no file {script}; correct the path.")
