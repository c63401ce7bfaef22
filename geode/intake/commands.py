"""A command such as /status: answered in the transaction that records it, without the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from difflib import get_close_matches

from geode.intake import reports, steering
from geode.intake.access import Admitted
from geode.intake.desk import Asked, Audience, DeskView, Reply, audience_of
from geode.intake.outcomes import Stored
from geode.intake.why import tell_why
from geode.messages import ALIASES, COMMANDS, ChatCommand
from geode.ports import Accepted
from geode.reply import command_sentences as said
from geode.store import outbox, sessions
from geode.store.database import Tx
from geode.store.outbox import NewOutbox

WORD_CHARS_MAX = 20

AUDIENCES: Mapping[str, Audience] = {
    "help": Audience.ADMITTED,
    "whoami": Audience.ADMITTED,
    **dict.fromkeys(("new", "stop", "status", "usage", "why", "jobs"), Audience.PEOPLE),
    **dict.fromkeys(
        ("model", "review", "effects", "computer", "compact", "forget"), Audience.OPERATORS
    ),
}
"""Who may use a verb; a stranger's command is never admitted."""


def run_command(
    tx: Tx, admitted: Admitted, command: ChatCommand, view: DeskView, now_us: int
) -> Stored:
    """Do what the command says, within what the person may, and answer it once."""
    role = audience_of(admitted.binding, command.sender)
    command = replace(command, verb=ALIASES.get(command.verb, command.verb))
    if command.verb not in COMMANDS:
        return _refuse("command.unknown", said.describe_unknown(_find_near(command.verb, role)))
    if role < AUDIENCES[command.verb]:
        return _refuse("command.not_yours", said.NOT_YOURS.format(verb=command.verb))
    session_id = sessions.find_session(tx, command.thread)
    asked = Asked(tx, command, admitted.binding, role, session_id, view, now_us)
    reply = _answer(asked)
    if reply.refusal:
        return _refuse(reply.refusal, reply.text)
    return _say(asked, reply)


def may_use(role: Audience) -> tuple[str, ...]:
    """The verbs that are built and that somebody of this role may use."""
    return tuple(verb for verb in said.SUMMARIES if AUDIENCES[verb] <= role)


def _find_near(word: str, role: Audience) -> str:
    """The verb that was perhaps meant, of those that the person may use; empty: none is near."""
    verbs = may_use(role)
    words = [*verbs, *(alias for alias, verb in ALIASES.items() if verb in verbs)]
    near = get_close_matches(word[:WORD_CHARS_MAX], words, n=1)
    return ALIASES.get(near[0], near[0]) if near else ""


def _answer(asked: Asked) -> Reply:
    verb = asked.command.verb
    if verb == "help":
        return Reply(said.describe_help(may_use(asked.role)))
    if verb in _ANYWHERE:
        return _ANYWHERE[verb](asked)
    if verb not in _IN_A_CONVERSATION:
        return Reply(said.NOT_BUILT.format(verb=verb))
    if asked.session_id is not None:
        return _IN_A_CONVERSATION[verb](asked)
    if asked.names_no_thread:
        return Reply(said.INSIDE_A_THREAD.format(verb=verb))
    return Reply(said.NO_CONVERSATION)


_ANYWHERE: Mapping[str, Callable[[Asked], Reply]] = {
    "whoami": reports.tell_person,
    "model": reports.tell_model,
    "jobs": reports.tell_jobs,
    "computer": reports.tell_computer,
}
_IN_A_CONVERSATION: Mapping[str, Callable[[Asked], Reply]] = {
    "status": reports.tell_status,
    "usage": reports.tell_usage,
    "effects": reports.tell_effects,
    "why": tell_why,
    "review": reports.tell_reviews,
    "stop": steering.stop,
    "new": steering.begin_chapter,
    "compact": steering.ask_compaction,
}


def _say(asked: Asked, reply: Reply) -> Stored:
    """In private where the platform can, else once in the thread."""
    command = asked.command
    stored = replace(reply.effects, accepted=Accepted("answered", command.verb))
    if asked.session_id is None:
        return replace(stored, accepted=Accepted("answered", command.verb, reply.text))
    body = reply.text
    if command.is_private:
        stored = replace(stored, accepted=Accepted("answered", command.verb, reply.text))
        if not reply.concerns_others:
            return stored
        body = said.tell_others(command.sender.name or command.sender.id, reply.text)
    row = NewOutbox("command", command.dedupe_key, body, command.reply_to)
    outbox.add_outbox(asked.tx, asked.session_id, row, asked.now_us)
    return replace(stored, session_id=asked.session_id, wakes_delivery=True)


def _refuse(reason: str, answer: str) -> Stored:
    return Stored(Accepted("refused", reason, answer))
