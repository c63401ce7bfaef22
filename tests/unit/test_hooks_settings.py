"""What `[hooks]` may say, and what of it can be started; each fault is one sentence."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fakes.hook_room import HookRoom, ended, install_package, proposed

from geode.changes import merge_settings
from geode.cli.doctor_hooks import look_at_hooks
from geode.errors import ConfigError
from geode.hooks.build import Hooks
from geode.hooks.decisions import Block, Keep
from geode.hooks.programs import check_tools
from geode.settings import Settings

HERE = 'command = ["true"]'


@pytest.fixture
def room(tmp_path: Path) -> HookRoom:
    return HookRoom(tmp_path)


WRONG = {
    "neither": ("PreToolUse", "tools = []", "PreToolUse[1]: write either command"),
    "both": ("PreToolUse", f'{HERE}, entry_point = "x"', "PreToolUse[1]: write either command"),
    "empty": ("PreToolUse", "command = []", "PreToolUse[1]: write either command"),
    "blank": ("PreToolUse", 'command = [" "]', "PreToolUse[1]: the command has no program"),
    "text": ("PreToolUse", 'command = "guard.py"', "PreToolUse[1].command should be a list"),
    "nul": ("PreToolUse", 'command = ["a\\u0000"]', "command[1]: holds a NUL character"),
    "long": ("PreToolUse", f"{HERE}, timeout_s = 11.0", "timeout_s should be less than or equal"),
    "no-time": ("PreToolUse", f"{HERE}, timeout_s = 0.0", "timeout_s should be greater than 0"),
    "key": ("PreToolUse", f"{HERE}, tool = []", "PreToolUse[1].tool is not a known key"),
    "wildcard": ("PreToolUse", f'{HERE}, tools = ["*"]', "'*' is not a tool's name"),
    "secret": (
        "PreToolUse",
        f'{HERE}, env = {{ KEY = "hunter2" }}',
        "PreToolUse[1].env.KEY: a secret is never written here",
    ),
    "path": ("PreToolUse", f'{HERE}, env = {{ PATH = "env:PATH" }}', "PATH is always the same"),
    "name": ("PreToolUse", f'{HERE}, env = {{ "A=B" = "env:X" }}', "'A=B' is not the name of"),
    "env": ("PreToolUse", 'entry_point = "x", env = { A = "env:A" }', "env is for a command"),
    "event": ("Observe", f'{HERE}, events = ["tool"]', "Observe[1].events[1] should be"),
    "answer-tools": ("PreVerify", f"{HERE}, tools = []", "PreVerify[1].tools is not a known key"),
    "stop-time": ("Stop", f"{HERE}, timeout_s = 11.0", "timeout_s should be less than or equal"),
    "observed-tools": ("Observe", f"{HERE}, tools = []", "Observe[1].tools is not a known key"),
    "unknown": (
        "PreTooluse",
        HERE,
        "hooks.PreTooluse is not a known key; did you mean 'PreToolUse'",
    ),
}


@pytest.mark.parametrize(("event", "entry", "words"), WRONG.values(), ids=WRONG)
def test_wrong_hook_is_one_sentence(room: HookRoom, event: str, entry: str, words: str) -> None:
    room.configure(event, entry)

    with pytest.raises(ConfigError) as caught:
        room.load()

    sentence = str(caught.value)
    assert words in sentence
    assert "hunter2" not in sentence
    assert "\n" not in sentence


UNSTARTABLE = {
    "nowhere": ('command = ["no-such-hook"]', "no-such-hook is in none of /usr/local/bin:"),
    "missing": ('command = ["hooks/none"]', "hooks/none is not a program"),
    "absolute": ('command = ["/none"]', "/none is not a program"),
    "folder": ('command = ["./"]', "is not a program"),
    "not-executable": ('command = ["./plain"]', "plain is not a program"),
    "script": ('command = ["python3", "hooks/none.py"]', "there is no file"),
    "agent-script": ('command = ["python3", "files/s1/x.py"]', "among the files that the agent"),
    "agent-program": ('command = ["files/s1/x.py"]', "among the files that the agent itself"),
    "agent-link": ('command = ["./link"]', "among the files that the agent itself writes"),
    "secret": (f'{HERE}, env = {{ KEY = "env:NO_SUCH" }}', "variable NO_SUCH is not set"),
    "entry-point": ('entry_point = "nobody"', "'nobody' is no installed entry point"),
}


@pytest.mark.parametrize("event", ["PostToolUse", "PreVerify", "PostVerify", "Stop", "Observe"])
@pytest.mark.parametrize(("entry", "words"), UNSTARTABLE.values(), ids=UNSTARTABLE)
async def test_hook_that_cannot_be_started_ends_the_start_and_is_told_by_the_doctor(
    room: HookRoom, monkeypatch: pytest.MonkeyPatch, event: str, entry: str, words: str
) -> None:
    monkeypatch.setenv("PATH", str(room.folder))
    room.environ["GEODE_HOME"] = str(room.folder)
    room.script("no-such-hook", "#!/bin/sh\n").chmod(0o755)
    room.script("plain", "#!/bin/sh\n")
    agents = room.script("files/s1/x.py", "#!/bin/sh\n")
    agents.chmod(0o755)
    (room.folder / "link").symlink_to(agents)
    room.configure(event, HERE, entry)

    with pytest.raises(ConfigError) as caught:
        await room.build()

    sentence = str(caught.value)
    assert sentence.startswith(f"hooks.{event}[2]: ")
    assert words in sentence
    (finding,) = look_at_hooks(room.load(), {"HOME": str(room.folder)})
    assert (finding.level, finding.sentence) == ("fault", sentence)


async def test_doctor_counts_hooks_that_can_be_started(room: HookRoom) -> None:
    assert list(look_at_hooks(room.load(), {})) == []
    room.configure("PreToolUse", HERE, HERE)
    for event in ("PreVerify", "PostVerify", "Stop", "Observe"):
        room.configure(event, HERE)

    (finding,) = look_at_hooks(room.load(), {})

    assert (finding.level, finding.sentence) == ("ok", "6 can be started")


def test_hook_about_a_tool_that_does_not_exist_is_refused(room: HookRoom) -> None:
    room.configure("PreToolUse", HERE, f'{HERE}, tools = ["web_fetch", "webfetch"]')
    hooks = room.load().settings.hooks

    with pytest.raises(ConfigError, match=r"hooks.PreToolUse\[2\] is about webfetch, which"):
        check_tools(hooks, {"web_fetch"})
    check_tools(hooks, {"web_fetch", "webfetch"})


def test_changed_hooks_wait_for_a_restart(room: HookRoom) -> None:
    before = room.load().settings
    room.configure("PreToolUse", HERE)

    merged, said = merge_settings(before, room.load().settings)

    assert merged.hooks == Settings().hooks
    assert said == ["hooks.PreToolUse changed and waits for a restart"]


MODULE = """
import os
from geode.hooks.decisions import Block, Keep

