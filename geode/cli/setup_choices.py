"""What somebody typed to choose from a list, as what they meant; pure."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from geode.messages import Person
from geode.settings_ids import parse_person

_SEPARATORS = re.compile(r"[\s,;]+")
LOCALTIME = Path("/etc/localtime")


def split_list(text: str) -> list[str]:
    """The items of a list as people type it, each once."""
    return list(dict.fromkeys(item for item in _SEPARATORS.split(text.strip()) if item))


def parse_numbers(text: str, count: int) -> tuple[int, ...]:
    """Numbers of a list that counts from one, as indices; raises `ValueError`."""
    items = split_list(text)
    wrong = [item for item in items if not item.isdecimal() or not 1 <= int(item) <= count]
    if wrong or not items:
        raise ValueError(f"Type numbers from 1 to {count}, with commas between them.")
    return tuple(int(item) - 1 for item in items)


def parse_names(text: str, known: Sequence[str]) -> tuple[str, ...]:
    """Names, or numbers, of a list; raises `ValueError`."""
    items = split_list(text.lower())
    named = [known[int(i) - 1] if i.isdecimal() and 1 <= int(i) <= len(known) else i for i in items]
    if not named or set(named) - set(known):
        raise ValueError(f"Type some of: {', '.join(known)}.")
    return tuple(dict.fromkeys(named))


def parse_people(
    text: str, platform: str, seen: Sequence[Person]
) -> tuple[str, ...] | Literal["members"]:
    """Numbers of the people shown, `all` of them, `members`, or ids; raises `ValueError`."""
    items = split_list(text)
    if items == ["members"]:
        return "members"
    if items == ["all"] and seen:
        return tuple(person.id for person in seen)
    ids = [_read_person(item, platform, seen) for item in items]
    return tuple(dict.fromkeys(ids))


def _read_person(item: str, platform: str, seen: Sequence[Person]) -> str:
    if item.isdecimal() and 1 <= int(item) <= len(seen):
        return seen[int(item) - 1].id
    try:
        return parse_person(platform, item)
    except ValueError as error:
        raise ValueError(f"{str(error)[:1].upper()}{str(error)[1:]}.") from None


def parse_operators(text: str, platform: str, seen: Sequence[Person]) -> tuple[str, ...]:
    """At least one person; raises `ValueError`."""
    found = parse_people(text, platform, seen)
    if not found or isinstance(found, str):
        raise ValueError("Choose at least one operator, by number or id.")
    return found


def guess_timezone(environ: Mapping[str, str], localtime: Path = LOCALTIME) -> str:
    """The machine's time zone by its IANA name; UTC when it says none."""
    linked = os.path.realpath(localtime).partition("/zoneinfo/")[2]
    for name in (environ.get("TZ", "").lstrip(":"), linked):
        if name and is_timezone(name):
            return name
    return "UTC"


def is_timezone(name: str) -> bool:
    """Whether the name is one of the IANA list."""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True
