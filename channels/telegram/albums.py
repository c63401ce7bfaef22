"""Albums: several updates that people sent as one message, held until the rest has come."""

from __future__ import annotations

from dataclasses import dataclass, field

from channels.telegram.parse import AlbumPart, join_album
from geode.messages import InboundMessage, Person, Thread


@dataclass(slots=True)
class HeldAlbum:
    """The parts that came so far, by update id."""

    first_at: float
    last_at: float
    parts: dict[int, InboundMessage] = field(default_factory=dict[int, InboundMessage])

    @property
    def message(self) -> InboundMessage:
        """All parts as one message."""
        return join_album([self.parts[update_id] for update_id in sorted(self.parts)])


class Albums:
    """The albums that are not complete yet; times are monotonic seconds."""

    def __init__(self, *, quiet_s: float, held_s_max: float) -> None:
        self._quiet_s = quiet_s
        self._held_s_max = held_s_max
        self._held: dict[str, HeldAlbum] = {}

    def __bool__(self) -> bool:
        return bool(self._held)

    @property
    def update_ids(self) -> set[int]:
        """The updates whose words are held here and nowhere else."""
        return {update_id for album in self._held.values() for update_id in album.parts}

    def add(self, update_id: int, part: AlbumPart, now: float) -> None:
        """Hold one more part; a part that came before changes nothing."""
        album = self._held.setdefault(part.album, HeldAlbum(now, now))
        if update_id not in album.parts:
            album.parts[update_id] = part.message
            album.last_at = now

    def due(self, now: float) -> list[str]:
        """The albums to which nothing was added for a while, and those held long enough."""
        return [
            name
            for name, album in self._held.items()
            if now - album.last_at >= self._quiet_s or now - album.first_at >= self._held_s_max
        ]

    def of_sender(self, thread: Thread, sender: Person) -> list[str]:
        """The albums of a person in a thread: complete once the person goes on to say more."""
        return [
            name
            for name, album in self._held.items()
            for first in [next(iter(album.parts.values()))]
            if (first.thread, first.sender.id) == (thread, sender.id)
        ]

    def peek(self, name: str) -> HeldAlbum:
        """An album that stays held."""
        return self._held[name]

    def release(self, name: str) -> None:
        """Forget an album that is stored."""
        del self._held[name]
