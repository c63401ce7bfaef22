"""A project's own list of servers: read only as it was when an operator accepted it."""

from __future__ import annotations

import hashlib
import os
import stat
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError, field_validator

from geode.errors import ConfigError
from geode.settings_faults import Origin, describe_fault
from geode.settings_mcp import McpServerSettings, check_servers
from geode.settings_section import Section

FOLDER = ".geode"
NAME = "mcp.toml"
BYTES_MAX = 262_144
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class ProjectSettings(Section):
    """`.geode/mcp.toml`: the same tables as `[mcp]` has."""

    servers: Mapping[str, McpServerSettings] = {}

    @field_validator("servers")
    @classmethod
    def _names_stand(
        cls, value: Mapping[str, McpServerSettings]
    ) -> Mapping[str, McpServerSettings]:
        check_servers(value)
        return value


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """The bytes that were read, once: what is judged is what is used."""

    path: str
    content: bytes

    @property
    def digest(self) -> str:
        """SHA-256 of the bytes."""
        return hashlib.sha256(self.content).hexdigest()

    def parse(self) -> Mapping[str, McpServerSettings]:
        """The servers that it lists; raises `ConfigError`."""
        try:
            table = tomllib.loads(self.content.decode("utf-8"))
            return ProjectSettings.model_validate(table).servers
        except ValidationError as error:
            reason = describe_fault(error, ProjectSettings, Origin(self.path))
            raise ConfigError(reason) from None
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"{self.path} is not TOML: {error}.") from None


def project_path(folder: str | Path) -> str:
    """Where a project's list lies, by the one path under which it is trusted."""
    return str(Path(os.path.realpath(folder)) / FOLDER / NAME)


def read_project(folder: str | Path) -> ProjectFile | None:
    """The list below a folder; None when there is none.

    Raises `ConfigError` for links in its place, for anything that is no plain file, and for more
    than a list of servers needs.
    """
    path = project_path(folder)
    try:
        # Each step names one entry of an opened folder, so no link below the project is followed.
        with (
            _opened(os.path.realpath(folder), _FLAGS | os.O_DIRECTORY) as root,
            _opened(FOLDER, _FLAGS | os.O_DIRECTORY, root.fd) as below,
            _opened(NAME, _FLAGS, below.fd) as file,
        ):
            return ProjectFile(path, _read_plain(file.fd, path))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read ({error.strerror}); it must be a plain file in a plain folder, "
            f"without links."
        ) from None


class _opened:  # noqa: N801 - used like a function
    """A descriptor for the length of a block."""

    def __init__(self, name: str, flags: int, parent: int | None = None) -> None:
        self.fd = os.open(name, flags, dir_fd=parent)

    def __enter__(self) -> _opened:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            os.close(self.fd)


def _read_plain(fd: int, path: str) -> bytes:
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        raise ConfigError(f"{path} is not a plain file.")
    content = b""
    while len(content) <= BYTES_MAX:
        chunk = os.read(fd, BYTES_MAX + 1)
        if not chunk:
            return content
        content += chunk
    raise ConfigError(f"{path} has more than {BYTES_MAX:,} bytes.")
