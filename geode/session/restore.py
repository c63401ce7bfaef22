"""The one restore path: state and history of a claimed turn, its orphan batch closed first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from geode.gate.approvals import Approvals
from geode.loop.ports import TurnIdentity
from geode.loop.state import LoopState, OpenBatch
from geode.messages import Message, ReceiptId, ToolCall, ToolResult
from geode.records.checkpoint import CheckpointSave, SessionCheckpoint
from geode.records.outcomes import BatchOutcome
from geode.records.receipts import EffectReceiptStore
from geode.session.batches import describe_open_batch, read_batch
from geode.session.claims import Claim
from geode.session.toolbox import Toolbox
from geode.steps import ToolContext
from geode.store.effects import Owner


@dataclass(frozen=True, slots=True)
class RestoredTurn:
    """What a turn goes on from."""

    history: tuple[Message, ...]
    state: LoopState
    open_batch: OpenBatch | None = None
    """Calls of the last message that people were asked about; the others of it are done."""


class TurnRestorer:
    """Brings a claimed turn back to where its last commit left it."""

    def __init__(
        self,
        receipts: EffectReceiptStore,
        checkpoints: SessionCheckpoint,
        toolbox: Toolbox,
        approvals: Approvals,
    ) -> None:
        self._receipts = receipts
        self._checkpoints = checkpoints
        self._toolbox = toolbox
        self._approvals = approvals

    async def restore(self, claim: Claim, *, is_ending: bool = False) -> RestoredTurn:
        """The turn's state and history; calls without a stored result are closed, never run again.

        The thread is asked about what cannot be read back, in the same transaction. Calls that
        people were asked about stay open, unless the turn is to end: their time comes again.
        """
        restored = await self._restore(claim, is_ending=is_ending)
        state = replace(restored.state, shorten_asked=claim.shorten_asked)
        return replace(restored, state=state)

    async def _restore(self, claim: Claim, *, is_ending: bool) -> RestoredTurn:
        checkpoint = claim.checkpoint
        if checkpoint is None:
            return RestoredTurn(claim.history, LoopState())
        state = LoopState.from_json(checkpoint.state)
        if checkpoint.turn_id != claim.turn_id:
            return RestoredTurn(claim.history, state.next_turn())
        if checkpoint.batch is None:
            return RestoredTurn(claim.history, state)
        batch = read_batch(claim.history[-1].calls, checkpoint.batch)
        return await self._take_up(claim, state, batch, is_ending=is_ending)

    async def abandon(self, claim: Claim) -> tuple[RestoredTurn, list[ReceiptId]]:
        """A turn that cannot be restored, to be ended; people are to be asked about the effects.

        Its calls keep no results: whoever reads the history next gives them theirs.
        """
        owner = Owner(claim.session_id, claim.epoch)
        left = await self._receipts.abandon_turn(owner, claim.turn_id)
        return RestoredTurn(claim.history, LoopState()), [receipt.id for receipt in left]

    async def _take_up(
        self, claim: Claim, state: LoopState, batch: OpenBatch, *, is_ending: bool
    ) -> RestoredTurn:
        asked = await self._approvals.list_unused(claim.turn_id)
        left = [place for place in range(len(batch.calls)) if place not in batch.done]
        contexts = dict(zip(left, _contexts_of(claim, batch, left), strict=True))
        waiting = [place for place in left if contexts[place].operation_id in asked]
        broken = [place for place in left if place not in waiting]
        calls = [(batch.calls[place], contexts[place]) for place in broken]
        outcome = await self._receipts.recover_batch(calls, self._toolbox.by_name)
        done = dict(batch.done) | {
            place: result
            for place, result in zip(broken, outcome.results, strict=True)
            if result is not None
        }
        if is_ending:
            done |= {place: _end_waiting(batch.calls[place]) for place in waiting}
            waiting = []
        state = replace(state, has_uncertain=state.has_uncertain or bool(outcome.uncertain))
        batch = replace(batch, done=done)
        if waiting and not broken:
            return RestoredTurn(claim.history, state, batch)
        return await self._save(claim, RestoredTurn(claim.history, state, batch), outcome)

    async def _save(
        self, claim: Claim, restored: RestoredTurn, outcome: BatchOutcome
    ) -> RestoredTurn:
        batch = restored.open_batch
        assert batch is not None, "a batch was taken up"
        is_open = len(batch.done) < len(batch.calls)
        results = () if is_open else (Message("tool", _results_of(batch)),)
        save = CheckpointSave(
            session_id=claim.session_id,
            turn_id=claim.turn_id,
            epoch=claim.epoch,
            messages=results,
            state=restored.state.to_json(),
            batch=describe_open_batch(batch) if is_open else None,
            entries=outcome.entries,
            uncertain=outcome.uncertain,
            reply_to=claim.reply_to,
        )
        await self._checkpoints.save("batch.close", save)
        history = (*restored.history, *results)
        return RestoredTurn(history, restored.state, batch if is_open else None)


def _results_of(batch: OpenBatch) -> tuple[ToolResult, ...]:
    return tuple(
        replace(batch.done[place], call_id=call.call_id) for place, call in enumerate(batch.calls)
    )


def _end_waiting(call: ToolCall) -> ToolResult:
    text = "Not run: the turn was ended before it was its time."
    return ToolResult(call.call_id, text, is_error=True)


def identity_of(claim: Claim) -> TurnIdentity:
    """In whose name the turn's calls are made."""
    return TurnIdentity(
        session_id=claim.session_id,
        turn_id=claim.turn_id,
        epoch=claim.epoch,
        mode=claim.mode,
        binding=claim.binding,
        requesters=claim.requesters,
        chapter=claim.chapter,
    )


def _contexts_of(claim: Claim, batch: OpenBatch, places: Sequence[int]) -> list[ToolContext]:
    identity = identity_of(claim)
    return [identity.make_context("", batch.step, place, float("inf")) for place in places]
