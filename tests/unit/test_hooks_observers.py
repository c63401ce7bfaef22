"""Observers are told and never waited for; what they do changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import get_args

import orjson
import pytest
import structlog
from fakes.hook_room import HookRoom
from fakes.spine_room import until

from geode.hooks import events
from geode.hooks.code import PythonObserver
from geode.hooks.events import BODY_FIELDS, LifecycleEvent
from geode.hooks.observers import QUEUE_MAX, HookSystem, RegisteredObserver
from geode.settings_hooks import LifecycleName

Told = Callable[[LifecycleEvent], Awaitable[object]]


def event(number: int = 0, name: LifecycleName = "tool_ended") -> LifecycleEvent:
    return LifecycleEvent(name, {"n": number}, "s1", "t1")


def system_of(*observing: Told, timeout_s: float = 5.0) -> HookSystem:
    return HookSystem(
        [
            RegisteredObserver(f"Observe[{number}]", PythonObserver(told), timeout_s=timeout_s)
            for number, told in enumerate(observing, start=1)
        ]
    )


@asynccontextmanager
async def running(system: HookSystem) -> AsyncIterator[None]:
    task = asyncio.create_task(system.run())
    try:
        yield
        assert not task.done()
    finally:
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


def test_every_lifecycle_event_has_its_constant_and_its_fields() -> None:
    found = {name: value for name, value in vars(events).items() if isinstance(value, str)}
    constants = {value for name, value in found.items() if name.isupper()}

    assert set(get_args(LifecycleName)) == set(BODY_FIELDS) == constants
    assert all(BODY_FIELDS.values())


async def test_observer_is_told_in_order() -> None:
    told: list[object] = []

    async def note(each: LifecycleEvent) -> None:
        told.append(each.body["n"])

    system = system_of(note)
    async with running(system):
        for number in range(5):
            system.emit(event(number))
        await until(lambda: len(told) == 5)

    assert told == [0, 1, 2, 3, 4]


async def test_failing_observer_is_logged_once_per_kind_and_changes_nothing() -> None:
    told: list[object] = []

    async def fail(each: LifecycleEvent) -> None:
        raise (ValueError if each.body["n"] != 3 else KeyError)("private")

    async def leave(_each: LifecycleEvent) -> None:
        raise SystemExit(1)

    async def note(each: LifecycleEvent) -> None:
        told.append(each.body["n"])

    system = system_of(fail, leave, note)
    with structlog.testing.capture_logs() as lines:
        async with running(system):
            for number in range(6):
                system.emit(event(number))
            await until(lambda: len(told) == 6)
            await until(lambda: len(_complaints(lines)) == 3)

    assert sorted(_complaints(lines)) == [
        ("Observe[1]", "raised KeyError"),
        ("Observe[1]", "raised ValueError"),
        ("Observe[2]", "tried to end the process"),
    ]


def _complaints(lines: list[structlog.typing.EventDict]) -> list[tuple[object, object]]:
    return [(x["observer"], x["why"]) for x in lines if x["event"] == "observer_failed"]


async def test_hanging_observer_is_ended_and_holds_up_no_other() -> None:
    ended: list[object] = []
    told: list[object] = []

    async def hang(each: LifecycleEvent) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(each.body["n"])

    async def note(each: LifecycleEvent) -> None:
        told.append(each.body["n"])

    system = system_of(hang, note, timeout_s=0.2)
    async with running(system):
        system.emit(event(1))
        system.emit(event(2))
        await until(lambda: len(told) == 2)
        await until(lambda: len(ended) == 2)


async def test_oldest_events_are_dropped_and_counted_when_nobody_takes_them() -> None:
    told: list[object] = []

    async def note(each: LifecycleEvent) -> None:
        told.append(each.body["n"])

    system = system_of(note)
    for number in range(QUEUE_MAX + 7):
        system.emit(event(number))

    assert system.dropped == 2 * 7, "the built-in log is the other observer"
    async with running(system):
        await until(lambda: len(told) == QUEUE_MAX)
    assert told == list(range(7, QUEUE_MAX + 7))


async def test_observer_can_change_only_its_copy() -> None:
    async def change(each: LifecycleEvent) -> None:
        each.body["n"] = "changed"

    told: list[object] = []

    async def note(each: LifecycleEvent) -> None:
        told.append(each.body["n"])

    system = system_of(change, note)
    async with running(system):
        system.emit(event(1))
        await until(lambda: bool(told))

    assert told == [1]


async def test_observing_command_reads_one_event_of_those_it_names(tmp_path: Path) -> None:
    room = HookRoom(tmp_path)
    path = tmp_path / "told"
    source = f"import sys\nopen({str(path)!r}, 'a').write(sys.stdin.read())\nprint('not read')\n"
    room.configure("Observe", f'{room.python(source)}, events = ["tool_refused"]')
    system = (await room.build()).system

    async with running(system):
        system.emit(event(1))
        system.emit(event(2, "tool_refused"))
        system.emit(event(3))
        system.emit(event(4, "tool_refused"))
        await until(lambda: path.exists() and path.read_text().count("\n") == 2)

    rows = [orjson.loads(line) for line in path.read_bytes().splitlines()]
    assert rows == [
        {"v": 1, "event": "tool_refused", "session": "s1", "turn": "t1", "body": {"n": number}}
        for number in (2, 4)
    ]
