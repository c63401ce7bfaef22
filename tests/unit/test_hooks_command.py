"""A command hook answers in time and to the letter, or it has denied; real processes."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest
import structlog
from fakes.hook_room import HookRoom, ended, proposed
from fakes.spine_room import until

from geode.hooks.decisions import (
    AddContext,
    AskPerson,
    Block,
    Keep,
    PostToolUse,
    PreToolUse,
    Proceed,
    Rewrite,
    Withhold,
)
from geode.hooks.registry import HookRegistry

PROCEED = '{"decision": "proceed"}'


@pytest.fixture
def room(tmp_path: Path) -> HookRoom:
    return HookRoom(tmp_path)


async def ask(registry: HookRegistry, event: str) -> PreToolUse | PostToolUse:
    """The registry's answer to one plain call of the event."""
    if event == "PreToolUse":
        return await registry.pre_tool_use(proposed())
    if event == "PermissionRequest":
        return await registry.permission_request(proposed())
    (answer,) = await registry.post_tool_use(ended())
    return answer


def denies(answer: PreToolUse | PostToolUse, event: str) -> bool:
    """Whether the answer is the denial of a hook that failed, under its name."""
    kind = Withhold if event == "PostToolUse" else Block
    return isinstance(answer, kind) and answer.has_failed and answer.hook == f"{event}[1]"


EVENTS = ("PreToolUse", "PermissionRequest", "PostToolUse")
VALID: dict[tuple[str, str], PreToolUse | PostToolUse] = {
    ("PreToolUse", PROCEED): Proceed(),
    ("PreToolUse", '{"decision": "proceed", "reason": "fine"}'): Proceed(),
    ("PreToolUse", '{"decision": "block", "reason": "no"}'): Block("PreToolUse[1]", "no"),
    ("PreToolUse", '{"decision": "block"}'): Block("PreToolUse[1]", "it gave no reason"),
    ("PreToolUse", '{"decision": "ask", "reason": "?"}'): AskPerson("PreToolUse[1]", "?"),
    ("PreToolUse", '{"decision": "rewrite", "arguments": {"url": "x"}}'): Rewrite(
        "PreToolUse[1]", {"url": "x"}
    ),
    ("PreToolUse", '{"decision": "rewrite", "arguments": {"url": "https://example.org/"}}'): (
        Proceed()
    ),
    ("PermissionRequest", PROCEED): Proceed(),
    ("PermissionRequest", ' {"decision": "block", "reason": "no"}\n'): Block(
        "PermissionRequest[1]", "no"
    ),
    ("PostToolUse", '{"decision": "keep"}'): Keep(),
    ("PostToolUse", '{"decision": "add_context", "text": "old"}'): AddContext(
        "PostToolUse[1]", "old"
    ),
    ("PostToolUse", '{"decision": "withhold", "reason": "no"}'): Withhold("PostToolUse[1]", "no"),
}


@pytest.mark.parametrize(("event", "answer"), VALID, ids=[f"{e}-{a}" for e, a in VALID])
async def test_command_decides_by_what_it_writes(room: HookRoom, event: str, answer: str) -> None:
    room.configure(event, room.answering(answer))

    registry = (await room.build()).registry

    assert registry.has_hooks
    assert await ask(registry, event) == VALID[event, answer]


NONSENSE = {
    "nothing": "",
    "white": " \n",
    "words": "ok",
    "list": '["proceed"]',
    "null": "null",
    "two": f"{PROCEED}{PROCEED}",
    "unknown": '{"decision": "allow"}',
    "case": '{"decision": "Proceed"}',
    "none": '{"reason": "fine"}',
    "no-text": '{"decision": true}',
    "more": '{"decision": "proceed", "also": 1}',
    "twice": '{"decision": "block", "decision": "proceed"}',
    "reason": '{"decision": "proceed", "reason": 1}',
    "surrogate": '{"decision": "proceed", "reason": "\\ud800"}',
    "nan": '{"decision": "proceed", "reason": NaN}',
    "deep": "[" * 20_000,
    "null-byte": PROCEED + "\0",
    "bom": "\ufeff" + PROCEED,
    "arguments": '{"decision": "proceed", "arguments": {}}',
    "rewrite-none": '{"decision": "rewrite"}',
    "rewrite-list": '{"decision": "rewrite", "arguments": []}',
    "context-none": '{"decision": "add_context"}',
    "context-empty": '{"decision": "add_context", "text": " "}',
}
OTHERS = {
    "PreToolUse": ("keep", "add_context", "withhold", "allow", "approve"),
    "PermissionRequest": ("ask", "rewrite", "keep", "allow", "approve", "grant"),
    "PostToolUse": ("proceed", "block", "ask", "rewrite"),
}


