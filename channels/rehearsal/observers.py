"""Who hears of every request that a stand-in reads, for whoever checks what is said to it."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path

import orjson

from geode.messages import JsonObject, JsonValue

REQUESTS_FILE = "REHEARSAL_REQUESTS"
"""The variable that names a file to which a stand-in's process writes what it hears."""


@dataclass(frozen=True, slots=True)
class Heard:
    """One request as it came, before any rule or fault; the token is left out."""

    platform: str
    address: str
    """A method's name, or verb and path."""
    body: JsonValue = None
    query: JsonObject = field(default_factory=dict[str, JsonValue])


Observer = Callable[[Heard], None]
_observers: list[Observer] = []


@contextmanager
def observed_by(observer: Observer) -> Generator[None]:
    """Let it hear every request to every stand-in of this process; it must not raise."""
    _observers.append(observer)
    try:
        yield
    finally:
        _observers.remove(observer)


def tell(heard: Heard) -> None:
    """A stand-in has read a request."""
    for observer in _observers:
        observer(heard)


def write_to(path: Path) -> Observer:
    """An observer that appends each request to a file as a line of JSON."""

    def write(heard: Heard) -> None:
        with path.open("ab") as file:
            file.write(orjson.dumps(asdict(heard)) + b"\n")

    return write


def written_as_asked() -> AbstractContextManager[None]:
    """Write down what this process hears when the variable names a file."""
    named = os.environ.get(REQUESTS_FILE, "")
    return observed_by(write_to(Path(named))) if named else nullcontext()


def read_from(path: Path) -> list[Heard]:
    """What was written so far."""
    lines = path.read_bytes().splitlines() if path.exists() else []
    return [Heard(**orjson.loads(line)) for line in lines]
