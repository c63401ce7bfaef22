"""From file and environment to checked settings: environment before file before default."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Literal, cast

from pydantic import BaseModel, ValidationError

from geode.errors import ConfigError
from geode.settings import (
    CHANNEL_EMBEDDED,
    JUDGE_PROVIDERS,
    NOT_BUILT,
    PROVIDERS_BUILT,
    PROVIDERS_PLANNED,
    TERMINAL,
    Section,
    Settings,
)
from geode.settings_environment import Overlay, Table, list_overrides, overlay_environment
from geode.settings_faults import Origin, describe_fault
from geode.settings_file import find_file, read_table
from geode.settings_shape import find_nearest

Source = Literal["default", "file", "environment"]
ChannelModels = Mapping[str, type[Section]]


@dataclass(frozen=True, slots=True)
class Loaded:
    """Checked settings, and where each of them came from."""

    settings: Settings
    sources: Mapping[str, Source]
    """By dotted key, down to single values and lists: `limits.steps_max`."""
    path: Path | None
    """The file that was read; None when there is none."""
    state_folder: Path
    """Absolute; not created here."""

    @property
    def database_path(self) -> Path:
        """The SQLite file that `[state] url` names."""
        return self.settings.state.path_under(self.state_folder)


class InstalledChannelModels(ChannelModels):
    """The settings models of the installed channels, each imported only when asked for."""

    def __init__(self) -> None:
        found = entry_points(group="geode.channel_settings")
        self._entries: dict[str, EntryPoint] = {entry.name: entry for entry in found}

    def __getitem__(self, name: str) -> type[Section]:
        return cast("type[Section]", self._entries[name].load())

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


def find_state_folder(environ: Mapping[str, str]) -> Path:
    """`$GEODE_HOME`, or `.geode` in the home folder; absolute, not created."""
    home = Path(environ.get("HOME") or Path.home())
    written = environ.get("GEODE_HOME", "").strip()
    if not written:
        return home / ".geode"
    if written == "~" or written.startswith("~/"):
        return home / written[2:]
    return Path(written).absolute()


def load_settings(
    config: Path | None = None,
    *,
    channel_models: ChannelModels | None = None,
    environ: Mapping[str, str] | None = None,
) -> Loaded:
    """Find, read, merge and check the configuration; raises `ConfigError` and writes nothing.

    `channel_models` is asked only for channels that are configured; None means the installed ones.
    """
    env = os.environ if environ is None else environ
    state_folder = find_state_folder(env)
    path = find_file(config, env, state_folder)
    written: Table = {} if path is None else read_table(path)
    file = str(path or "the settings")
    installed = InstalledChannelModels() if channel_models is None else channel_models
    models = _choose_models(written, env, installed, file)
    overlay = overlay_environment(written, env, models)
    settings = _validate(overlay, models, Origin(file, overlay.variables))
    _check_references(settings, file)
    _check_destinations(settings, file)
    return Loaded(settings, _trace_sources(settings, written, overlay), path, state_folder)


def _choose_models(
    written: Table, environ: Mapping[str, str], installed: ChannelModels, file: str
) -> dict[str, type[Section]]:
    tables = written.get("channels", {})
    names = dict.fromkeys(cast("Table", tables) if isinstance(tables, dict) else {})
    for path in list_overrides(environ).values():
        if path[0] == "channels" and path[1] not in {n.lower().replace("-", "_") for n in names}:
            names[path[1]] = None
    if not names and CHANNEL_EMBEDDED in installed:
        names[CHANNEL_EMBEDDED] = None
    return {name: _find_model(name, installed, file) for name in names}


def _find_model(name: str, installed: ChannelModels, file: str) -> type[Section]:
    if name == TERMINAL:
        raise ConfigError(f"{file}: [channels.{name}] is built in and has no settings; remove it.")
    if name in installed:
        return installed[name]
    guess = find_nearest(name, installed)
    hint = f"did you mean [channels.{guess}]?" if guess else f"installed: {', '.join(installed)}."
    raise ConfigError(f"{file}: [channels.{name}] is not an installed channel; {hint}")


def _validate(overlay: Overlay, models: ChannelModels, origin: Origin) -> Settings:
    table = dict(overlay.table)
    tables = table.get("channels", {})
    if isinstance(tables, dict):
        below = cast("Table", tables)
        sections = {
            name: cast("Section", _check(model, below.get(name, {}), origin, ("channels", name)))
            for name, model in models.items()
        }
        table["channels"] = sections
        table["bindings"] = _with_built_in(table.get("bindings", []), sections)
    return cast("Settings", _check(Settings, table, origin, ()))


def _with_built_in(written: object, sections: Mapping[str, Section]) -> object:
    """The file's bindings and those that a channel brings when none of its places is bound."""
    if not isinstance(written, list):
        return written  # named when the whole is checked
    bindings = cast("list[object]", written)
    tables = [cast("Table", each) for each in bindings if isinstance(each, dict)]
    bound = {each.get("channel") for each in tables}
    unbound = [section for name, section in sections.items() if name not in bound]
    return [*bindings, *(dict(each) for section in unbound for each in section.built_in_bindings())]


