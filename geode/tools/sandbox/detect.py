"""Finds out, once and by really running one, whether a sandbox can be had on this machine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path

from geode.errors import SandboxError, ToolError
from geode.messages import SessionId
from geode.steps import Absence
from geode.tools.sandbox.command_line import AsNobody, Programs
from geode.tools.sandbox.control_groups import remove_left_over
from geode.tools.sandbox.run import Command, Sandbox, Stop, run_command
from geode.tools.sandbox.syscalls import build_filter
from geode.tools.workspace import Workspaces

VERSION_LEAST = (0, 8, 0)
"""The first bubblewrap that can forbid user namespaces inside."""
PROBE_S = 20.0
_VERSION_S = 5.0
_REACHABLE = ("/mnt", "/media", "/srv")
RULE = "sandbox.missing"

# Built-in words of the shell only: it says what the kernel really did to it, and that it can write.
_PROBE = b"""
while read -r key value; do
  case $key in CapEff:|NoNewPrivs:|Seccomp:) printf '%s%s ' "$key" "$value";; esac
done < /proc/self/status
for ((n = 3; n < 255; n++)); do [[ -L /proc/self/fd/$n ]] && printf 'open:%s ' $n; done
: > written && printf written
"""
_EXPECTED = "CapEff:0000000000000000 NoNewPrivs:1 Seccomp:2 written"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A sandbox, or why there is none."""

    sandbox: Sandbox | None = None
    reason: str = ""


class SandboxProbe:
    """Looks once for the whole process, in a thread that `begin` starts."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_begun = False
        self._done = threading.Event()
        self._verdict = Verdict()

    @property
    def verdict(self) -> Verdict | None:
        """What was found; None while nobody knows."""
        return self._verdict if self._done.is_set() else None

    def begin(self) -> None:
        """Look, without waiting; what needs no process is known when this returns."""
        with self._lock:
            if self._is_begun:
                return
            self._is_begun = True
        missing = find_programs()
        if isinstance(missing, str):
            self._settle(Verdict(reason=missing))
            return
        threading.Thread(target=self._look, args=(missing,), name="sandbox", daemon=True).start()

    def wait(self) -> Verdict:
        """What was found; blocks while nobody knows, so only in a thread."""
        self.begin()
        self._done.wait(PROBE_S * 2)
        return self.verdict or Verdict(reason="it is not known yet whether a sandbox works here")

    def _look(self, programs: Programs) -> None:
        verdict = Verdict(reason="the look for a sandbox failed")
        try:
            verdict = try_sandbox(programs)
        finally:
            self._settle(verdict)

    def _settle(self, verdict: Verdict) -> None:
        self._verdict = verdict
        self._done.set()


PROBE = SandboxProbe()
"""The process's own."""


def find_programs() -> Programs | str:
    """What a sandbox is made with, or the sentence of what is missing."""
    bwrap = shutil.which("bwrap")
    if bwrap is None or not Path(bwrap).is_absolute():
        return "bubblewrap is not installed (Debian: apt-get install bubblewrap)"
    if not is_machine_root():
        return Programs(bwrap)
    unshare, setpriv = shutil.which("unshare"), shutil.which("setpriv")
    reachable = next((place for place in _REACHABLE if _may_enter(Path(place))), None)
    if unshare is None or setpriv is None or reachable is None:
        return (
            "GEODE runs as root, and without unshare and setpriv (util-linux) and a folder /mnt it "
            "cannot give a command another user; run GEODE as a user of its own"
        )
    return Programs(bwrap, AsNobody(unshare, setpriv, reachable))


def _may_enter(place: Path) -> bool:
    return not place.is_symlink() and place.is_dir() and bool(place.stat().st_mode & 0o001)


def is_machine_root() -> bool:
    """Whether this is the user who owns the machine's settings, with or without capabilities."""
    if os.geteuid() != 0:
        return False
    try:
        first = Path("/proc/self/uid_map").read_text().split()
    except OSError:
        return True
    return first[:2] == ["0", "0"]


def try_sandbox(programs: Programs) -> Verdict:
    """Run one and read what it says of itself."""
    seccomp = build_filter()
    if seccomp is None:
        return Verdict(reason=f"there is no filter for this processor ({os.uname().machine})")
    remove_left_over()
    sandbox = Sandbox(programs, seccomp)
    stop = Stop()
    try:
        with tempfile.TemporaryDirectory(prefix="geode-sandbox-") as folder:
            command = Command(SessionId("probe"), _PROBE, "probe", PROBE_S)
            end = run_command(sandbox, Workspaces(Path(folder)), command, stop).end
            has_written = Path(folder, "probe", "written").exists()
    except (OSError, ToolError) as exc:
        return Verdict(reason=_explain(programs, exc))
    finally:
        stop.close()
    if end.exit_code != 0 or not has_written or end.output != _EXPECTED:
        said = " ".join(end.output.split())[:300]
        return Verdict(reason=f"the sandbox does not hold what it must ({end.why}: {said})")
    return Verdict(sandbox)


def _explain(programs: Programs, error: Exception) -> str:
    version = _read_version(programs.bwrap)
    if version is not None and version < VERSION_LEAST:
        found, least = (".".join(map(str, each)) for each in (version, VERSION_LEAST))
        return f"bubblewrap {found} is too old; {least} is needed"
    if isinstance(error, SandboxError):
        return f"bubblewrap cannot make one here: {error}"
    return f"the look for a sandbox failed ({error})"


def _read_version(bwrap: str) -> tuple[int, ...] | None:
    try:
        said = subprocess.run(  # noqa: S603 - one fixed word to the program that was found
            [bwrap, "--version"], capture_output=True, timeout=_VERSION_S, env={}, check=False
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(rb"(\d+)\.(\d+)\.(\d+)", said)
    return None if found is None else tuple(int(part) for part in found.groups())


def explain_absence(reason: str) -> Absence:
    """The rule and the sentence under which a missing tool is refused."""
    return Absence(
        RULE,
        f"run_bash is not available on this machine: {reason}. "
        "Commands run only inside a sandbox, never without one.",
    )
