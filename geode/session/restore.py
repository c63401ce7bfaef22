"""The one restore path: state and history of a claimed turn, its orphan batch closed first."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

from geode.loop.ports import SavedBatch, TurnIdentity
from geode.loop.state import LoopState
from geode.messages import JsonObject, JsonValue, Message, ReceiptId, ToolCall
from geode.records.checkpoint import CheckpointSave, SessionCheckpoint
from geode.records.receipts import EffectReceiptStore
from geode.session.claims import Claim
from geode.session.toolbox import Toolbox
from geode.steps import ToolContext
from geode.store.effects import Owner


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
        toolbox: Toolbox,
    ) -> None:
        self._receipts = receipts
        self._checkpoints = checkpoints
        self._toolbox = toolbox

    async def restore(self, claim: Claim) -> RestoredTurn:
        """The turn's state and history; calls without a stored result are closed, never run again.

        The thread is asked about what cannot be read back, in the same transaction.
        """
        restored = await self._restore(claim)
        state = replace(restored.state, shorten_asked=claim.shorten_asked)
        return replace(restored, state=state)

    async def _restore(self, claim: Claim) -> RestoredTurn:
        checkpoint = claim.checkpoint
        if checkpoint is None:
            return RestoredTurn(claim.history, LoopState())
        state = LoopState.from_json(checkpoint.state)
        if checkpoint.turn_id != claim.turn_id:
            return RestoredTurn(claim.history, state.next_turn())
        if checkpoint.batch is None:
            return RestoredTurn(claim.history, state)
        return await self._close_batch(claim, state, checkpoint.batch)

    async def abandon(self, claim: Claim) -> tuple[RestoredTurn, list[ReceiptId]]:
        """A turn that cannot be restored, to be ended; people are to be asked about the effects.

        Its calls keep no results: whoever reads the history next gives them theirs.
        """
        owner = Owner(claim.session_id, claim.epoch)
        left = await self._receipts.abandon_turn(owner, claim.turn_id)
        return RestoredTurn(claim.history, LoopState()), [receipt.id for receipt in left]

    async def _close_batch(self, claim: Claim, state: LoopState, batch: JsonObject) -> RestoredTurn:
        calls = _calls_of(claim, batch)
        outcome = await self._receipts.recover_batch(calls, self._toolbox.by_name)
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
            uncertain=outcome.uncertain,
            reply_to=claim.reply_to,
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


def _calls_of(claim: Claim, batch: JsonObject) -> list[tuple[ToolCall, ToolContext]]:
    proposed = claim.history[-1].calls
    identity = identity_of(claim)
    step = cast("int", batch["step"])
    positions = cast("list[int]", batch["positions"])
    return [
        (proposed[place], identity.make_context("", step, index, float("inf")))
        for index, place in enumerate(positions)
    ]