@pytest.mark.parametrize("answer", NONSENSE.values(), ids=NONSENSE)
@pytest.mark.parametrize("event", EVENTS)
async def test_nonsense_denies(room: HookRoom, event: str, answer: str) -> None:
    room.configure(event, room.answering(answer))

    assert denies(await ask((await room.build()).registry, event), event)


@pytest.mark.parametrize(("event", "word"), [(e, w) for e, words in OTHERS.items() for w in words])
async def test_decision_of_another_event_denies(room: HookRoom, event: str, word: str) -> None:
    arguments = {"rewrite": {"arguments": {}}, "add_context": {"text": "x"}}.get(word, {})
    room.configure(event, room.answering(orjson.dumps({"decision": word, **arguments}).decode()))

    assert denies(await ask((await room.build()).registry, event), event)


WRITE = "import os, sys, time\nout = sys.stdout.buffer\n"
GOOD = '(b\'{"decision": "proceed"}\' if EVENT != "PostToolUse" else b\'{"decision": "keep"}\')'
FAILING = {
    "exit-1": (f"out.write({GOOD}); out.flush(); sys.exit(1)", "ended with exit code 1"),
    "exit-2": ("sys.exit(2)", "ended with exit code 2"),
    "raises": (f"out.write({GOOD}); raise ValueError('secret words')", "ended with exit code 1"),
    "killed": (f"out.write({GOOD}); out.flush(); os.kill(os.getpid(), 9)", "by signal 9"),
    "10-mb": ("out.write(b'x' * 10_000_000)", "wrote too much"),
    "endless": ("while True: out.write(b' ' * 4096)", "wrote too much"),
    "padded": (f"out.write({GOOD} + b' ' * 65_536)", "wrote too much"),
    "not-utf-8": ('out.write(b\'{"decision": "proceed", "reason": "\\xff"}\')', "is not UTF-8"),
    "latin-1": ('out.write(\'{"decision": "proceed", "reason": "é"}\'.encode("latin-1"))', "UTF-8"),
    "utf-16": ('out.write(\'{"decision": "proceed"}\'.encode("utf-16"))', "is not UTF-8"),
    "closed-stdout": ("os.close(1)", "answered nothing"),
    "grandchild-adds": (
        f"out.write({GOOD}); out.flush(); os.fork() or (out.write(b'x'), out.flush())\nos.wait()",
        "is not one JSON value",
    ),
}


@pytest.mark.parametrize(("source", "why"), FAILING.values(), ids=FAILING)
@pytest.mark.parametrize("event", EVENTS)
async def test_process_that_ends_badly_denies_and_says_how(
    room: HookRoom, event: str, source: str, why: str
) -> None:
    room.configure(event, room.python(f"EVENT = {event!r}\n{WRITE}{source}\n"))

    answer = await ask((await room.build()).registry, event)

    assert denies(answer, event)
    assert isinstance(answer, Block | Withhold)
    assert answer.reason.startswith("The hook failed: it ")
    assert why in answer.reason
    assert "secret words" not in answer.reason


HANGING = {
    "sleeps": "time.sleep(600)",
    "after-its-answer": f"out.write({GOOD}); out.flush(); time.sleep(600)",
    "ignores-the-end": "import signal\nsignal.signal(15, lambda *_: 0)\ntime.sleep(600)",
    "busy": "while True: pass",
    "stops-itself": "import signal; os.kill(os.getpid(), signal.SIGSTOP)",
}


