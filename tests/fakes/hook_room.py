"""Hooks as an operator has them: a configuration file, real scripts beside it, real processes."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from geode.hooks.build import Hooks, build_hooks
from geode.hooks.candidates import JudgedCandidate, ShownCandidate, ShownObservation
from geode.hooks.decisions import EndedCall, ProposedCall
from geode.hooks.programs import place_of
from geode.messages import JsonObject, Mode, SessionId, TurnId
from geode.settings_load import Loaded, load_settings
from geode.steps import ToolContext

CONTEXT = ToolContext(
    SessionId("s1"), TurnId("t1"), 2, 0, 1, Mode.DAEMON, "slack:T1/C1", "model", ("slack:T1:U1",)
)


def proposed(tool: str = "web_fetch", arguments: JsonObject | None = None) -> ProposedCall:
    """A call that passed every earlier check."""
    given = {"url": "https://example.org/"} if arguments is None else arguments
    return ProposedCall(tool, "read", "public", given, CONTEXT)


def ended(call: ProposedCall | None = None, text: str = "the page") -> EndedCall:
    """A call that ended well."""
    return EndedCall(call or proposed(), "done", text, is_error=False)


def candidate(text: str = "It is 42.", tool: str = "web_fetch") -> ShownCandidate:
    """An answer that rests on one observation."""
    return ShownCandidate(
        "what is it?",
        text,
        "natural",
        (ShownObservation(tool, "the page"),),
        session_id="s1",
        turn_id="t1",
        mode=Mode.DAEMON,
        binding="slack:T1/C1",
        requesters=("slack:T1:U1",),
    )


def judged(text: str = "It is 42.") -> JudgedCandidate:
    """The same once it has passed."""
    return JudgedCandidate(candidate(text), "passed", (), "fine", False, "accept")


@dataclass
class HookRoom:
    """A folder with a configuration and its hooks."""

    folder: Path
    environ: dict[str, str] = field(default_factory=dict)
    text: str = "[hooks]\n"

    def script(self, name: str, source: str) -> Path:
        """Put a script beside the configuration."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding="utf-8")
        return path

    def python(self, source: str) -> str:
        """A command, as TOML, that runs this source."""
        number = len(list(self.folder.glob("hook*.py")))
        path = self.script(f"hook{number}.py", source)
        return f'command = ["{sys.executable}", "-I", "-S", "{path}"]'

    def answering(self, answer: str) -> str:
        """A command, as TOML, that writes these words without reading the question."""
        return self.python(f"import sys\nsys.stdout.write({answer!r})\n")

    def configure(self, event: str, *entries: str) -> None:
        """Add one list of hooks to the configuration."""
        rows = "".join(f"  {{ {entry} }},\n" for entry in entries)
        self.text += f"{event} = [\n{rows}]\n"

    def load(self) -> Loaded:
        """The checked settings."""
        path = self.folder / "geode.toml"
        path.write_text(self.text, encoding="utf-8")
        return load_settings(path, channel_models={}, environ=self._environ)

    async def build(self) -> Hooks:
        """The hooks as the daemon builds them."""
        loaded = self.load()
        return await build_hooks(loaded.settings.hooks, place_of(loaded), self._environ)

    @property
    def _environ(self) -> dict[str, str]:
        return {"HOME": str(self.folder), **self.environ}


def install_package(site: Path, entries: Iterable[str], module: Path | None = None) -> Path:
    """Put a distribution with these entry points where an installer would."""
    about = site / "geode_toy_hooks-1.0.dist-info"
    about.mkdir(parents=True)
    if module is not None:
        shutil.copy(module, site / module.name)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: geode-toy-hooks\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[geode.hooks]\n" + "".join(f"{e}\n" for e in entries))
    return site
