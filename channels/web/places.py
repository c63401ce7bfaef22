"""The page's rooms as threads of the port, and back; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from channels.web.views import DIRECT, RoomView
from geode.messages import Thread

PLATFORM = "web"
WORKSPACE = "local"
DIRECT_MESSAGES = "dm"
_PREFIX = f"{DIRECT_MESSAGES}-"


@dataclass(slots=True)
class ServedPlaces:
    """What bindings name now; a reload changes it under the pages that are open."""

    now: Sequence[Thread]


def list_rooms(places: Sequence[Thread], person_id: str) -> list[RoomView]:
    """The rooms that bindings name, and the person's own one where direct messages are served."""
    shared = dict.fromkeys(
        place.channel
        for place in places
        if place.workspace == WORKSPACE and not is_reserved(place.channel)
    )
    rooms = [RoomView(name, name) for name in shared]
    if any(place.channel == DIRECT_MESSAGES for place in places):
        rooms.append(RoomView(f"{_PREFIX}{person_id}", "Only me", is_direct=True))
    return rooms


def is_reserved(channel: str) -> bool:
    """Whether no shared room can have that name: it is what people's own rooms are called."""
    return channel == DIRECT_MESSAGES or channel.startswith(_PREFIX)


def place_of(room_id: str, thread: str = "") -> Thread:
    """The thread that an address names; a person's own room is one conversation."""
    is_whole = thread == DIRECT or room_id.startswith(_PREFIX)
    return Thread(PLATFORM, WORKSPACE, room_id, "" if is_whole else thread)


def is_direct(place: Thread) -> bool:
    """Whether it is one person's own room."""
    return place.channel.startswith(_PREFIX)


def is_served(place: Thread, places: Sequence[Thread]) -> bool:
    """Whether a binding names the room of the place."""
    wanted = DIRECT_MESSAGES if is_direct(place) else place.channel
    return any(each.workspace == WORKSPACE and each.channel == wanted for each in places)


def direct_room(person_id: str) -> Thread:
    """The room in which a person is alone with the agent."""
    return Thread(PLATFORM, WORKSPACE, f"{_PREFIX}{person_id}", "")
