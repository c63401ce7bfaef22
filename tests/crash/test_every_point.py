"""Every durable write and every send: killed there, and frozen there while another takes over.

The programs fork, so each runs as a process of its own without threads; shares divide one record.
"""

from __future__ import annotations

import os
import re
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
TRIED = re.compile(r"(\d+) run here, (\d+) reached")
REACHED_MIN = 0.9
"""Of the recorded points: a busy machine joins commits that stood apart in the record."""


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
    points = str(tmp_path / "points.txt")
    _finish([_start(KILL, "--platform", platform, "--record", points)], RECORD_S)
    asked = [program, "--points", points]
    if program == KILL:
        asked += ["--platform", platform, *(["--all"] if IS_WHOLE else [])]
    running = [_start(*asked, "--share", f"{share}/{shares}") for share in range(1, shares + 1)]
    said = _finish(running, TIMEOUT_S)
    sys.stdout.write(said)

    tried = [(int(run), int(reached)) for run, reached in TRIED.findall(said)]
    assert len(tried) == shares
    assert sum(reached for _, reached in tried) >= sum(run for run, _ in tried) * REACHED_MIN


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
