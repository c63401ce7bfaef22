"""Files that arrive in a conversation: where they lie, and saved under their names on request."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from geode.cli.chat_text import clean_line
from geode.errors import ControlError
from geode.records.transcript import ROOMS
from geode.store.blobs import Blobs

NAMES_MAX = 1_000
NAME_CHARS_MAX = 120


@dataclass(frozen=True, slots=True)
class ArrivedFile:
    """A file of a message."""

    name: str
    """As it was sent; never used as a path."""
    size_bytes: int
    sha256: str


def read_files(row: dict[str, Any]) -> tuple[ArrivedFile, ...]:
    """The files of a message."""
    return tuple(
        ArrivedFile(clean_line(f["name"]), int(f["size_bytes"]), str(f["sha256"]))
        for f in row.get("files", ())
    )


def find_path(state_folder: Path, file: ArrivedFile) -> Path:
    """Where the state folder keeps its content."""
    return state_folder / ROOMS / file.sha256


def save_file(state_folder: Path, file: ArrivedFile, target: Path) -> Path:
    """Copy a file to a folder or a new name; nothing that exists is replaced."""
    content = Blobs(state_folder / ROOMS).get(file.sha256, file.size_bytes)
    if content is None:
        raise ControlError(f"{file.name} is not kept any more.")
    wanted = target / _plain_name(file.name) if target.is_dir() else target
    for number in range(NAMES_MAX):
        path = wanted if not number else wanted.with_stem(f"{wanted.stem}-{number}")
        try:
            with path.open("xb") as opened:
                opened.write(content)
        except FileExistsError:
            continue
        except OSError as error:
            raise ControlError(f"{path} cannot be written ({error.strerror}).") from error
        return path
    raise ControlError(f"{wanted} and its neighbours exist already.")


def _plain_name(name: str) -> str:
    """The last part of a name, which is no way out of a folder."""
    last = name.replace("\\", "/").rpartition("/")[2].lstrip(".")
    return last[-NAME_CHARS_MAX:] or "file"
