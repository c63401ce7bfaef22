"""The front door: decide, store once, and only then let the channel acknowledge."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

from geode.attended import mode_of
from geode.errors import StoreError
from geode.intake.access import (
    MOST_PERMISSIVE,
    Admitted,
    BoundChannel,
    Ignored,
    ThreadFacts,
    admit,
    find_binding,
    may_talk,
)
from geode.intake.commands import run_command
from geode.intake.desk import Desk
from geode.intake.outcomes import Stored
from geode.intake.presses import answer_again, press_button
from geode.log import get_logger
from geode.messages import (
    ButtonPress,
    ChatCommand,
    Inbound,
    InboundMessage,
    Person,
    Place,
    SessionId,
    SessionState,
    Thread,
    TurnId,
)
from geode.ports import Accepted, Clock, Role
from geode.reply import sentences
from geode.settings import Settings
from geode.store import cursors, inbox, moves, outbox, sessions
from geode.store.database import Store, Tx
from geode.store.moves import Move
from geode.store.outbox import NewOutbox
from geode.store.sent import is_only_told

log = get_logger(__name__)

DAY_US = 86_400_000_000


class Wakes(Protocol):
    """Who hears, after a commit, that there is something to do; may be lost without harm."""

    def wake_session(self, session_id: SessionId) -> None:
        """A message waits for a turn."""
        ...

    def wake_session_later(self, session_id: SessionId) -> None:
        """The same, once nothing was added for a moment."""
        ...

    def wake_delivery(self, session_id: SessionId) -> None:
        """A row waits to be delivered."""
        ...

    def mark_working(self, place: Place, message_id: str, since: float) -> None:
        """Show on the person's message that it was taken; `since`: when it came, monotonic."""
        ...

    def clear_working(self, place: Place, message_id: str) -> None:
        """The message will not be answered; its working mark goes."""
        ...

    def stop_turn(self, session_id: SessionId, turn_id: TurnId) -> None:
        """The turn is to end without an answer; the mark in the store says so too."""
        ...

    def mark_catch_up_due(self, channel: str) -> None:
        """The channel may have missed events."""
        ...


