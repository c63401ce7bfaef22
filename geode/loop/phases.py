"""The six phases of a turn: prepare input, prepare call, call provider, process tools,
observe and compact, terminate."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from math import ceil, isinf

from geode.errors import ModelError
from geode.llm.errors import Billing, ContextOverflow, Refused
from geode.loop import notes
from geode.loop.batches import run_batch
from geode.loop.compaction import fit_context, obey_wish
from geode.loop.limits import RoundKind, Spent, choose_round
from geode.loop.pairing import clean_message, own_call_ids
from geode.loop.pictures import blame_pictures, show_pictures
from geode.loop.prompt import build_prompt
from geode.loop.quoting import write_note
from geode.loop.run import Ending, LoopParts, TurnRun, Waits
from geode.loop.state import TurnEnd, TurnPause, TurnStart
from geode.loop.termination import describe_end, is_deliverable
from geode.messages import Message, TerminationReason
from geode.steps import ModelReply, StepSnapshot, StopCause

CUTS_MAX = 2
"""Further attempts after an answer that was cut."""
PAUSES_MAX = 4
"""Times in a row that a paused answer is sent back to go on."""
GRACE_S = 1.0
"""After a call's deadline the adapter has this long to say why it gave no answer."""

_WHOLE = frozenset({StopCause.END, StopCause.TOOL_USE})


def prepare_input(parts: LoopParts, start: TurnStart) -> TurnRun:
    """Phase 1: the conversation with valid pairs, the system prompt, the moments of the turn."""
    run = TurnRun.begin(parts, start, build_prompt(parts.sources))
    obey_wish(run)
    return run


def prepare_call(run: TurnRun) -> StepSnapshot | Ending:
    """Phase 2: check every limit, then fix all that one provider call depends on."""
    parts, state = run.parts, run.state
    spent = Spent(
        now=parts.clock.monotonic(),
        steps=state.step,
        steps_allowed=parts.limits.steps_max + state.attempts + state.granted_steps,
        cost_micro_usd=run.cost_micro_usd,
        has_results=state.results > 0,
    )
    choice = choose_round(parts.limits, run.time, spent)
    if choice.end is not None:
        return _deliver_cut(run) or Ending(choice.end, detail=choice.detail)
    told = notes.tell_round(choice) if choice.kind is not run.choice.kind else ""
    run.choice = choice
    if told and (state.step > 0 or choice.kind is RoundKind.WRAP_UP):
        run.add(write_note(told))
    run.state = replace(state, step=state.step + 1)
    parts.progress.step("thinking")
    return StepSnapshot(
        model=parts.model,
        adapter=parts.adapter,
        plan=parts.plan,
        system=run.system,
        messages=run.context.view(),
        session_id=parts.identity.session_id,
        turn_id=parts.identity.turn_id,
        step=run.state.step,
        deadline=run.time.work_ends_at,
        output_tokens_max=parts.limits.output_tokens_max,
        may_call_tools=choice.kind is RoundKind.OPEN,
        on_wait=partial(_tell_wait, run),
    )


def _tell_wait(run: TurnRun, wait_s: float) -> None:
    if not run.has_waited:
        run.has_waited = True
        run.parts.progress.note(
            f"The model provider asks to wait {ceil(wait_s)} s; I go on after that."
        )


async def call_provider(run: TurnRun, snapshot: StepSnapshot) -> ModelReply | Ending | None:
    """Phase 3: one provider call; None when the conversation must be shortened and asked again."""
    limit_s = None
    if not isinf(snapshot.deadline):
        limit_s = snapshot.deadline - run.parts.clock.monotonic() + GRACE_S
    limit = asyncio.timeout(limit_s)
    try:
        async with limit:
            snapshot = await show_pictures(run, snapshot)
            reply = await snapshot.adapter.acomplete(snapshot)
    except TimeoutError:
        if limit.expired():
            return Ending(TerminationReason.TIME_BUDGET_EXPIRED)
        return Ending(TerminationReason.PROVIDER_ERROR, detail=notes.SILENT_DETAIL)
    except ModelError as error:
        run.log("model_error", {"step": snapshot.step, "error": str(error)})
        # One picture that the provider cannot read would refuse every later turn too.
        return None if blame_pictures(run, snapshot, error) else _classify_error(run, error)
    run.spend(reply)
    run.log(
        "model_call",
        {
            "step": snapshot.step,
            "model": reply.model,
            "stop": reply.stop.value,
            "input_tokens": reply.usage.input_tokens,
            "output_tokens": reply.usage.output_tokens,
            "cost_micro_usd": reply.cost_micro_usd,
            "calls": [call.name for call in reply.message.calls],
        },
    )
    return reply


def _classify_error(run: TurnRun, error: ModelError) -> Ending | None:
    if isinstance(error, ContextOverflow):
        run.overflows += 1
        if run.overflows > 1:
            return Ending(TerminationReason.CONTEXT_EXHAUSTED)
        run.must_compact = True
        return None
    if isinstance(error, Billing):
        return Ending(TerminationReason.BILLING_ERROR, detail=str(error))
    if isinstance(error, Refused):
        return Ending(TerminationReason.MODEL_REFUSAL, detail=str(error))
    if run.parts.clock.monotonic() >= run.time.work_ends_at:
        return Ending(TerminationReason.TIME_BUDGET_EXPIRED, detail=str(error))
    return Ending(TerminationReason.PROVIDER_ERROR, detail=str(error))


