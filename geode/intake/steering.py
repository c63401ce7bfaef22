"""The commands that change a session's course: /stop, /new and /compact."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from geode.intake.desk import Asked, Audience, Reply
from geode.intake.outcomes import Stored
from geode.loop.state import LoopState
from geode.messages import JsonObject, SessionState, TurnId
from geode.ports import Accepted
from geode.reply import command_sentences as said
from geode.store import conversation, inbox, sessions, turns
from geode.store.timeline import TimelineEntry, append_entries

SHORT_CHARS = 4_000
"""A summary of less than this would hardly be shorter."""

_ANSWERED = Stored(Accepted("answered"))


def stop(asked: Asked) -> Reply:
    """/stop: what runs or waits for a decision ends without an answer; waiting messages go.

    The wish is a mark on the turn: whoever holds the session's lease, now or after a crash, ends
    the turn because of it.
    """
    row = sessions.read_session(asked.tx, asked.session)
    if row.state == SessionState.AWAITING_REVIEW and asked.role < Audience.OPERATORS:
        return Reply(said.NOT_YOUR_REVIEW, refusal="command.not_yours")
    dropped = inbox.drop_queued(asked.tx, asked.session, asked.command.order_key)
    effects = replace(_ANSWERED, session_id=asked.session, dropped=tuple(dropped))
    sentence = said.NOTHING_RUNS
    if row.state != SessionState.IDLE:
        sentence, effects = _stop_turn(asked, row, effects)
    if sentence not in (said.NOTHING_RUNS, said.ASKED_SINCE) or dropped:
        _note(asked, {"dropped": len(dropped)}, row.turn_id)
    return Reply(said.describe_stop(sentence, len(dropped)), concerns_others=True, effects=effects)


def _stop_turn(asked: Asked, row: Any, effects: Stored) -> tuple[str, Stored]:
    said_at = asked.command.order_key
    if said_at and inbox.read_last_key(asked.tx, row.turn_id) > said_at:
        # Read back late: what runs now was asked for afterwards, and nobody stopped that.
        return said.ASKED_SINCE, effects
    if not turns.ask_stop(asked.tx, row.turn_id, asked.command.sender.id):
        return said.STOPPING_ALREADY, effects
    effects = replace(effects, stopped_turn=TurnId(row.turn_id))
    match row.state:
        case SessionState.AWAITING_APPROVAL:
            return said.APPROVAL_DENIED, replace(effects, wakes_session=True)
        case SessionState.AWAITING_REVIEW:
            return said.REVIEW_REJECTED, replace(effects, wakes_session=True)
        case _:
            return said.STOPPING, effects


def begin_chapter(asked: Asked) -> Reply:
    """/new: the session's next turn begins a chapter that knows nothing of those before."""
    row = sessions.read_session(asked.tx, asked.session)
    sessions.ask_chapter(asked.tx, asked.session)
    inbox.drop_edits(asked.tx, asked.session)
    _note(asked, {}, row.turn_id)
    is_later = row.state != SessionState.IDLE or inbox.has_queued(asked.tx, asked.session)
    text = said.NEW_CHAPTER_LATER if is_later else said.NEW_CHAPTER
    return Reply(text, concerns_others=True)


def ask_compaction(asked: Asked) -> Reply:
    """/compact: the next turn that is taken up shortens what the model is shown."""
    row = sessions.read_session(asked.tx, asked.session)
    is_idle = row.state == SessionState.IDLE
    if row.chapter_due or (is_idle and _measure_shown(asked, row.chapter) < SHORT_CHARS):
        return Reply(said.NEW_ANYWAY if row.chapter_due else said.SHORT_ALREADY)
    sessions.ask_compaction(asked.tx, asked.session)
    _note(asked, {}, row.turn_id)
    return Reply(said.COMPACTION if is_idle else said.COMPACTION_LATER, concerns_others=True)


def _measure_shown(asked: Asked, chapter: int) -> int:
    """Characters of what the next turn would be shown word for word."""
    known = conversation.load_checkpoint(asked.tx, asked.session)
    start = LoopState.from_json(known.state).context_start if known is not None else 0
    return conversation.measure_tail(asked.tx, asked.session, chapter, start)


def _note(asked: Asked, more: JsonObject, turn_id: str) -> None:
    body: JsonObject = {"verb": asked.command.verb, "by": asked.command.sender.id, **more}
    entry = TimelineEntry("command", body, turn_id)
    append_entries(asked.tx, asked.session, (entry,), asked.now_us)