def _check(
    model: type[BaseModel], table: object, origin: Origin, prefix: tuple[str, ...]
) -> BaseModel:
    try:
        return model.model_validate(table)
    except ValidationError as exc:
        # `from None`: the library's own text repeats the input, which may hold a secret.
        raise ConfigError(describe_fault(exc, model, origin, prefix)) from None


def _check_references(settings: Settings, file: str) -> None:
    for name in settings.providers:
        if name in JUDGE_PROVIDERS and settings.agent.judgment_engine == "jev":
            continue
        if name in PROVIDERS_PLANNED:
            raise ConfigError(f"{file}: [providers.{name}] {NOT_BUILT}.")
        if name not in PROVIDERS_BUILT:
            known = ", ".join(PROVIDERS_BUILT)
            raise ConfigError(
                f"{file}: [providers.{name}] is not a known provider; known: {known}."
            )
    profiles = {"agent.terminal_profile": settings.agent.terminal_profile}
    keys: set[str] = set()
    for number, binding in enumerate(settings.bindings, start=1):
        place = f"{file}: bindings[{number}]"
        profiles[f"bindings[{number}].profile"] = binding.profile
        if binding.channel not in settings.channels:
            raise ConfigError(
                f"{place}.channel is {binding.channel!r}, which is not configured; "
                f"add [channels.{binding.channel}]."
            )
        if binding.key in keys:
            raise ConfigError(
                f"{place}.where is {binding.where!r} a second time; bind a place once."
            )
        keys.add(binding.key)
    for key, name in profiles.items():
        if not settings.has_profile(name):
            raise ConfigError(
                f"{file}: {key} is {name!r}, which does not exist; add [profiles.{name}]."
            )


def _check_destinations(settings: Settings, file: str) -> None:
    for name, profile in settings.profiles.items():
        for to in profile.send_to:
            if (channel := to.partition(":")[0]) not in settings.channels:
                raise ConfigError(
                    f"{file}: profiles.{name}.send_to names {to!r}, whose channel is not "
                    f"configured; add [channels.{channel}]."
                )


def _trace_sources(settings: Settings, written: Table, overlay: Overlay) -> dict[str, Source]:
    sources: dict[str, Source] = {}

    def visit(value: object, table: object, path: tuple[str, ...]) -> None:
        if isinstance(value, BaseModel):
            below: Mapping[str, Any] | None = {
                n: getattr(value, n) for n in type(value).model_fields
            }
        else:
            below = cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else None
        if below is None:
            in_file = "default" if table is None else "file"
            sources[".".join(path)] = "environment" if path in overlay.variables else in_file
            return
        tables = cast("Table", table) if isinstance(table, dict) else {}
        for key, item in below.items():
            visit(item, tables.get(key), (*path, key))

    visit(settings, written, ())
    return sources