open(os.path.join({folder!r}, "loaded"), "w").close()

async def block(call):
    return Block("x", call.tool)

class Keeping:
    async def __call__(self, call):
        return Keep()

def make():
    return block

def sync(call):
    return Proceed()

def broken():
    raise RuntimeError("broken on purpose")

value = 3
instance = Keeping()
"""
ENTRIES = ("block", "make", "Keeping", "instance", "sync", "broken", "value", "absent")


@pytest.fixture
def packaged(room: HookRoom, monkeypatch: pytest.MonkeyPatch) -> HookRoom:
    """The room with an installed package whose module nothing has imported yet."""
    name = f"geode_toy_{room.folder.name.replace('-', '_')}_{os.getpid()}"
    module = room.script(f"{name}.py", MODULE.format(folder=str(room.folder)))
    site = room.folder / "site"
    install_package(site, [f"{entry} = {name}:{entry}" for entry in ENTRIES], module)
    monkeypatch.syspath_prepend(str(site))
    return room


async def _build(room: HookRoom, event: str, entry: str) -> Hooks:
    room.configure(event, f'entry_point = "{entry}"')
    return await room.build()


@pytest.mark.parametrize("entry", ["block", "make"])
async def test_entry_point_is_an_async_function_or_makes_one(
    packaged: HookRoom, entry: str
) -> None:
    registry = (await _build(packaged, "PreToolUse", entry)).registry

    assert await registry.pre_tool_use(proposed()) == Block("PreToolUse[1]", "web_fetch")


@pytest.mark.parametrize("entry", ["Keeping", "instance"])
async def test_entry_point_may_be_a_class_or_an_object(packaged: HookRoom, entry: str) -> None:
    registry = (await _build(packaged, "PostToolUse", entry)).registry

    assert await registry.post_tool_use(ended()) == (Keep(),)


UNLOADABLE = {
    "sync": "'sync' could not be loaded (TypeError",
    "broken": "'broken' could not be loaded (RuntimeError: broken on purpose).",
    "value": "'value' is neither an async function nor makes one.",
    "absent": "'absent' could not be loaded (AttributeError",
}


@pytest.mark.parametrize(("entry", "words"), UNLOADABLE.items())
async def test_entry_point_that_is_no_hook_ends_the_start(
    packaged: HookRoom, entry: str, words: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        await _build(packaged, "PreToolUse", entry)

    assert words in str(caught.value)
    assert str(caught.value).startswith("hooks.PreToolUse[1]: ")


async def test_package_that_is_not_configured_is_not_imported(packaged: HookRoom) -> None:
    packaged.configure("PreToolUse", HERE)

    await packaged.build()

    assert not (packaged.folder / "loaded").exists()
