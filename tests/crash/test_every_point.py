"""Every durable write and every send: killed there, and frozen there while another takes over.

The programs fork, so each runs as a process of its own without threads; they share one record.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
IS_WHOLE = bool(os.environ.get("CRASH_ALL"))
"""Every point on every platform, as `make crash` asks; otherwise the platform's own points."""
TIMEOUT_S = 1_200 if IS_WHOLE else 400
RECORD_S = 60
KILL, FREEZE = "kill_every_point.py", "freeze_every_point.py"


@pytest.mark.timeout(TIMEOUT_S + RECORD_S + 30)
@pytest.mark.parametrize(
    ("program", "platform", "shares"),
    [
        pytest.param(KILL, "slack", 4, id="killed-slack"),
        pytest.param(KILL, "discord", 3, id="killed-discord"),
        pytest.param(KILL, "telegram", 3, id="killed-telegram"),
        pytest.param(FREEZE, "slack", 6, id="frozen-slack"),
    ],
)
def test_nothing_is_lost_doubled_or_run_twice_at_any_point(
    program: str, platform: str, shares: int, tmp_path: Path
) -> None:
    asked = _record(platform, tmp_path) if program == KILL else (program,)
    running = [_start(*asked, "--share", f"{share}/{shares}") for share in range(1, shares + 1)]
    sys.stdout.write(_finish(running, TIMEOUT_S))


def _record(platform: str, folder: Path) -> tuple[str, ...]:
    """The command that kills at the points of one record, which its shares divide."""
    points = str(folder / "points.txt")
    _finish([_start(KILL, "--platform", platform, "--record", points)], RECORD_S)
    more = ("--all",) if IS_WHOLE else ()
    return (KILL, "--platform", platform, "--points", points, *more)


def _finish(running: Sequence[subprocess.Popen[str]], timeout_s: float) -> str:
    """What all of them printed, once each ended well."""
    try:
        outputs = [process.communicate(timeout=timeout_s)[0] for process in running]
    finally:
        for process in running:
            process.kill()
    ended = zip(running, outputs, strict=True)
    failed = [told[-6000:] for process, told in ended if process.returncode]
    assert not failed, "\n".join(failed)
    return "".join(outputs)


def _start(program: str, *more: str) -> subprocess.Popen[str]:
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(HERE.parent)))}
    return subprocess.Popen(
        [sys.executable, str(HERE / program), *more],
        cwd=ROOT,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
