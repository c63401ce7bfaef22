"""Every durable write and every send: killed there, and frozen there while another takes over.

The programs fork, so each runs as a process of its own without threads; they share the points.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
IS_WHOLE = bool(os.environ.get("CRASH_ALL"))
"""Every point on every platform, as `make crash` asks; otherwise the platform's own points."""
TIMEOUT_S = 1_200 if IS_WHOLE else 400
KILL, FREEZE = "kill_every_point.py", "freeze_every_point.py"


@pytest.mark.timeout(TIMEOUT_S + 30)
@pytest.mark.parametrize(
    ("command", "shares"),
    [
        pytest.param((KILL, "--platform", "slack"), 4, id="killed-slack"),
        pytest.param((KILL, "--platform", "discord"), 3, id="killed-discord"),
        pytest.param((KILL, "--platform", "telegram"), 3, id="killed-telegram"),
        pytest.param((FREEZE,), 6, id="frozen-slack"),
    ],
)
def test_nothing_is_lost_doubled_or_run_twice_at_any_point(
    command: tuple[str, ...], shares: int
) -> None:
    more = ("--all",) if IS_WHOLE and KILL in command else ()
    asked = (*command, *more)
    running = [_start(*asked, "--share", f"{share}/{shares}") for share in range(1, shares + 1)]
    try:
        outputs = [process.communicate(timeout=TIMEOUT_S)[0] for process in running]
    finally:
        for process in running:
            process.kill()

    sys.stdout.write("".join(outputs))
    assert [process.returncode for process in running] == [0] * shares, "".join(outputs)[-6000:]


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
