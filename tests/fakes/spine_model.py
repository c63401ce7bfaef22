"""What the spine must do, said in a page: the model that the state machine compares it with."""

from __future__ import annotations

from dataclasses import dataclass, field

from geode.messages import InboundMessage, Thread
from geode.turn import ATTEMPTS_MAX


@dataclass
class Talk:
    """One thread as the model sees it."""

    queued: dict[str, str] = field(default_factory=dict)
    """Text by message id; ids sort in the platform's order."""
    taken: dict[str, str] = field(default_factory=dict)
    """The running turn's messages; empty when the thread is idle."""
    answered: list[tuple[str, ...]] = field(default_factory=list)
    refused: set[str] = field(default_factory=set)
    lost: set[str] = field(default_factory=set)
    """Deleted before a turn took them."""
    attempts: int = 0
    lease_until_us: int = -1
    held_notices: int = 0
    was_told_held: bool = False


class SpineModel:
    """Inbox, claims and ends of turns, without a database."""

    def __init__(self, depth: int, lease_us: int) -> None:
        self.talks: dict[Thread, Talk] = {}
        self.known: set[str] = set()
        self._depth, self._lease_us = depth, lease_us

    def talk(self, thread: Thread) -> Talk:
        """The thread, new when nobody wrote in it."""
        return self.talks.setdefault(thread, Talk())

    def accept(self, event: InboundMessage) -> tuple[str, str]:
        """What the front door must answer."""
        if event.kind != "message" and event.thread not in self.talks:
            return "ignored", "access.not_addressed"
        if event.dedupe_key in self.known:
            return "duplicate", ""
        self.known.add(event.dedupe_key)
        talk = self.talk(event.thread)
        if event.kind != "message":
            return "changed", self._change(talk, event)
        if len(talk.queued) >= self._depth:
            talk.refused.add(event.message_id)
            return "refused", "overloaded"
        talk.queued[event.message_id] = event.text
        if talk.taken and not talk.was_told_held:
            talk.was_told_held, talk.held_notices = True, talk.held_notices + 1
        return "stored", ""

    def _change(self, talk: Talk, event: InboundMessage) -> str:
        done = {mid for turn in talk.answered for mid in turn}
        if event.message_id in talk.taken or event.message_id in done:
            return "taken"
        if event.message_id not in talk.queued:
            return "unknown"
        if event.kind == "delete":
            del talk.queued[event.message_id]
            talk.lost.add(event.message_id)
        else:
            talk.queued[event.message_id] = event.text
        return "changed"

    def claim(self, thread: Thread, now_us: int) -> int:
        """The attempt a claim makes now; 0 when there is nothing to claim."""
        talk = self.talk(thread)
        if talk.taken:
            if talk.lease_until_us >= now_us:
                return 0
        elif not talk.queued:
            return 0
        else:
            talk.taken, talk.queued, talk.attempts = talk.queued, {}, 0
        talk.attempts += 1
        talk.lease_until_us = now_us + self._lease_us
        return talk.attempts

    def is_poisoned(self, thread: Thread) -> bool:
        """Whether the running turn was tried too often."""
        return self.talk(thread).attempts > ATTEMPTS_MAX

    def finish(self, thread: Thread) -> bool:
        """The turn ends; True when another message waits."""
        talk = self.talk(thread)
        talk.answered.append(tuple(sorted(talk.taken)))
        talk.taken, talk.lease_until_us, talk.was_told_held = {}, -1, False
        return bool(talk.queued)