@pytest.mark.parametrize("source", HANGING.values(), ids=HANGING)
@pytest.mark.parametrize("event", EVENTS)
async def test_process_that_is_late_denies_and_is_gone(
    room: HookRoom, event: str, source: str
) -> None:
    note = f"open({str(room.folder / 'pid')!r}, 'w').write(str(os.getpid()))\n"
    command = room.python(f"EVENT = {event!r}\n{WRITE}{note}{source}\n")
    room.configure(event, f"{command}, timeout_s = 1.5")
    registry = (await room.build()).registry
    began = time.monotonic()

    answer = await ask(registry, event)

    assert denies(answer, event)
    assert isinstance(answer, Block | Withhold)
    assert answer.reason == "The hook failed: it gave no answer within 1.5 s."
    assert time.monotonic() - began < 10
    assert not _lives(int((room.folder / "pid").read_text()))


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


STDIN = {
    "unread": "",
    "closed": "os.close(0)\n",
    "read": "sys.stdin.read()\n",
}


@pytest.mark.parametrize("source", STDIN.values(), ids=STDIN)
async def test_question_of_megabytes_need_not_be_read(room: HookRoom, source: str) -> None:
    room.configure("PreToolUse", room.python(f"{WRITE}{source}print({PROCEED!r})"))
    registry = (await room.build()).registry

    assert await registry.pre_tool_use(proposed(arguments={"x": "y" * 5_000_000})) == Proceed()


GRANDCHILDREN: dict[str, str] = {
    "in-the-group": "",
    "in-a-session-of-its-own": "os.setsid()\n    ",
}


@pytest.mark.parametrize("leave", GRANDCHILDREN.values(), ids=GRANDCHILDREN)
async def test_grandchild_that_holds_the_pipe_keeps_nobody_waiting(
    room: HookRoom, leave: str
) -> None:
    source = (
        f"{WRITE}child = os.fork()\nif child == 0:\n    {leave}time.sleep(600)\n"
        f"open({str(room.folder / 'pid')!r}, 'w').write(str(child))\nprint({PROCEED!r})"
    )
    room.configure("PreToolUse", room.python(source))
    registry = (await room.build()).registry
    began = time.monotonic()

    assert await registry.pre_tool_use(proposed()) == Proceed()

    assert time.monotonic() - began < 5
    pid = int((room.folder / "pid").read_text())
    if leave:
        os.kill(pid, signal.SIGKILL)
    await until(lambda: not _lives(pid))


async def test_cancelled_turn_ends_the_whole_group(room: HookRoom) -> None:
    source = (
        f"{WRITE}child = os.fork()\nif child == 0:\n    time.sleep(600)\n"
        f"path = {str(room.folder / 'pids')!r}\n"
        "open(path + '.new', 'w').write(f'{os.getpid()} {child}')\n"
        "os.rename(path + '.new', path)\ntime.sleep(600)\n"
    )
    room.configure("PreToolUse", room.python(source))
    registry = (await room.build()).registry
    asking = asyncio.create_task(registry.pre_tool_use(proposed()))
    await until((room.folder / "pids").exists)

    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking

    for pid in (room.folder / "pids").read_text().split():
        await until(_gone(int(pid)))


def _gone(pid: int) -> Callable[[], bool]:
    return lambda: not _lives(pid)


async def test_loop_goes_on_while_a_hook_works(room: HookRoom) -> None:
    room.configure("PreToolUse", room.python(f"{WRITE}time.sleep(0.5); print({PROCEED!r})"))
    registry = (await room.build()).registry
    asking = asyncio.create_task(registry.pre_tool_use(proposed()))
    turns = 0
    while not asking.done():
        turns += 1
        await asyncio.sleep(0)

    assert asking.result() == Proceed()
    assert turns > 50


async def test_more_questions_than_processes_are_all_answered(room: HookRoom) -> None:
    room.configure("PreToolUse", room.answering(PROCEED))
    registry = (await room.build()).registry

    answers = await asyncio.gather(*(registry.pre_tool_use(proposed()) for _ in range(30)))

    assert answers == [Proceed()] * 30


ECHO = 'import sys\nopen(PATH, "w").write(sys.stdin.read())\nprint(\'{"decision": "keep"}\')\n'


