"""What somebody is in a place, as a page asks it to decide what to show: nobody by default."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from fakes.spine_room import NoWakes, SpineRoom, open_room

from geode.intake.inbox import Inbox
from geode.messages import Person, Thread
from geode.ports import SystemClock
from geode.settings import Binding, Settings

PLACE = Thread("loop", "T1", "C1", "0000000500")
OTHER = Thread("loop", "T1", "C2", "")
DIRECT = Thread("loop", "T1", "D1", "")
MOVED = Thread("loop", "T1", "C9", "")

Open = Callable[..., Inbox]


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[SpineRoom]:
    async with open_room(tmp_path) as opened:
        yield opened


@pytest.fixture
def door_of(room: SpineRoom) -> Open:
    def open_door(*tables: dict[str, object]) -> Inbox:
        bindings = [Binding.model_validate(DEFAULTS | table) for table in tables]
        return Inbox(room.store, SystemClock(), Settings(bindings=tuple(bindings)), NoWakes())

    return open_door


DEFAULTS: dict[str, object] = {
    "channel": "loop",
    "where": "T1/C1",
    "people": ["U1"],
    "operators": ["UOP"],
}


@pytest.mark.parametrize(
    ("person", "role"),
    [
        (Person("U1"), "person"),
        (Person("UOP"), "operator"),
        (Person("U2"), "stranger"),
        (Person(""), "stranger"),
        (Person("u1"), "stranger"),
        (Person("U2", "U1"), "stranger"),
    ],
)
def test_role_is_that_of_the_listed_id(door_of: Open, person: Person, role: str) -> None:
    assert door_of({}).role_of(person, PLACE) == role


@pytest.mark.parametrize(
    ("person", "role"),
    [
        (Person("U7"), "person"),
        (Person("UOP"), "operator"),
        (Person("UOP", is_external=True), "operator"),
        (Person("U7", is_external=True), "stranger"),
        (Person(""), "stranger"),
    ],
)
def test_member_has_a_role_and_a_person_of_another_organisation_none(
    door_of: Open, person: Person, role: str
) -> None:
    assert door_of({"people": "members"}).role_of(person, PLACE) == role


def test_external_person_has_a_role_when_listed_by_id(door_of: Open) -> None:
    assert door_of({}).role_of(Person("U1", is_external=True), PLACE) == "person"


def test_place_that_nothing_binds_has_strangers_only(door_of: Open) -> None:
    door = door_of({})
    elsewhere = (
        OTHER,
        Thread("loop", "T2", "C1", ""),
        Thread("slack", "T1", "C1", ""),
        DIRECT,
    )

    assert {door.role_of(Person("UOP"), place) for place in elsewhere} == {"stranger"}
    assert door_of().role_of(Person("UOP"), PLACE) == "stranger"


def test_direct_messages_have_roles_of_their_own(door_of: Open) -> None:
    door = door_of({}, {"where": "T1/dm", "people": ["U2"], "operators": ["U3"]})

    assert door.role_of(Person("U2"), DIRECT, is_direct=True) == "person"
    assert door.role_of(Person("U3"), DIRECT, is_direct=True) == "operator"
    assert door.role_of(Person("UOP"), DIRECT, is_direct=True) == "stranger"
    assert door.role_of(Person("U2"), DIRECT) == "stranger"
    assert door.role_of(Person("U2"), PLACE) == "stranger"


def test_role_is_that_of_the_nearest_binding_alone(door_of: Open) -> None:
    door = door_of({}, {"where": f"T1/C1/{PLACE.thread}", "people": ["U2"], "operators": ["U1"]})

    assert door.role_of(Person("U1"), PLACE) == "operator"
    assert door.role_of(Person("UOP"), PLACE) == "stranger"
    assert door.role_of(Person("UOP"), Thread("loop", "T1", "C1", "")) == "operator"


async def test_role_goes_with_a_place_that_moved(door_of: Open) -> None:
    door = door_of({})
    assert door.role_of(Person("UOP"), MOVED) == "stranger"

    await door.move_place(Thread("loop", "T1", "C1", ""), MOVED)

    assert door.role_of(Person("UOP"), MOVED) == "operator"
    assert door.role_of(Person("U1"), MOVED) == "person"
    assert door.role_of(Person("U2"), MOVED) == "stranger"


def test_role_follows_what_a_reload_binds(door_of: Open) -> None:
    door = door_of({})
    changed = Binding.model_validate(DEFAULTS | {"people": ["U2"], "operators": ["U1"]})

    door.follow(Settings(bindings=(changed,)))

    roles = {name: door.role_of(Person(name), PLACE) for name in ("U1", "U2", "UOP")}
    assert roles == {"U1": "operator", "U2": "person", "UOP": "stranger"}


async def test_asking_for_a_role_counts_and_stores_nothing(room: SpineRoom, door_of: Open) -> None:
    door = door_of({})
    before = room.store.writer.commits

    door.role_of(Person("U2"), PLACE)

    assert (room.store.writer.commits, dict(door.ignored)) == (before, {})
