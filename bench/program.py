"""What the program itself costs: its help, its way to ready, its size on disk."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path
from statistics import median

from bench.processes import ROOT

READY_CONFIG = """
[agent]
model = "anthropic/claude-opus-5-5"
[providers.anthropic]
api_key = "env:ANTHROPIC_API_KEY"
[channels.slack]
bot_token = "env:SLACK_BOT_TOKEN"
app_token = "env:SLACK_APP_TOKEN"
api_url = "http://127.0.0.1:9"
[[bindings]]
channel = "slack"
where = "T0BENCH/C0BENCH"
people = ["U0ANA"]
operators = ["U0ANA"]
"""


def measure_help(repeats: int) -> tuple[float, float] | None:
    """CPU milliseconds of `geode --help` and of `python -c pass`; None when there is no command."""
    command = [sys.executable, "-m", "geode.cli", "--help"]
    if subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode != 0:
        return None
    helps: list[float] = []
    passes: list[float] = []
    for _ in range(repeats):
        passes.append(_cpu_of([sys.executable, "-c", "pass"]))
        helps.append(_cpu_of(command))
    return median(helps), median(passes)


def _cpu_of(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e3


def measure_ready(folder: Path) -> float | None:
    """CPU milliseconds of `geode serve` until it says that it is ready; None when it never does."""
    folder.mkdir(parents=True)
    (folder / "geode.toml").write_text(READY_CONFIG)
    environ = {
        **os.environ,
        "GEODE_HOME": str(folder),
        "ANTHROPIC_API_KEY": "sk-ant-bench-0123456789",
        "SLACK_BOT_TOKEN": "xoxb-1-bench",
        "SLACK_APP_TOKEN": "xapp-1-bench",
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "geode.cli", "serve", "--until-stdin-closes"],
        cwd=ROOT,
        env=environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if line.startswith("ready"):
                return _cpu_of_process(process.pid)
        return None
    finally:
        process.stdin.close()
        process.stdout.close()
        try:
            process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _cpu_of_process(pid: int) -> float:
    """CPU milliseconds of a running process, to the kernel's tick."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1e3 / os.sysconf("SC_CLK_TCK")


def measure_size() -> float:
    """Megabytes of GEODE and every distribution it needs at run time, without bytecode."""
    total = sum(path.stat().st_size for room in ("geode", "channels") for path in _files_of(room))
    for name in _find_requirements("geode"):
        for file in importlib.metadata.files(name) or ():
            path = Path(str(file.locate()))
            if path.suffix != ".pyc" and path.is_file():
                total += path.stat().st_size
    return total / 1e6


def _files_of(room: str) -> list[Path]:
    return [p for p in (ROOT / room).rglob("*") if p.is_file() and p.suffix != ".pyc"]


def _find_requirements(name: str) -> set[str]:
    """The distributions that `name` needs, directly or not, optional extras left out."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        for line in importlib.metadata.requires(waiting.pop()) or ():
            required, _, marker = line.partition(";")
            if "extra" in marker or not _applies(marker):
                continue
            needed = re.split(r"[^A-Za-z0-9._-]", required.strip(), maxsplit=1)[0]
            key = needed.lower().replace("_", "-")
            if key not in found:
                found.add(key)
                waiting.append(key)
    return found


def _applies(marker: str) -> bool:
    if not marker.strip():
        return True
    from packaging.markers import Marker

    return Marker(marker).evaluate()


def describe_machine() -> str:
    """The interpreter and the processors, for the reader of the table."""
    version = ".".join(map(str, sys.version_info[:3]))
    sdk = importlib.metadata.version("anthropic")
    return f"Python {version}, {os.cpu_count()} processors, anthropic {sdk}"


if __name__ == "__main__":
    sys.stdout.write(json.dumps({"size_mb": measure_size(), "help": measure_help(3)}) + "\n")
