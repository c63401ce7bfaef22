"""/why: the last refusals of a conversation, or the rule-by-rule trace of one of its calls."""

from __future__ import annotations

from geode.gate.why import CallPlace, CallTold, StepTold, place_of, tell_call
from geode.intake.desk import Asked, Audience, Reply
from geode.messages import Mode
from geode.reply import command_sentences as said
from geode.reply.command_sentences import RefusedCall
from geode.reply.effect_cards import show_time
from geode.reply.escaping import escape_markdown, escape_unseen, quote_name
from geode.store import calls, sessions
from geode.store.calls import REFUSED, StoredCall

REFUSALS_MAX = 5
NOTE_CHARS_MAX = 200


def tell_why(asked: Asked) -> Reply:
    """/why: of a call elsewhere no more is said than of one that never was."""
    wanted = asked.command.argument.split()
    if not wanted:
        found = calls.list_calls(asked.tx, asked.session, (REFUSED,), REFUSALS_MAX)
        return Reply(said.describe_refusals([_refused_of(call) for call in found]))
    call = calls.find_call(asked.tx, asked.session, wanted[0])
    if call is None:
        return Reply(said.describe_unknown_call(wanted[0]))
    told = tell_call(call, _place_of(asked, call), asked.view.decide_now)
    return Reply(_write(told, _show_arguments(asked, call)))


def _refused_of(call: StoredCall) -> RefusedCall:
    return RefusedCall(call.name, call.tool, call.rule, call.reason)


def _place_of(asked: Asked, call: StoredCall) -> CallPlace:
    row = sessions.read_session(asked.tx, call.session_id)
    return place_of(
        asked.view.settings, row.binding, Mode(row.mode), is_child=call.session_id != asked.session
    )


def _show_arguments(asked: Asked, call: StoredCall) -> str:
    """Operators see them, and only where nobody else reads along."""
    if asked.role < Audience.OPERATORS or not call.arguments:
        return ""
    if not (asked.command.is_private or asked.command.is_direct):
        where = f"geode sessions why {call.session_id} {call.name}"
        return f"Its arguments: `{where}` shows them."
    shown = escape_unseen(call.arguments).replace("`", "\\u0060")
    return f"Its arguments:\n\n```json\n{shown}\n```"


def _write(told: CallTold, arguments: str) -> str:
    call = told.call
    answer = "refused" if call.is_refused else "allowed"
    ending = f" It ended: {call.ending.replace('_', ' ')}." if call.ending else ""
    head = f"`{call.name}` {quote_name(call.tool)} was {answer}, {show_time(call.at_us)}.{ending}"
    lines = [head, *(f"{n}. {_say_step(step)}" for n, step in enumerate(told.steps, start=1))]
    if call.reason:
        reason = " ".join(call.reason.split())[: said.REASON_CHARS_MAX]
        lines.append(f"Reason: {escape_markdown(escape_unseen(reason))}")
    if told.change:
        lines.append(f"What would change it: {_inert(told.change)}")
    if told.now:
        lines.append(f"Decided again with the present settings, for comparison: {told.now}")
    return "\n".join([*lines, arguments] if arguments else lines)


def _say_step(step: StepTold) -> str:
    stage = f"{step.stage.replace('_', ' ')}: " if step.stage else ""
    note = " ".join(step.note.split())[:NOTE_CHARS_MAX]
    told = f" ({escape_markdown(escape_unseen(note))})" if note else ""
    return f"{stage}{step.answer}, `{step.rule}`: {step.means}{told}"


def _inert(change: str) -> str:
    # It holds a tool's name, which may be what the model wrote.
    return escape_unseen(change).replace("<", "\\<")
