"""One batch of proposed calls: guarded, saved before anything runs, answered in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from geode.loop import notes
from geode.loop.guards import REFUSAL, BatchVerdict, check_batch, digest_call, observe_batch
from geode.loop.pairing import NO_OUTPUT
from geode.loop.ports import SavedBatch
from geode.loop.quoting import write_note
from geode.loop.run import Ending, TurnRun, Waits
from geode.loop.state import OpenBatch
from geode.messages import Message, TerminationReason, ToolCall, ToolResult
from geode.records.call_entries import entry_of_refusal
from geode.steps import ToolContext
from geode.store.approvals import NewApproval


async def run_batch(run: TurnRun, calls: tuple[ToolCall, ...]) -> Ending | Waits | None:
    """Run what the guards let through; the results stay unsaved until the next save.

    Raises `StoreError` when the batch could not be saved; then nothing of it ran.
    """
    verdict = check_batch(run.state.guards, calls)
    run.state = replace(run.state, guards=verdict.state)
    refused = _refuse_some(run, calls, verdict)
    if verdict.end is not None or len(refused) == len(calls):
        ended = notes.refuse_all(calls, notes.NOT_RUN_ENDED).results
        done = dict(enumerate(ended)) | refused
        return _close_batch(run, calls, replace(verdict, refused=frozenset(done)), done)
    unsaved, entries = run.take_unsaved()
    await run.parts.records.save_batch(
        SavedBatch(run.state.step, calls, unsaved, run.current_state(), entries)
    )
    run.mark_saved()
    batch = OpenBatch(run.state.step, calls, refused, frozenset(refused))
    return await _run_open(run, batch, replace(verdict, refused=batch.refused))


async def resume_batch(run: TurnRun, batch: OpenBatch) -> Ending | Waits | None:
    """Bring a saved batch to its end: calls that people decided on, or that still wait for them."""
    keys = tuple(digest_call(call) for call in batch.calls)
    verdict = BatchVerdict(keys, batch.refused, run.state.guards, None)
    return await _run_open(run, batch, verdict, is_resumed=True)


async def _run_open(
    run: TurnRun, batch: OpenBatch, verdict: BatchVerdict, *, is_resumed: bool = False
) -> Ending | Waits | None:
    done, asks = await _process(run, batch, is_resumed=is_resumed)
    if asks:
        return Waits(replace(batch, done=done), asks)
    return _close_batch(run, batch.calls, verdict, done)


def _refuse_some(
    run: TurnRun, calls: Sequence[ToolCall], verdict: BatchVerdict
) -> dict[int, ToolResult]:
    calls_max = run.parts.limits.calls_max
    many = notes.NOT_RUN_MANY.format(calls_max=calls_max)
    refused: dict[int, ToolResult] = {}
    for position, call in enumerate(calls):
        is_repeat = position in verdict.refused
        if not is_repeat and position < calls_max:
            continue
        rule, text = ("loop.repeated", REFUSAL) if is_repeat else ("loop.too_many", many)
        refused[position] = ToolResult(call.call_id, text, is_error=True)
        context = _make_context(run, position)
        run.entries.append(entry_of_refusal(call, context, rule=rule, reason=text))
    return refused


def _make_context(run: TurnRun, position: int) -> ToolContext:
    parts = run.parts
    return parts.identity.make_context(parts.model, run.state.step, position, run.time.tools_end_at)


async def _process(
    run: TurnRun, batch: OpenBatch, *, is_resumed: bool
) -> tuple[dict[int, ToolResult], tuple[NewApproval, ...]]:
    calls = batch.calls
    positions = [position for position in range(len(calls)) if position not in batch.done]
    allowed = tuple(calls[position] for position in positions)
    # What no tool is named could be anything the model wants to say before it is verified.
    known = tuple(dict.fromkeys(c.name for c in allowed if c.name in run.parts.plan.by_name))
    run.parts.progress.step("tools" if known else "thinking", known)
    outcome = await run.parts.processor.process(
        allowed,
        run.parts.plan,
        lambda index: replace(_make_context(run, positions[index]), is_resumed=is_resumed),
    )
    run.entries.extend(outcome.entries)
    if outcome.uncertain:
        run.state = replace(run.state, has_uncertain=True)
    pairs = zip(positions, outcome.results, strict=True)
    done = dict(batch.done) | {place: result for place, result in pairs if result is not None}
    return done, tuple(outcome.asks)


def _close_batch(
    run: TurnRun,
    calls: tuple[ToolCall, ...],
    verdict: BatchVerdict,
    done: dict[int, ToolResult],
) -> Ending | None:
    results = tuple(_fit_result(done[position], call) for position, call in enumerate(calls))
    run.add(Message("tool", results))
    finding = observe_batch(verdict, calls, results)
    succeeded = sum(not result.is_error for result in results)
    run.state = replace(run.state, guards=finding.state, results=run.state.results + succeeded)
    end = verdict.end or finding.end
    if end is not None:
        run.log("guard_ended", {"step": run.state.step, "reason": end.value})
        return Ending(end, detail=_name_calls(end, calls))
    if finding.warning:
        run.add(write_note(finding.warning))
    return None


def _fit_result(result: ToolResult, call: ToolCall) -> ToolResult:
    # A result answers the call it stands for, and some providers refuse a blank one.
    text = result.text if result.text.strip() else NO_OUTPUT
    if result.call_id == call.call_id and text is result.text:
        return result
    return replace(result, call_id=call.call_id, text=text)


def _name_calls(end: TerminationReason, calls: Sequence[ToolCall]) -> str:
    names = ", ".join(dict.fromkeys(f"`{call.name}`" for call in calls))
    what = "failing" if end is TerminationReason.REPEATED_ERRORS else "giving the same result"
    return f"It was {names} that kept {what}."
