"""The configuration file: where it is looked for, and its TOML as a table; only ever read."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from geode.errors import ConfigError

FILE_NAME = "geode.toml"

_POSITION = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)$")
_BYTES_MAX = 4_194_304


def find_file(config: Path | None, environ: Mapping[str, str], state_folder: Path) -> Path | None:
    """The first of `--config`, `$GEODE_CONFIG`, `./geode.toml` and the state folder's; or None.

    A file that was asked for by name and is not there is an error, not a reason to look on.
    """
    if config is not None:
        return _demand(config, "--config")
    asked = environ.get("GEODE_CONFIG", "").strip()
    if asked:
        return _demand(Path(asked).expanduser(), "GEODE_CONFIG")
    for candidate in (Path(FILE_NAME), state_folder / FILE_NAME):
        if os.path.lexists(candidate):
            return candidate.absolute()
    return None


def read_table(path: Path) -> dict[str, Any]:
    """The file's content; an empty file is an empty table.

    Raises `ConfigError`, which names the file and, for bad TOML, line and column.
    """
    text = _decode(path, _read_bytes(path))
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ConfigError(f"{path} is nested too deeply; write plain sections.") from None
    except ValueError as exc:
        raise ConfigError(_say_where(path, text, str(exc))) from None


def _demand(path: Path, asked_by: str) -> Path:
    if not os.path.lexists(path):
        raise ConfigError(
            f"{asked_by} names {path}, which does not exist; create it or correct it."
        )
    return path.absolute()


def _read_bytes(path: Path) -> bytes:
    try:
        if path.exists() and not path.is_file():
            raise ConfigError(f"{path} is not a file; put the configuration file there.")
        with path.open("rb") as stream:
            content = stream.read(_BYTES_MAX + 1)
    except OSError as exc:
        raise ConfigError(
            f"{path} cannot be read ({exc.strerror}); make it readable for this user."
        ) from exc
    if len(content) > _BYTES_MAX:
        raise ConfigError(f"{path} is larger than {_BYTES_MAX} bytes; is it the right file?")
    return content


def _decode(path: Path, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        before = content[: exc.start].decode("utf-8", "replace")
        line, column = _position_after(before)
        raise ConfigError(
            f"{path}, line {line}, column {column}: not UTF-8 text; save the file as UTF-8."
        ) from None


def _say_where(path: Path, text: str, message: str) -> str:
    match = _POSITION.search(message)
    if match is None:
        return f"{path} is not TOML: {message}."
    line, column = match[1], match[2]
    if line is None:
        line, column = _position_after(text.replace("\r\n", "\n").removesuffix("\n"))
    reason = message[: match.start()]
    return f"{path}, line {line}, column {column}: {reason[:1].lower()}{reason[1:]}; correct it."


def _position_after(text: str) -> tuple[int, int]:
    return text.count("\n") + 1, len(text) - (text.rfind("\n") + 1) + 1