async def process_tools(run: TurnRun, reply: ModelReply) -> Ending | Waits | None:
    """Phase 4: run what the model proposed, or take its answer; None: the turn goes on."""
    message = clean_message(own_call_ids(reply.message, run.state.step))
    run.measure(reply, is_kept=False)
    if reply.stop is StopCause.REFUSAL:
        return Ending(TerminationReason.MODEL_REFUSAL)
    if reply.stop is StopCause.PAUSE and message is not None and not message.calls:
        return _go_on(run, reply, message)
    if reply.stop not in _WHOLE or (message is not None and _is_odd(reply, message)):
        return _take_cut(run, reply, message)
    run.cuts = run.pauses = 0
    if message is not None and message.calls:
        return await _take_calls(run, reply, message)
    if message is None or not message.text.strip():
        return _take_empty(run)
    _keep(run, reply, message)
    return _answer(run, message.text)


def _is_odd(reply: ModelReply, message: Message) -> bool:
    # Adapters promise whole calls for one stop cause only; calls under another may be half written.
    return bool(message.calls) and reply.stop is not StopCause.TOOL_USE


def _keep(run: TurnRun, reply: ModelReply, message: Message) -> None:
    run.add(message)
    run.measure(reply, is_kept=True)


def _answer(run: TurnRun, text: str) -> Ending:
    reasons = {
        RoundKind.OPEN: TerminationReason.NATURAL,
        RoundKind.LAST: TerminationReason.FORCED_TEXT,
        RoundKind.WRAP_UP: TerminationReason.ACTIONABLE_PARTIAL,
    }
    return Ending(reasons[run.choice.kind], "".join([*run.cut_texts, text]))


async def _take_calls(run: TurnRun, reply: ModelReply, message: Message) -> Ending | Waits | None:
    run.cut_texts.clear()
    _keep(run, reply, message)
    if run.choice.kind is not RoundKind.OPEN:
        run.add(notes.refuse_all(message.calls, notes.NOT_RUN_LAST))
        return Ending(run.choice.limit)
    if run.parts.clock.monotonic() >= run.time.tools_end_at:
        run.add(notes.refuse_all(message.calls, notes.NOT_RUN_LAST))
        return None
    return await run_batch(run, message.calls)


def _take_empty(run: TurnRun) -> Ending | None:
    if run.cut_texts:
        return _deliver_cut(run)
    if run.was_nudged or run.state.attempts > 0:
        return Ending(TerminationReason.NATURAL, detail=notes.EMPTY_DETAIL)
    run.was_nudged = True
    run.add(write_note(notes.NUDGE))
    return None


def _go_on(run: TurnRun, reply: ModelReply, message: Message) -> Ending | None:
    run.pauses += 1
    if run.pauses > PAUSES_MAX:
        return Ending(TerminationReason.MODEL_ACTION_REQUIRED, detail=notes.PAUSE_DETAIL)
    _keep(run, reply, message)
    return None


def _take_cut(run: TurnRun, reply: ModelReply, message: Message | None) -> Ending | None:
    """Keep what was said, run nothing of it, and let the model go on a bounded number of times."""
    run.cuts += 1
    calls = message.calls if message is not None else ()
    if message is not None:
        _keep(run, reply, message)
    if calls:
        run.cut_texts.clear()
        run.add(notes.refuse_all(calls, notes.NOT_RUN_CUT))
        run.log("calls_cut", {"step": run.state.step, "calls": [call.name for call in calls]})
    elif message is not None and message.text:
        run.cut_texts.append(message.text)
    is_full = reply.stop is StopCause.CONTEXT_WINDOW
    if run.cuts > CUTS_MAX:
        return _deliver_cut(run) or (
            Ending(TerminationReason.CONTEXT_EXHAUSTED, detail=notes.WINDOW_DETAIL)
            if is_full
            else Ending(TerminationReason.MODEL_ACTION_REQUIRED, detail=notes.CUT_DETAIL)
        )
    # A short conversation is not what filled the window; shortening it would only lose words.
    run.should_compact = is_full and run.size * 2 > run.parts.limits.context_tokens_max
    run.add(write_note(notes.GO_ON if run.cut_texts and not calls else notes.CALL_CUT))
    return None


def _deliver_cut(run: TurnRun) -> Ending | None:
    """What there is of a cut answer, marked as cut; None when there is nothing."""
    if not run.cut_texts:
        return None
    return Ending(TerminationReason.FORCED_TEXT, "".join(run.cut_texts).rstrip() + notes.CUT_MARK)


async def observe_and_compact(run: TurnRun) -> Ending | None:
    """Phase 5: see whether the next request fits, and shorten the view when it does not."""
    return await fit_context(run)


def terminate(run: TurnRun, ending: Ending) -> TurnEnd:
    """Phase 6: everything the caller stores, and for a failure a note for the next turn."""
    if not is_deliverable(ending.reason):
        run.add(write_note(f"The turn ended here. {describe_end(ending.reason, ending.detail)}"))
    unsaved, entries = run.take_unsaved()
    return TurnEnd(
        reason=ending.reason,
        text=ending.text,
        unsaved=unsaved,
        state=run.current_state(),
        entries=entries,
        saved=tuple(run.saved),
        detail=ending.detail,
    )


def pause(run: TurnRun, waits: Waits) -> TurnPause:
    """Phase 6 of a run that waits for people: everything the caller stores before it asks them."""
    messages, entries = run.take_unsaved()
    assert not messages, "a batch is saved before any call of it runs"
    return TurnPause(waits.batch, waits.asks, run.current_state(), entries)
