"""What `geode doctor` sees of the sandbox in which `run_bash` would run."""

from __future__ import annotations

from collections.abc import Iterator

from geode.ports import Finding
from geode.settings_load import Loaded
from geode.tools.sandbox.detect import PROBE
from geode.tools.shell import find_exposure


def look_at_sandbox(loaded: Loaded) -> Iterator[Finding]:
    """Whether commands can be held; blocks for as long as one takes to start."""
    verdict = PROBE.wait()
    reason = find_exposure(loaded.state_folder) or verdict.reason
    if reason:
        sentence = f"run_bash is not offered: {reason}. Everything else works without it."
        yield Finding("warning", "shell", sentence)
        return
    user = (
        ""
        if verdict.sandbox is None or verdict.sandbox.programs.as_nobody is None
        else (", as another user than root")
    )
    yield Finding("ok", "shell", f"run_bash runs in bubblewrap{user}")
