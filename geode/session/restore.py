"""The one restore path: state and history of a claimed turn, its orphan batch closed first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from geode.loop.ports import SavedBatch, TurnIdentity
from geode.loop.state import LoopState
from geode.messages import JsonObject, JsonValue, Message, ReceiptId, ToolCall
from geode.records.checkpoint import CheckpointSave, SessionCheckpoint
from geode.records.outcomes import BatchOutcome
from geode.records.receipts import EffectReceiptStore
from geode.reply import sentences
from geode.session.claims import Claim
from geode.steps import Tool, ToolContext
from geode.store.effects import Owner
from geode.store.outbox import NewOutbox


@dataclass(frozen=True, slots=True)
class RestoredTurn:
    """What a turn goes on from."""

    history: tuple[Message, ...]
    state: LoopState


class TurnRestorer:
    """Brings a claimed turn back to where its last commit left it."""

    def __init__(
        self,
        receipts: EffectReceiptStore,
        checkpoints: SessionCheckpoint,
        catalogue: Mapping[str, Tool],
    ) -> None:
        self._receipts = receipts
        self._checkpoints = checkpoints
        self._catalogue = catalogue

    async def restore(self, claim: Claim) -> RestoredTurn:
        """The turn's state and history; calls without a stored result are closed, never run again.

        What cannot be read back is told to the thread in the same transaction.
        """
        checkpoint = claim.checkpoint
        if checkpoint is None:
            return RestoredTurn(claim.history, LoopState())
        state = LoopState.from_json(checkpoint.state)
        if checkpoint.turn_id != claim.turn_id:
            return RestoredTurn(claim.history, state.next_turn())
        if checkpoint.batch is None:
            return RestoredTurn(claim.history, state)
        return await self._close_batch(claim, state, checkpoint.batch)

    async def abandon(self, claim: Claim) -> tuple[RestoredTurn, list[tuple[str, ReceiptId]]]:
        """A turn that cannot be restored, to be ended; what it left uncertain is to be told.

        Its calls keep no results: whoever reads the history next gives them theirs.
        """
        owner = Owner(claim.session_id, claim.epoch)
        left = await self._receipts.abandon_turn(owner, claim.turn_id)
        uncertain = [(receipt.tool, receipt.id) for receipt in left]
        return RestoredTurn(claim.history, LoopState()), uncertain

    async def _close_batch(self, claim: Claim, state: LoopState, batch: JsonObject) -> RestoredTurn:
        calls = _calls_of(claim, batch)
        outcome = await self._receipts.recover_batch(calls, self._catalogue)
        state = replace(state, has_uncertain=state.has_uncertain or bool(outcome.uncertain))
        results = Message("tool", outcome.results)
        save = CheckpointSave(
            session_id=claim.session_id,
            turn_id=claim.turn_id,
            epoch=claim.epoch,
            messages=(results,),
            state=state.to_json(),
            batch=None,
            entries=outcome.entries,
            notices=tell_uncertain(claim, _names(calls, outcome)),
        )
        await self._checkpoints.save("batch.close", save)
        return RestoredTurn((*claim.history, results), state)


def describe_batch(batch: SavedBatch) -> JsonObject:
    """The JSON that names a batch's calls by their place in the proposing message."""
    proposed = batch.messages[-1].calls
    positions: list[JsonValue] = [
        next(place for place, known in enumerate(proposed) if known is call) for call in batch.calls
    ]
    return {"step": batch.step, "positions": positions}


def identity_of(claim: Claim) -> TurnIdentity:
    """In whose name the turn's calls are made."""
    return TurnIdentity(
        session_id=claim.session_id,
        turn_id=claim.turn_id,
        epoch=claim.epoch,
        mode=claim.mode,
        binding=claim.binding,
        requesters=claim.requesters,
    )


def tell_uncertain(
    claim: Claim, uncertain: Sequence[tuple[str, ReceiptId]]
) -> tuple[NewOutbox, ...]:
    """One sentence per uncertain effect; its episode makes sure it is said once."""
    return tuple(
        NewOutbox(
            "uncertain",
            receipt_id,
            sentences.describe_uncertain(tool, receipt_id),
            claim.reply_to,
            claim.turn_id,
        )
        for tool, receipt_id in uncertain
    )


def _names(
    calls: list[tuple[ToolCall, ToolContext]], outcome: BatchOutcome
) -> list[tuple[str, ReceiptId]]:
    names = {context.operation_id: call.name for call, context in calls}
    return [(names[receipt_id], receipt_id) for receipt_id in outcome.uncertain]


def _calls_of(claim: Claim, batch: JsonObject) -> list[tuple[ToolCall, ToolContext]]:
    proposed = claim.history[-1].calls
    identity = identity_of(claim)
    step = cast("int", batch["step"])
    positions = cast("list[int]", batch["positions"])
    return [
        (proposed[place], identity.make_context("", step, index, float("inf")))
        for index, place in enumerate(positions)
    ]
