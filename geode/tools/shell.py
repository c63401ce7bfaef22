"""The shell as a source: `run_bash` where a sandbox works, and the reason where none does."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from geode.steps import Absence, Tool
from geode.tools.sandbox.detect import SandboxProbe, explain_absence

_SHOWN_INSIDE = tuple(map(Path, ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")))


class ShellTools:
    """`run_bash`, offered until it is known that no sandbox can be had.

    The look takes some milliseconds after the start; a call made meanwhile waits for it and is
    refused where it fails, so nothing ever runs without a sandbox.
    """

    def __init__(self, tool: Tool, probe: SandboxProbe, state_folder: Path) -> None:
        self._tool = tool
        self._probe = probe
        self._exposed = find_exposure(state_folder)
        if not self._exposed:
            probe.begin()

    @property
    def generation(self) -> int:
        """One more once the tool is gone."""
        return 1 if self._absence else 0

    @property
    def names(self) -> Collection[str]:
        """The one name."""
        return (self._tool.name,)

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tool, unless there is no sandbox."""
        return () if self._absence else (self._tool,)

    @property
    def absences(self) -> Mapping[str, Absence]:
        """Why it is not there."""
        return {self._tool.name: explain_absence(self._absence)} if self._absence else {}

    @property
    def _absence(self) -> str:
        if self._exposed:
            return self._exposed
        verdict = self._probe.verdict
        return "" if verdict is None or verdict.sandbox is not None else verdict.reason


def find_exposure(state_folder: Path) -> str:
    """Why commands would see the state of every session; empty when they would not."""
    place = state_folder.resolve()
    shown = next((str(each) for each in _SHOWN_INSIDE if place.is_relative_to(each)), "")
    return f"the state folder lies below {shown}, which commands can read; move it" if shown else ""
