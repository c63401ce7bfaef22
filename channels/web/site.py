"""What every page and form of the channel works with, and who may see what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from starlette.requests import Request

from channels.web.live import Hub
from channels.web.login import SignIns
from channels.web.pages import Pages
from channels.web.parse import Pressing, read_message, read_press
from channels.web.places import ServedPlaces, is_direct, list_rooms, place_of
from channels.web.render import render_whisper
from channels.web.views import RoomView, Talk, Viewer
from geode.messages import InboundMessage, Person, Thread
from geode.oversight import OperatorView
from geode.ports import Intake, Redactor
from geode.transcripts import RoomMessage, RoomThread, Transcript

MESSAGES_SHOWN = 200
THREADS_SHOWN = 100


@dataclass(frozen=True, slots=True)
class Spot:
    """A place of the page that the person may see."""

    person: Person
    room: RoomView
    place: Thread


@dataclass(frozen=True, slots=True)
class Site:
    """The channel's parts while it serves."""

    places: ServedPlaces
    intake: Intake
    transcript: Transcript
    hub: Hub
    pages: Pages
    sign_ins: SignIns
    redactor: Redactor
    operator_view: OperatorView | None

    def find_person(self, request: Request) -> Person | None:
        """Who asks; None: nobody is signed in."""
        return self.sign_ins.find_person(request)

    def rooms_of(self, person: Person) -> list[RoomView]:
        """The rooms of which the person may see anything now."""
        return [
            room
            for room in list_rooms(self.places.now, person.id)
            if any(self._may_be_in(person, place) for place in self._places_in(room))
        ]

    def find_spot(self, person: Person, room_id: str, thread: str = "") -> Spot | None:
        """The place of an address; None when it is none, or none of this person's.

        A room is found also by whoever may see no more of it than a single conversation.
        """
        room = next((each for each in self.rooms_of(person) if each.id == room_id), None)
        place = place_of(room_id, thread)
        if room is None or (thread and not self._may_be_in(person, place)):
            return None
        return Spot(person, room, place)

    def may_speak(self, person: Person, place: Thread) -> bool:
        """Whether the person's words are kept there at all."""
        rooms = (room.id for room in list_rooms(self.places.now, person.id))
        return place.channel in rooms and self._may_be_in(person, place)

    def viewer_of(self, person: Person) -> Viewer:
        """The person as the pages know them."""
        return Viewer(person.id, person.name, self.is_operator(person), self.sign_ins.has_tokens)

    def is_operator(self, person: Person) -> bool:
        """Whether the person operates at least one place."""
        rooms = list_rooms(self.places.now, person.id)
        places = (place for room in rooms for place in self._places_in(room))
        return any(self._role(person, place) == "operator" for place in places)

    def _places_in(self, room: RoomView) -> list[Thread]:
        """The room, and what bindings name in it."""
        named = [place for place in self.places.now if place.channel == room.id and place.thread]
        return [place_of(room.id), *named]

    def _may_be_in(self, person: Person, place: Thread) -> bool:
        return self._role(person, place) != "stranger"

    def _role(self, person: Person, place: Thread) -> str:
        return self.intake.role_of(person, place, is_direct=is_direct(place))

    async def read_talk(self, spot: Spot) -> Talk:
        """A conversation as it stands; the revision is the older one, so that nothing is missed."""
        revision = await self.transcript.read_revision()
        found = await self.transcript.read_thread(spot.place, limit=MESSAGES_SHOWN + 1)
        shown = [m for m in found if may_see(spot.person, m)]
        return Talk(
            spot.place,
            shown[-MESSAGES_SHOWN:],
            revision,
            self.hub.marks_of(spot.place),
            self.hub.status_of(spot.place),
            is_cut=len(found) > MESSAGES_SHOWN,
        )

    async def list_threads(self, spot: Spot) -> Sequence[RoomThread]:
        """The conversations of a shared room that the person may see, newest first."""
        if spot.room.is_direct:
            return ()
        found = await self.transcript.list_threads(place_of(spot.room.id), THREADS_SHOWN)
        return [each for each in found if self._may_be_in(spot.person, each.thread)]

    async def has_thread(self, spot: Spot) -> bool:
        """Whether the conversation of an address was begun."""
        if spot.room.is_direct:
            return True
        first = await self.transcript.read_message(spot.place.platform, spot.place.thread)
        return first is not None and first.thread == spot.place

    async def find_message(self, person: Person, message_id: str) -> RoomMessage | None:
        """A message that the person may see."""
        found = await self.transcript.read_message("web", message_id)
        if found is None or not may_see(person, found):
            return None
        place = found.thread
        return found if self.find_spot(person, place.channel, place.thread) else None

    async def say(self, message: RoomMessage, *, begins_thread: bool) -> RoomMessage:
        """Keep a person's message, then hand it in; raises `StoreError`.

        What was kept and not handed in is found by the catch-up that intake asks for.
        """
        kept = await self.transcript.put(message, begins_thread=begins_thread)
        if is_other(kept, message):
            return kept
        self.hub.announce()
        await self.hand_in(kept)
        return kept

    async def turn_away(self, person: Person, place: Thread, text: str) -> None:
        """A stranger's words are kept nowhere; intake alone counts that they came."""
        event = InboundMessage(place, "", "", "", person, text, is_direct=is_direct(place))
        if not self.intake.admits(event):
            await self.intake.accept(event)

    async def hand_in(self, kept: RoomMessage, *, is_catch_up: bool = False) -> None:
        """Give intake a person's kept message, and the person what it answers."""
        assert kept.author is not None, "a person's message has an author"
        accepted = await self.intake.accept(read_message(kept, is_catch_up=is_catch_up))
        await self._whisper(kept.thread, kept.author, f"answer:{kept.id}", accepted.answer)

    async def press(self, pressing: Pressing, person: Person) -> None:
        """Hand in a pressed button, and give the person what it answers; raises `StoreError`."""
        event = read_press(pressing, person)
        accepted = await self.intake.accept(event)
        await self._whisper(pressing.place, person, event.dedupe_key, accepted.answer)

    async def _whisper(self, place: Thread, person: Person, key: str, answer: str) -> None:
        if answer:
            payload = render_whisper(answer)
            await self.transcript.put(RoomMessage(place, key, payload, only_for=person.id))
            self.hub.announce()


def may_see(person: Person, message: RoomMessage) -> bool:
    """Whether a message of a room that the person may see is for them too."""
    return message.only_for in ("", person.id)


def is_other(kept: RoomMessage, sent: RoomMessage) -> bool:
    """Whether the key that was sent had named other words before, or words elsewhere."""
    was, now = kept.thread, sent.thread
    is_elsewhere = was.channel != now.channel or (bool(now.thread) and was.thread != now.thread)
    return is_elsewhere or kept.payload != sent.payload or kept.files != sent.files