async def test_question_is_one_object_with_a_version(room: HookRoom) -> None:
    path = room.folder / "question"
    room.configure("PostToolUse", room.python(f"PATH = {str(path)!r}\n{ECHO}"))

    await (await room.build()).registry.post_tool_use(ended(text="é\n"))

    assert orjson.loads(path.read_bytes()) == {
        "v": 1,
        "event": "PostToolUse",
        "tool": "web_fetch",
        "effect": "read",
        "data_class": "public",
        "arguments": {"url": "https://example.org/"},
        "session": "s1",
        "turn": "t1",
        "step": 2,
        "mode": "daemon",
        "binding": "slack:T1/C1",
        "requesters": ["slack:T1:U1"],
        "ending": "done",
        "text": "é\n",
        "is_error": False,
    }


async def test_environment_and_folder_are_those_of_the_configuration(
    room: HookRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-canary-0123456789")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/canary")
    monkeypatch.chdir("/")
    room.environ = {"HOOK_KEY": "canary-hook-key", "SLACK_BOT_TOKEN": "xoxb-canary-0123"}
    path = room.folder / "seen"
    source = (
        "import json, os, sys\n"
        f"seen = [dict(os.environ), os.getcwd(), sorted(os.listdir('/proc/self/fd'))]\n"
        f"open({str(path)!r}, 'w').write(json.dumps(seen))\nprint({PROCEED!r})\n"
    )
    room.configure("PreToolUse", f'{room.python(source)}, env = {{ KEY = "env:HOOK_KEY" }}')
    hooks = await room.build()

    assert await hooks.registry.pre_tool_use(proposed()) == Proceed()

    environ, folder, descriptors = orjson.loads(path.read_bytes())
    assert {name for name in environ if name != "LC_CTYPE"} == {"PATH", "LANG", "HOME", "KEY"}
    assert environ["KEY"] == "canary-hook-key"
    assert environ["PATH"] == "/usr/local/bin:/usr/bin:/bin"
    assert folder == str(room.folder)
    assert descriptors == ["0", "1", "2", "3"], "3 is the listing itself"
    assert hooks.secrets == ("canary-hook-key",)


async def test_script_is_found_beside_the_configuration(room: HookRoom) -> None:
    room.script("hooks/guard.sh", f"#!/bin/sh\necho '{PROCEED}'\n").chmod(0o755)
    room.configure(
        "PreToolUse", 'command = ["hooks/guard.sh"]', 'command = ["sh", "hooks/guard.sh"]'
    )

    assert await (await room.build()).registry.pre_tool_use(proposed()) == Proceed()


async def test_program_that_vanished_after_the_start_denies(room: HookRoom) -> None:
    script = room.script("guard.sh", f"#!/bin/sh\necho '{PROCEED}'\n")
    script.chmod(0o755)
    room.configure("PreToolUse", 'command = ["./guard.sh"]')
    registry = (await room.build()).registry
    script.unlink()

    answer = await registry.pre_tool_use(proposed())

    assert denies(answer, "PreToolUse")
    assert "could not be started (No such file or directory)" in str(answer)


async def test_reason_and_context_are_bounded_and_escaped(room: HookRoom) -> None:
    room.configure(
        "PreToolUse",
        room.answering('{"decision": "block", "reason": "%s\\u001b[2J"}' % ("x" * 5_000)),
    )
    room.configure(
        "PostToolUse", room.answering('{"decision": "add_context", "text": "%s"}' % ("é" * 20_000))
    )
    registry = (await room.build()).registry

    blocked = await registry.pre_tool_use(proposed())
    (added,) = await registry.post_tool_use(ended())

    assert isinstance(blocked, Block)
    assert isinstance(added, AddContext)
    assert len(blocked.reason.encode()) < 1_000
    assert "\x1b" not in blocked.reason
    assert len(added.text.encode()) <= 4_000


async def test_what_a_failing_hook_complains_of_is_logged_within_bounds(room: HookRoom) -> None:
    source = "import sys\nsys.stderr.write('no key' + '\\x1b' * 9 + 'x' * 1_000_000)\nsys.exit(3)\n"
    room.configure("PreToolUse", room.python(source))
    registry = (await room.build()).registry

    with structlog.testing.capture_logs() as lines:
        await registry.pre_tool_use(proposed())

    (complaint,) = [line for line in lines if line["event"] == "hook_complained"]
    assert complaint["hook"] == "PreToolUse[1]"
    assert complaint["stderr"].startswith("no key\\x1b")
    assert len(complaint["stderr"]) < 3_000
