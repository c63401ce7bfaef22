"""One state has one owner, and the second comer learns who that is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from geode.errors import StateLockedError, StoreError
from geode.ports import SystemClock
from geode.store.lock import LOCK_NAME, StateLock, find_holder

HOLD = """
import sys
from pathlib import Path
from geode.ports import SystemClock
from geode.store.lock import StateLock
lock = StateLock.acquire(Path(sys.argv[1]), SystemClock(), command="geode serve")
print("held", flush=True)
sys.stdin.read()
"""


def _hold_elsewhere(folder: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_second_holder_is_refused_and_told_who_the_first_is(tmp_path: Path) -> None:
    with _hold_elsewhere(tmp_path) as first:
        with pytest.raises(StateLockedError) as refused:
            StateLock.acquire(tmp_path, SystemClock(), command="geode serve")
        first.kill()

    assert f"geode serve (pid {first.pid}, since 20" in str(refused.value)
    assert str(tmp_path) in str(refused.value)


def test_lock_is_free_again_when_its_holder_is_killed(tmp_path: Path) -> None:
    with _hold_elsewhere(tmp_path) as first:
        os.kill(first.pid, signal.SIGKILL)
        first.wait()

        StateLock.acquire(tmp_path, SystemClock(), command="geode serve").release()


def test_lock_is_free_again_after_release(tmp_path: Path) -> None:
    lock = StateLock.acquire(tmp_path, SystemClock(), command="geode serve")
    lock.release()
    lock.release()

    with StateLock.acquire(tmp_path, SystemClock(), command="geode status"):
        holder = find_holder(tmp_path)

    assert holder is not None
    assert (holder.pid, holder.command) == (os.getpid(), "geode status")
    assert find_holder(tmp_path) is None


def test_lock_is_not_inherited_by_a_program_we_start(tmp_path: Path) -> None:
    lock = StateLock.acquire(tmp_path, SystemClock(), command="geode serve")
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, close_fds=False):
        lock.release()

        StateLock.acquire(tmp_path, SystemClock(), command="geode serve").release()


def test_two_state_folders_do_not_share_one_database(tmp_path: Path) -> None:
    database = tmp_path / "shared" / "geode.db"
    first = StateLock.acquire(tmp_path / "a", SystemClock(), command="one", database=database)

    with pytest.raises(StateLockedError, match="one"):
        StateLock.acquire(tmp_path / "b", SystemClock(), command="two", database=database)

    first.release()
    assert find_holder(tmp_path / "b") is None


def test_holder_without_a_legible_mark_is_still_a_holder(tmp_path: Path) -> None:
    with _hold_elsewhere(tmp_path) as first:
        (tmp_path / LOCK_NAME).write_bytes(b"")
        with pytest.raises(StateLockedError, match="another process"):
            StateLock.acquire(tmp_path, SystemClock(), command="geode serve")
        first.kill()


def test_state_folder_is_made_for_its_user_alone(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "state"

    StateLock.acquire(folder, SystemClock(), command="geode serve").release()

    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / LOCK_NAME).stat().st_mode & 0o777 == 0o600


def test_open_state_folder_is_closed_to_others(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)

    StateLock.acquire(tmp_path, SystemClock(), command="geode serve").release()

    assert tmp_path.stat().st_mode & 0o777 == 0o700


def test_shared_folder_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)

    with pytest.raises(StoreError, match="GEODE_HOME"):
        StateLock.acquire(tmp_path, SystemClock(), command="geode serve")

    assert tmp_path.stat().st_mode & 0o7777 == 0o1777
    assert list(tmp_path.iterdir()) == []


def test_state_folder_that_is_a_file_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("not a folder")

    with pytest.raises(StoreError, match=r"cannot be made \(.*\); make it yourself"):
        StateLock.acquire(tmp_path / "state", SystemClock(), command="geode serve")
