"""Each session's own folder: all opened beneath its descriptor, each write whole or not at all."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from geode.errors import FileRefusedError, PathRefusedError
from geode.messages import SessionId
from geode.ports import Failpoints, NoFailpoints
from geode.tools import beneath, replace
from geode.tools.names import number_name
from geode.tools.paths import WorkspacePath, is_reserved

NAMES_TRIED_MAX = 1_000

_SESSION_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}", re.ASCII)


@dataclass(frozen=True, slots=True)
class WorkspaceLimits:
    """How much one session may keep."""

    file_bytes_max: int = 5_000_000
    total_bytes_max: int = 200_000_000
    entries_max: int = 5_000
    """Files and folders together."""


@dataclass(frozen=True, slots=True)
class Written:
    """A file was replaced; unless `is_flushed`, a power cut may still bring the old one back."""

    was_new: bool
    is_flushed: bool


@dataclass(frozen=True, slots=True)
class ReadBack:
    """What a file holds after a write whose outcome is unknown."""

    content: bytes
    writer: str | None
    """The operation that wrote the file last; None when the disk keeps no such mark."""


class NoWorkspaceError(FileRefusedError):
    """The session has no folder yet, so no file either."""

    def __init__(self) -> None:
        super().__init__("The workspace is empty.")


class Workspaces:
    """The folders of all sessions. Its methods block: call them in a thread."""

    def __init__(
        self,
        root: Path,
        *,
        limits: WorkspaceLimits | None = None,
        failpoints: Failpoints | None = None,
    ) -> None:
        self._root = root
        self._failpoints = failpoints or NoFailpoints()
        # One write at a time, so that two cannot both fit into the last free space.
        self._writing = threading.Lock()
        self.limits = limits or WorkspaceLimits()

    @contextmanager
    def open_session(
        self, session: SessionId, *, create: bool = False
    ) -> Generator[int, None, None]:
        """A descriptor of the session's folder; raises `NoWorkspaceError` when it has none."""
        if _SESSION_NAME.fullmatch(session) is None:
            raise PathRefusedError("The session's id cannot name a folder.")
        if create:
            self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            root = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError as exc:
            raise NoWorkspaceError from exc
        try:
            if not create and beneath.look(root, session) is None:
                raise NoWorkspaceError
            with beneath.open_folder(root, (session,), made=[] if create else None) as folder:
                yield folder
        finally:
            os.close(root)

    def has_session(self, session: SessionId) -> bool:
        """Whether the session has a folder yet; it gets one at its first write."""
        try:
            with self.open_session(session):
                return True
        except NoWorkspaceError:
            return False

    @contextmanager
    def open_folder(self, session: SessionId, path: WorkspacePath) -> Generator[int, None, None]:
        """A descriptor of one folder of the session."""
        with (
            _readable(path.text),
            self.open_session(session) as base,
            beneath.open_folder(base, path.given) as folder,
        ):
            yield folder

    @contextmanager
    def open_file(self, session: SessionId, path: WorkspacePath) -> Generator[int, None, None]:
        """A descriptor of one regular file of the session, for reading."""
        *parents, name = path.given
        with (
            _readable(path.text),
            self.open_session(session) as base,
            beneath.open_folder(base, tuple(parents)) as folder,
            beneath.open_file(folder, name, path.text) as descriptor,
        ):
            yield descriptor

    def read_whole(self, session: SessionId, path: WorkspacePath) -> bytes:
        """A file's bytes; raises `FileRefusedError` beyond the limit for one file."""
        with self.open_file(session, path) as descriptor:
            raw = beneath.read_at(descriptor, 0, self.limits.file_bytes_max + 1)
        if len(raw) > self.limits.file_bytes_max:
            raise FileRefusedError(
                f"{path.text} is larger than {self.limits.file_bytes_max:,} bytes."
            )
        return raw

    def read_back(self, session: SessionId, path: WorkspacePath, operation: str) -> ReadBack | None:
        """What the file holds now; None when it is not there, an error when that is not clear.

        The operation's unfinished file is taken away first, so that a worker which froze before
        its rename cannot finish the write after this look.
        """
        *parents, name = path.given
        try:
            with (
                self.open_session(session) as base,
                beneath.open_folder(base, tuple(parents)) as folder,
            ):
                replace.remove_quietly(folder, replace.unfinished_name(operation))
                with beneath.open_file(folder, name, path.text) as descriptor:
                    content = beneath.read_at(descriptor, 0, self.limits.file_bytes_max + 1)
                    return ReadBack(content, replace.read_mark(descriptor))
        except FileRefusedError:
            return None

    def write_file(
        self, session: SessionId, path: WorkspacePath, content: bytes, operation: str
    ) -> Written:
        """Make the file hold exactly `content`, or raise `ToolError` with everything as it was.

        Missing folders are made. A kill leaves the old file or the new one, and at most a reserved
        file that the next write in this session takes away.
        """
        if len(content) > self.limits.file_bytes_max:
            raise FileRefusedError(
                f"The content has {len(content):,} bytes; a file may have "
                f"{self.limits.file_bytes_max:,}. Nothing was written."
            )
        with self._writing:
            return self._write(session, path, content, operation)

    def add_file(
        self, session: SessionId, wanted: WorkspacePath, content: bytes, operation: str
    ) -> WorkspacePath:
        """Store a file under the wanted name or, when another has it, under the next free one.

        The same content under the same name is not stored twice. The caller bounds the size.
        """
        *parents, name = wanted.names
        with self._writing:
            for number in range(1, NAMES_TRIED_MAX + 1):
                path = WorkspacePath((*parents, number_name(name, number)))
                is_there = self._holds(session, path, content)
                if is_there is None:
                    self._write(session, path, content, operation)
                if is_there is not False:
                    return path
        raise FileRefusedError(f"Too many files are named {wanted.text}.")

    def _holds(self, session: SessionId, path: WorkspacePath, content: bytes) -> bool | None:
        """Whether the path holds exactly the content; None when nothing has that name."""
        *parents, name = path.given
        try:
            with (
                self.open_session(session) as base,
                beneath.open_folder(base, tuple(parents)) as folder,
            ):
                if beneath.look_up(folder, name) is None:
                    return None
                with beneath.open_file(folder, name, path.text) as descriptor:
                    return beneath.read_at(descriptor, 0, len(content) + 1) == content
        except FileRefusedError:
            return None
        except PathRefusedError:
            return False

    def _write(
        self, session: SessionId, path: WorkspacePath, content: bytes, operation: str
    ) -> Written:
        *parents, name = path.given
        made: list[tuple[str, ...]] = []
        try:
            with self.open_session(session, create=True) as base:
                entries = self._check_room(base, len(content))
                try:
                    with beneath.open_folder(base, tuple(parents), made=made) as folder:
                        if beneath.find_name(folder, name) is None:
                            self._check_count(entries + 1)
                        order = replace.Replacement(name, path.text, content, operation)
                        return Written(*replace.replace_file(folder, order, self._failpoints))
                except BaseException:
                    _remove_folders(base, made)
                    raise
        except OSError as exc:
            raise replace.write_refusal(exc, path.text) from exc

    def _check_room(self, base: int, more_bytes: int) -> int:
        """The number of entries, when the session may hold that many more bytes.

        Takes away what a kill left half written.
        """
        used = entries = 0
        for entry in beneath.walk(base):
            if is_reserved(entry.name):
                replace.remove_quietly(entry.folder, entry.name)
                continue
            entries += 1
            used += 0 if entry.is_folder else entry.status.st_size
            self._check_count(entries)
        if used + more_bytes > self.limits.total_bytes_max:
            raise FileRefusedError(
                f"The workspace may hold {self.limits.total_bytes_max:,} bytes and has "
                f"{used:,}. Nothing was written."
            )
        return entries

    def _check_count(self, entries: int) -> None:
        if entries > self.limits.entries_max:
            raise FileRefusedError(
                f"The workspace may hold {self.limits.entries_max:,} files and folders. "
                "Nothing was written."
            )


@contextmanager
def _readable(shown: str) -> Generator[None, None, None]:
    """Turns what the system refuses while reading into a sentence."""
    try:
        yield
    except OSError as exc:
        reason = os.strerror(exc.errno or 0)
        raise FileRefusedError(f"{shown} could not be read ({reason}).") from exc


def _remove_folders(base: int, made: list[tuple[str, ...]]) -> None:
    for names in reversed(made):
        try:
            with beneath.open_folder(base, names[:-1]) as parent:
                os.rmdir(names[-1], dir_fd=parent)
        except (OSError, PathRefusedError, FileRefusedError):
            return
