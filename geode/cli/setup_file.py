"""Where `geode setup` writes, whether it could, and the writing itself: whole or not at all."""

from __future__ import annotations

import difflib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from geode.errors import ConfigError
from geode.settings import Settings
from geode.settings_file import FILE_NAME, read_table
from geode.settings_load import find_state_folder, load_settings

PRIVATE = 0o700
BACKUPS_MAX = 1_000


def find_target(config: Path | None, environ: Mapping[str, str]) -> Path:
    """The file that `geode serve` will find: the named one, `./geode.toml`, else the state's."""
    asked = environ.get("GEODE_CONFIG", "").strip()
    if config is not None or asked:
        return (config or Path(asked).expanduser()).absolute()
    here = Path(FILE_NAME)
    return (here if os.path.lexists(here) else find_state_folder(environ) / FILE_NAME).absolute()


def read_existing(target: Path) -> str:
    """The present file's text, empty when there is none; raises `ConfigError` for bad TOML."""
    if not os.path.lexists(target):
        return ""
    read_table(target)
    return target.read_text(encoding="utf-8-sig")


def check_writable(folder: Path) -> None:
    """Raise `ConfigError` when a file could not be made there; makes nothing."""
    nearest = folder
    while not os.path.lexists(nearest):
        nearest = nearest.parent
    if not nearest.is_dir():
        raise ConfigError(f"{nearest} is not a folder; name another place with --config.")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise ConfigError(
            f"{nearest} cannot be written by this user; change its owner, or name another place "
            "with --config or GEODE_HOME."
        )


def check_document(text: str, target: Path, environ: Mapping[str, str]) -> Settings:
    """The settings that the text means, as `geode serve` would read it; raises `ConfigError`."""
    with tempfile.TemporaryDirectory(prefix="geode-setup-") as folder:
        draft = Path(folder) / FILE_NAME
        draft.write_text(text, encoding="utf-8")
        try:
            return load_settings(draft, environ=environ).settings
        except ConfigError as error:
            raise ConfigError(str(error).replace(str(draft), str(target))) from error


def show_change(before: str, after: str, name: str) -> str:
    """What is written: the whole of a new file, else the lines that change."""
    if not before:
        return after
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), f"{name} now", f"{name} then", n=2, lineterm=""
    )
    return "\n".join(lines)


def write_all(target: Path, text: str, secrets: Mapping[Path, str]) -> Path | None:
    """Write the secrets, a copy of the present file, then the file; the copy's path.

    Raises `ConfigError`; the present file is then as it was.
    """
    try:
        for path, value in secrets.items():
            write_private(path, f"{value}\n")
        backup = _keep_copy(target) if target.exists() else None
        write_private(target.resolve(), text)
    except OSError as error:
        where = error.filename or target
        raise ConfigError(
            f"{where} cannot be written ({error.strerror}): make room or give this user the "
            f"right, and start again; {target} is as it was."
        ) from error
    return backup


def _keep_copy(target: Path) -> Path:
    for number in range(1, BACKUPS_MAX):
        backup = target.with_name(f"{target.name}.bak-{number}")
        if not os.path.lexists(backup):
            write_private(backup, target.read_bytes())
            return backup
    raise ConfigError(f"{target.parent} holds {BACKUPS_MAX} copies of the file; remove some.")


def write_private(path: Path, content: str | bytes) -> None:
    """Replace a file by one of its user's own (0600), on disk before it is there."""
    path.parent.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
    number, draft = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(number, "wb") as stream:
            stream.write(content.encode() if isinstance(content, str) else content)
            stream.flush()
            os.fsync(stream.fileno())
        Path(draft).replace(path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
