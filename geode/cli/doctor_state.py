"""What `geode doctor` sees of this machine: the file, the state folder, the database, a daemon."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from geode.errors import ControlError, DaemonAbsentError, StoreError
from geode.ports import Finding
from geode.serve.client import ask_daemon
from geode.serve.endpoint import SOCKET_NAME
from geode.settings_load import Loaded
from geode.store.database import KNOWN_REVISIONS, SCHEMA_HEAD, find_damage, read_revision

FREE_BYTES_FEW = 500_000_000
FREE_BYTES_NONE = 20_000_000
CHECKED_BYTES_MAX = 200_000_000
"""A larger database is not read through while somebody waits."""
ANSWER_S = 5.0
SHARED = stat.S_IRWXG | stat.S_IRWXO


def look_at_file(loaded: Loaded) -> Iterator[Finding]:
    """Which configuration counts, and what the environment says over it."""
    if loaded.path is None:
        sentence = (
            "No geode.toml was found, so the built-in defaults count; geode setup writes one."
        )
        yield Finding("ok", "file", sentence)
    else:
        yield Finding("ok", "file", f"{loaded.path} is read")
    changed = sorted(key for key, source in loaded.sources.items() if source == "environment")
    if changed:
        yield Finding("ok", "environment", f"sets {', '.join(changed)}")
    yield Finding("ok", "time zone", loaded.settings.agent.timezone)


def look_at_state(loaded: Loaded) -> Iterator[Finding]:
    """Whether the state folder can be used, and what lies in it."""
    folder = loaded.state_folder
    place = next(each for each in (folder, *folder.parents) if each.exists())
    if not os.access(place, os.W_OK | os.X_OK):
        sentence = f"{place} cannot be written; give it to this user, or set GEODE_HOME."
        yield Finding("fault", "folder", sentence)
        return
    if place == folder and folder.stat().st_mode & SHARED:
        sentence = f"{folder} is open to other users; run: chmod 700 {folder}"
        yield Finding("warning", "folder", sentence)
    else:
        yield Finding("ok", "folder", f"{folder}" + ("" if place == folder else " (made at start)"))
    yield _look_at_disk(place)
    yield _look_at_database(loaded.database_path)
    yield _look_for_daemon(folder)


def _look_at_disk(place: Path) -> Finding:
    free = shutil.disk_usage(place).free
    if free < FREE_BYTES_NONE:
        return Finding("fault", "disk", "It is full, so nothing can be stored; make room.")
    if free < FREE_BYTES_FEW:
        return Finding("warning", "disk", f"Only {free // 1_000_000} MB are free; make room soon.")
    return Finding("ok", "disk", f"{free // 1_000_000_000} GB are free")


def _look_at_database(path: Path) -> Finding:
    if not path.exists():
        return Finding("ok", "database", "is made at the first start")
    try:
        revision = read_revision(path)
    except StoreError as error:
        return Finding("fault", "database", str(error))
    if revision is not None and revision not in KNOWN_REVISIONS:
        sentence = f"{path} was written by a newer GEODE (schema {revision}); install that one."
        return Finding("fault", "database", sentence)
    is_small = path.stat().st_size <= CHECKED_BYTES_MAX
    if damage := find_damage(path) if is_small else "":
        sentence = f"{path} is damaged ({damage}); put a backup in its place."
        return Finding("fault", "database", sentence)
    if revision != SCHEMA_HEAD:
        return Finding("ok", "database", "is brought up to date at the next start, after a copy")
    return Finding("ok", "database", "is whole")


def _look_for_daemon(folder: Path) -> Finding:
    try:
        found = ask_daemon(folder, "status", timeout_s=ANSWER_S)
    except DaemonAbsentError:
        is_left = (folder / SOCKET_NAME).exists()
        left = " (an earlier one left its socket; the next start takes it away)" if is_left else ""
        return Finding("ok", "daemon", f"none is running{left}; start one with: geode serve")
    except ControlError as error:
        return Finding("warning", "daemon", str(error))
    wrong = [str(each) for each in found.get("degraded", [])]
    if wrong:
        return Finding("warning", "daemon", f"It runs, and says: {' '.join(wrong)}")
    return Finding("ok", "daemon", "is running")