class Inbox:
    """The one implementation of `Intake`: every ingress of every channel ends here."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        settings: Settings,
        wakes: Wakes,
        desk: Desk | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._settings = settings
        self._bindings = settings.bindings
        self._limits = settings.limits
        self._wakes = wakes
        self._desk = desk or Desk()
        self._moves: Sequence[Move] = ()
        self.ignored: Counter[str] = Counter()
        """Events that stored nothing, by the rule that ignored them."""

    def follow(self, settings: Settings) -> None:
        """Decide by these settings from the next event on; the limits stay as they were."""
        self._settings = settings
        self._bindings = settings.bindings

    async def accept(self, event: Inbound) -> Accepted:
        """Decide and store one event; returns only after the commit.

        Raises `StoreError` when nothing could be stored; the channel's catch-up is then due. An
        event on which our own code fails is logged, counted and acknowledged: it would fail again
        at every delivery, and keep everything behind it waiting.
        """
        # A stranger's event must not reach the writer: the facts are assumed before they are read.
        early = self._admit_early(event)
        if isinstance(early, Ignored):
            self.ignored[early.rule] += 1
            return Accepted("ignored", early.rule)
        since = self._clock.monotonic()
        if isinstance(event, InboundMessage | ButtonPress):
            event = replace(event, text=self._desk.take_out(event.text))
        try:
            stored = await self._store.write("intake", lambda tx: self._decide(tx, event))
        except StoreError:
            self._wakes.mark_catch_up_due(event.thread.platform)
            raise
        except Exception:  # boundary: channel event
            log.exception("event_not_taken", platform=event.thread.platform, key=event.dedupe_key)
            self.ignored["intake.fault"] += 1
            return Accepted("refused", "intake.fault", sentences.FAULT)
        self._spread(stored, event, since)
        accepted = stored.accepted
        return replace(accepted, answer=self._desk.take_out(accepted.answer))

    def admits(self, event: Inbound) -> bool:
        """Whether the person may do this here at all."""
        return isinstance(self._admit_early(event), Admitted)

    def role_of(self, person: Person, place: Thread, *, is_direct: bool = False) -> Role:
        """What the person is in a place; it admits nothing."""
        former = self._former_channels(place)
        spot = BoundChannel(place, is_direct, former_channels=former)
        binding = find_binding(self._bindings, spot)
        if binding is None or not may_talk(binding, person):
            return "stranger"
        return "operator" if person.id in binding.operators else "person"

    def _admit_early(self, event: Inbound) -> Admitted | Ignored:
        former = self._former_channels(event.thread)
        facts = replace(MOST_PERMISSIVE, former_channels=former)
        return admit(event, self._bindings, facts)

    async def confirm_read(self, place: Thread, order_key: str, message_id: str) -> None:
        """Everything said in the place up to that message was handed to `accept`."""
        await self._store.write(
            "cursors.confirm", lambda tx: cursors.raise_floor(tx, place, order_key, message_id)
        )

    async def read_moves(self) -> None:
        """Learn which channels have another id now; before the first event."""
        self._moves = await self._store.read(moves.list_moves)

    async def move_place(self, old: Thread, new: Thread) -> None:
        """Sessions, cursors and binding of a channel go on under its new id.

        A channel that is not bound, and of which nothing is stored, leaves no trace.
        """
        if not self._is_named(old, new) and not await self._store.read(
            lambda tx: moves.has_threads(tx, old)
        ):
            self.ignored["access.unbound"] += 1
            return

        def unit(tx: Tx) -> Sequence[Move]:
            moves.move_place(tx, old, new, self._clock.now_us())
            return moves.list_moves(tx)

        self._moves = await self._store.write("place.move", unit)

    def _is_named(self, old: Thread, new: Thread) -> bool:
        """Whether a binding names the channel by any id of its own."""
        ids = {old.channel, new.channel, *self._former_channels(old)}
        return any(
            (binding.channel, binding.place.workspace) == (old.platform, old.workspace)
            and binding.place.channel in ids
            for binding in self._bindings
        )

    def tell_moves(self) -> list[str]:
        """What the operator should write where a binding still names an id of before."""
        written = {binding.key for binding in self._bindings}
        return [
            sentences.describe_move(move.old_key, move.new_key)
            for move in self._moves
            if move.old_key in written
        ]

    def _former_channels(self, place: Thread) -> tuple[str, ...]:
        here = (place.platform, place.workspace, place.channel)
        return tuple(
            move.old_channel
            for move in self._moves
            if (move.platform, move.workspace, move.new_channel) == here
        )

    def mark_catch_up_due(self, channel: str) -> None:
        """The channel may have missed events; a catch-up will follow."""
        self._wakes.mark_catch_up_due(channel)

    def _spread(self, stored: Stored, event: Inbound, since: float) -> None:
        if stored.accepted.outcome == "ignored":
            self.ignored[stored.accepted.reason] += 1
        if stored.session_id is None:
            return
        if stored.wakes_session and isinstance(event, InboundMessage):
            place = Place(event.thread, event.reply_to)
            self._wakes.mark_working(place, event.message_id, since)
        if stored.stopped_turn is not None:
            self._wakes.stop_turn(stored.session_id, stored.stopped_turn)
        if stored.wakes_session and isinstance(event, InboundMessage) and event.is_part:
            self._wakes.wake_session_later(stored.session_id)
        elif stored.wakes_session:
            self._wakes.wake_session(stored.session_id)
        if stored.wakes_delivery:
            for told in {stored.session_id, stored.also_tells or stored.session_id}:
                self._wakes.wake_delivery(told)
        for message_id, reply_to in stored.dropped:
            self._wakes.clear_working(Place(event.thread, reply_to), message_id)

    def _decide(self, tx: Tx, event: Inbound) -> Stored:
        former = self._former_channels(event.thread)
        facts = replace(_find_facts(tx, event), former_channels=former)
        verdict = admit(event, self._bindings, facts)
        if isinstance(verdict, Ignored):
            return Stored(Accepted("ignored", verdict.rule))
        now_us = self._clock.now_us()
        platform = event.thread.platform
        if not inbox.remember_event(tx, platform, event.dedupe_key, "seen", now_us):
            return Stored(_repeat(tx, verdict))
        if isinstance(event, ButtonPress):
            return press_button(tx, verdict, event, now_us)
        if isinstance(event, ChatCommand):
            return self._obey(tx, verdict, event, now_us)
        if event.kind != "message":
            return self._change(tx, event, now_us)
        return self._store_message(tx, verdict, event, now_us)

    def _obey(self, tx: Tx, admitted: Admitted, command: ChatCommand, now_us: int) -> Stored:
        if not self._is_too_old(command, now_us):
            return run_command(tx, admitted, command, self._desk.look(self._settings), now_us)
        session_id = sessions.find_session(tx, command.thread)
        is_new = session_id is not None and _tell_too_old(tx, session_id, command.reply_to, now_us)
        return Stored(Accepted("refused", "too_old"), session_id, wakes_delivery=is_new)

    def _change(self, tx: Tx, event: InboundMessage, now_us: int) -> Stored:
        session_id = sessions.find_session(tx, event.thread)
        if session_id is None:
            return Stored(Accepted("ignored", "edit.unknown_message"))
        text = event.text if event.kind == "edit" else None
        found = inbox.change_queued(tx, session_id, event.message_id, text)
        if found != "taken":
            return Stored(Accepted("changed", found), session_id)
        is_known = inbox.change_edit(tx, session_id, event.message_id, text)
        if text and not is_known:
            inbox.add_message(tx, session_id, event, kind="edit", now_us=now_us)
        return Stored(Accepted("changed", found), session_id)

    def _store_message(
        self, tx: Tx, admitted: Admitted, message: InboundMessage, now_us: int
    ) -> Stored:
        session_id = self._bind(tx, admitted, message, now_us)
        _open_cursors(tx, message)
        if self._is_too_old(message, now_us):
            inbox.add_message(tx, session_id, message, state="skipped", now_us=now_us)
            is_new = _tell_too_old(tx, session_id, message.reply_to, now_us)
            return Stored(Accepted("refused", "too_old"), session_id, wakes_delivery=is_new)
        refusal = self._find_overload(tx, session_id, message)
        if refusal is not None:
            is_new = outbox.add_outbox(tx, session_id, refusal, now_us)
            return Stored(Accepted("refused", "overloaded"), session_id, wakes_delivery=is_new)
        inbox.add_message(tx, session_id, message, now_us=now_us)
        row = sessions.read_session(tx, session_id)
        served = (admitted.binding.key, mode_of(admitted.binding))
        if (row.binding, row.mode) != served:
            sessions.set_binding(tx, session_id, *served)
        held = self._tell_held(tx, row, message, now_us)
        return Stored(Accepted("stored"), session_id, wakes_session=True, wakes_delivery=held)

    def _bind(self, tx: Tx, admitted: Admitted, message: InboundMessage, now_us: int) -> SessionId:
        new = sessions.NewSession(
            id=SessionId("s" + secrets.token_hex(8)),
            binding=admitted.binding.key,
            mode=mode_of(admitted.binding),
            is_direct=message.is_direct,
            earlier_before=message.message_id if message.has_earlier else "",
        )
        return sessions.bind_session(tx, message.thread, new, now_us)

    def _is_too_old(self, said: InboundMessage | ChatCommand, now_us: int) -> bool:
        age_us = now_us - said.sent_at_us
        return said.is_catch_up and age_us > self._limits.catchup_max_age_s * 1_000_000

    def _find_overload(
        self, tx: Tx, session_id: SessionId, message: InboundMessage
    ) -> NewOutbox | None:
        own, total = inbox.count_queued(tx, session_id)
        if own >= self._limits.inbox_depth_session:
            sentence = sentences.OVERLOADED
        elif total >= self._limits.inbox_depth_total:
            sentence = sentences.OVERLOADED_ALL
        else:
            return None
        episode = str(inbox.oldest_queued(tx, session_id))
        return NewOutbox("overloaded", episode, sentence, message.reply_to)

    def _tell_held(self, tx: Tx, row: Any, message: InboundMessage, now_us: int) -> bool:
        if row.state == SessionState.IDLE:
            return False
        kind, sentence = "held", sentences.HELD
        if row.state == SessionState.AWAITING_REVIEW:
            kind, sentence = "held_for_review", sentences.HELD_FOR_REVIEW
        notice = NewOutbox(kind, row.turn_id, sentence, message.reply_to)
        return outbox.add_outbox(tx, SessionId(row.id), notice, now_us)


def _tell_too_old(tx: Tx, session_id: SessionId, reply_to: str, now_us: int) -> bool:
    notice = NewOutbox("too_old", str(now_us // DAY_US), sentences.TOO_OLD, reply_to)
    return outbox.add_outbox(tx, session_id, notice, now_us)


def _repeat(tx: Tx, admitted: Admitted) -> Accepted:
    """An event that was known before; read back, it may have been edited while nobody listened."""
    event = admitted.event
    if isinstance(event, ButtonPress):
        return answer_again(tx, admitted, event)
    if isinstance(event, InboundMessage) and event.is_catch_up and event.is_edited:
        session_id = sessions.find_session(tx, event.thread)
        if session_id and inbox.reword_queued(tx, session_id, event.message_id, event.text):
            return Accepted("changed", "changed")
    return Accepted("duplicate")


def _find_facts(tx: Tx, event: Inbound) -> ThreadFacts:
    session_id = sessions.find_session(tx, event.thread)
    if session_id is None or not isinstance(event, InboundMessage) or event.is_addressed:
        return ThreadFacts(is_followed=session_id is not None)
    # Followed from the first mention on: what a catch-up reads back from before it is no request.
    first = inbox.read_first_key(tx, session_id)
    if first is None:
        # A place that was only told something is not followed: nobody spoke to the agent there.
        return ThreadFacts(is_followed=not is_only_told(tx, session_id))
    return ThreadFacts(is_followed=event.order_key >= first)


def _open_cursors(tx: Tx, message: InboundMessage) -> None:
    thread = message.thread
    # A direct message was served before its first message was stored; that may not be its first.
    begun = not message.is_direct
    cursors.open_cursor(tx, thread, message.order_key, message.message_id, is_begun=begun)
    if message.message_id == thread.thread:
        root = type(thread)(thread.platform, thread.workspace, thread.channel, "")
        cursors.open_cursor(tx, root, message.order_key, message.message_id)
