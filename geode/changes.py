"""What a configuration that is read anew changes, and what of it waits for a restart; pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, cast

from geode.settings import Section, Settings

Table: TypeAlias = Mapping[str, object]


FOLLOWED = ("channels", "bindings", "profiles")
"""The sections that a running daemon takes over."""
FOLLOWED_KEYS = frozenset({"agent.terminal_profile"})
"""It is a binding's profile, and nothing else of its section is taken over."""


def merge_settings(old: Settings, new: Settings) -> tuple[Settings, list[str]]:
    """The old settings with what can be taken over, and a sentence for each key that cannot."""
    followed = {name: getattr(new, name) for name in FOLLOWED}
    terminal = {"terminal_profile": new.agent.terminal_profile}
    waiting = [
        f"{key} changed and waits for a restart"
        for name in Settings.model_fields
        if name not in FOLLOWED
        for key in _list_changed(name, getattr(old, name), getattr(new, name))
        if key not in FOLLOWED_KEYS
    ]
    agent = old.agent.model_copy(update=terminal)
    return old.model_copy(update={**followed, "agent": agent}), waiting


def describe_changes(old: Settings, new: Settings) -> list[str]:
    """What changes for people, by bindings and profiles."""
    before = {binding.key: binding for binding in old.bindings}
    after = {binding.key: binding for binding in new.bindings}
    said = [f"{key} is bound" for key in after if key not in before]
    said += [f"{key} is no longer bound" for key in before if key not in after]
    said += [
        f"{key} is bound otherwise" for key in after if before.get(key, after[key]) != after[key]
    ]
    names = sorted(old.profiles.keys() | new.profiles.keys())
    redone = [name for name in names if old.profiles.get(name) != new.profiles.get(name)]
    return [*said, *(f"profile {name} is changed" for name in redone)]


def _list_changed(path: str, old: object, new: object) -> list[str]:
    if old == new:
        return []
    if isinstance(old, Section) and type(old) is type(new):
        names = type(old).model_fields
        return [
            key
            for name in names
            for key in _list_changed(f"{path}.{name}", getattr(old, name), getattr(new, name))
        ]
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        left, right = cast("Table", old), cast("Table", new)
        return [
            key
            for name in sorted({*left, *right})
            for key in _list_changed(f"{path}.{name}", left.get(name), right.get(name))
        ]
    return [path]
