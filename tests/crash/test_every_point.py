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
TIMEOUT_S = 400


@pytest.mark.timeout(TIMEOUT_S + 30)
@pytest.mark.parametrize(
    ("program", "shares"), [("kill_every_point.py", 3), ("freeze_every_point.py", 4)]
)
def test_nothing_is_lost_doubled_or_run_twice_at_any_point(program: str, shares: int) -> None:
    running = [_start(program, share, shares) for share in range(1, shares + 1)]
    try:
        outputs = [process.communicate(timeout=TIMEOUT_S)[0] for process in running]
    finally:
        for process in running:
            process.kill()

    sys.stdout.write("".join(outputs))
    assert [process.returncode for process in running] == [0] * shares, "".join(outputs)[-6000:]


def _start(program: str, share: int, shares: int) -> subprocess.Popen[str]:
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(HERE.parent)))}
    return subprocess.Popen(
        [sys.executable, str(HERE / program), "--share", f"{share}/{shares}"],
        cwd=ROOT,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
