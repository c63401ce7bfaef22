"""A daemon starts with the hooks of its configuration or says which one is wrong."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from fakes.source_tree import ROOT
from fakes.spine_room import until

from geode.app import Daemon
from geode.errors import ConfigError
from geode.hooks.events import LifecycleEvent
from geode.settings_load import load_settings


async def open_daemon(home: Path, text: str, **environ: str) -> Daemon:
    """A daemon with the page alone, in a state folder that holds its configuration."""
    (home / "geode.toml").write_text(f'[channels.web]\nlisten = "127.0.0.1:0"\n{text}')
    env: Mapping[str, str] = {"GEODE_HOME": str(home), "HOME": str(home), **environ}
    return await Daemon.open(load_settings(home / "geode.toml", environ=env), environ=env)


FAULTS = {
    "program": ('[hooks]\nPreToolUse = [{ command = ["hooks/none.py"] }]', "is not a program"),
    "tool": (
        '[hooks]\nPostToolUse = [{ command = ["true"], tools = ["webfetch"] }]',
        "hooks.PostToolUse[1] is about webfetch, which this GEODE does not have",
    ),
    "secret": (
        '[hooks]\nObserve = [{ command = ["true"], env = { KEY = "env:HOOK_KEY" } }]',
        "hooks.Observe[1]: The environment variable HOOK_KEY is not set",
    ),
}


@pytest.mark.parametrize(("text", "words"), FAULTS.values(), ids=FAULTS)
async def test_daemon_does_not_start_without_a_configured_hook(
    tmp_path: Path, text: str, words: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        await open_daemon(tmp_path, text)

    assert words in str(caught.value)


async def test_started_daemon_asks_the_hooks_of_its_configuration(tmp_path: Path) -> None:
    (tmp_path / "hooks").mkdir()
    shutil.copy(ROOT / "deploy" / "hooks" / "guard.py", tmp_path / "hooks")
    text = '[hooks]\nPreToolUse = [{ command = ["hooks/guard.py"], tools = ["web_fetch"] }]'

    daemon = await open_daemon(tmp_path, text)
    try:
        assert daemon._services.gate.hooks.has_hooks
    finally:
        await daemon.close()


async def test_secret_of_a_hook_leaves_nowhere(tmp_path: Path) -> None:
    text = '[hooks]\nObserve = [{ command = ["true"], env = { KEY = "env:HOOK_KEY" } }]'

    daemon = await open_daemon(tmp_path, text, HOOK_KEY="canary-of-a-hook")
    try:
        assert daemon.redactor.redact("it is canary-of-a-hook") == "it is [redacted]"
    finally:
        await daemon.close()


async def test_running_daemon_tells_its_observers(tmp_path: Path) -> None:
    told = tmp_path / "told"
    source = f"import sys; open({str(told)!r}, 'a').write(sys.stdin.read())"
    text = f'[hooks]\nObserve = [{{ command = ["{sys.executable}", "-c", "{source}"] }}]'
    daemon = await open_daemon(tmp_path, text)
    running = asyncio.create_task(daemon.run())
    try:
        daemon._services.events.emit(LifecycleEvent("turn_started", {"mode": "daemon"}))
        await until(lambda: told.exists() and told.read_text().endswith("\n"))
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
        await daemon.close()

    assert '"event":"turn_started"' in told.read_text()
