"""The benchmark runs end to end and prints every figure; how long things take is not judged."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FIGURES = (
    "CPU of a turn without tools",
    "CPU of a turn with 10 tool calls",
    "CPU of one tool call in it",
    "CPU of a turn over the Slack wire",
    "50 conversations: durable turns/s",
    "50 conversations: CPU per turn",
    "50 conversations: p50",
    "50 conversations: p99",
    "50 conversations: units per commit",
    "400-message resume: CPU to first request",
    "resume: slope per stored message",
    "the turn after a 400-message resume",
    "slope per message that was sent before",
    "commits of a read-only turn, 10 batches",
    "commits beside it",
    "gate: CPU of a read call, storage apart",
    "gate: CPU of a read call with a Python hook, storage apart",
    "gate: CPU of a mutate call, storage apart",
    "gate: storage of a mutate call",
    "gate: CPU of a call to an MCP server",
    "idle resident memory",
    "memory per live session",
    "memory per idle session",
    "geode --help against python -c pass",
    "geode serve: CPU to ready",
    'request for "hi", default profile',
    "installed size without bytecode",
)


@pytest.mark.timeout(240)
def test_quick_benchmark_prints_every_figure_of_both_sides(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bench", "--quick", "--folder", str(tmp_path)]

    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=200, check=False
    )

    assert done.returncode == 0, done.stderr[-2000:]
    lines = done.stdout.splitlines()
    assert [f for f in FIGURES if not any(line.startswith(f) for line in lines)] == []
    assert "not yet" not in done.stdout
    assert list(tmp_path.iterdir()) == []
