"""What a channel tells whoever writes a configuration: what to do first, and what it found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from geode.messages import Person


@dataclass(frozen=True, slots=True)
class FoundPlace:
    """A place that a channel could serve, as a binding would name it."""

    where: str
    """`T0123/C0456`; direct messages end with `/dm`."""
    name: str
    """What people call it; for display."""
    people: tuple[Person, ...] = ()
    """Who was seen there, and could be written in the binding."""


@dataclass(frozen=True, slots=True)
class SetupGuide:
    """What a person does on the platform before its channel can be used, for `geode setup`."""

    steps: tuple[str, ...] = ()
    """In order, each a sentence or two."""
    tokens: Mapping[str, str] = field(default_factory=dict[str, str])
    """What people call each secret, by its key in the settings, in the order of asking."""
    when_nothing: str = "No place was found; write its id by hand."
    """What to do when `discover` finds no place."""
    waits_for: str = ""
    """What a person does while `discover` waits; empty: it need not wait."""
    manifest: str = ""
    """A text to paste on the platform; `geode setup --print-manifest` prints it."""
    has_rooms_by_person: bool = False
    """A direct message is a place under the person's own id."""
