"""A worker process driven step by step: it claims, saves, acts, ends, delivers, freezes and dies.

Every step is the code that runs in production; only the order is the test's.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from fakes.gate_room import make_tool
from fakes.loopback import LoopbackChannel, LoopbackPlatform
from fakes.scripted_model import call
from fakes.spine_room import SpineRoom, Worker

from geode.loop.ports import SavedBatch
from geode.loop.state import LoopState, TurnEnd
from geode.messages import (
    JsonObject,
    Message,
    Part,
    Place,
    ProgressStep,
    SessionId,
    TerminationReason,
    ToolCall,
)
from geode.records.checkpoint import CheckpointSave
from geode.session.batches import describe_batch
from geode.session.claims import Claim, claim_session
from geode.session.leases import Lease
from geode.session.restore import identity_of
from geode.session.services import Session
from geode.steps import Done, Effect, Ending, Tool, ToolContext
from geode.turn import ATTEMPTS_MAX, FinishedTurn


class DeadError(BaseException):
    """The process is gone: no boundary may see it."""


class Trap:
    """Kills the process at the next pass of a named point."""

    def __init__(self) -> None:
        self.point = ""

    def hit(self, name: str) -> None:
        """Die when the trap is set here."""
        if self.point and name.startswith(self.point):
            self.point = ""
            raise DeadError(name)


class World:
    """What effects did outside, counted by operation."""

    def __init__(self) -> None:
        self.done: Counter[str] = Counter()
        self.moods: list[str] = []
        """How the next effects go: `done`, `lost` (acted, no answer), `unborn` (did not act)."""

    def tools(self) -> tuple[Tool, ...]:
        """An effect that cannot be read back, and one that can."""
        parcel = make_tool("parcel", Effect.COMMUNICATE, self._act)
        note = make_tool("note", Effect.MUTATE, self._act, reconcile=self._has)
        return parcel.tool, note.tool

    async def _act(self, context: ToolContext, arguments: JsonObject) -> Ending:
        mood = self.moods.pop() if self.moods else "done"
        if mood == "unborn":
            raise OSError("cut before it did anything")
        self.done[context.operation_id] += 1
        if mood == "lost":
            raise OSError("cut after it did")
        return Done("done")

    async def _has(self, context: ToolContext, arguments: JsonObject) -> bool | None:
        return self.done[context.operation_id] > 0


class PausingChannel(LoopbackChannel):
    """A channel whose answer to a send can be held back after the platform took the message."""

    def __init__(self, platform: LoopbackPlatform) -> None:
        super().__init__(platform)
        self.is_paused = False
        self.taken, self.resume = asyncio.Event(), asyncio.Event()

    async def send(self, place: Place, part: Part, key: str) -> str:
        message_id = await super().send(place, part, key)
        if self.is_paused:
            self.taken.set()
            await self.resume.wait()
        return message_id


@dataclass
class Held:
    """A turn this process believes to hold."""

    claim: Claim
    state: LoopState
    session: Session
    lease: Lease
    history: tuple[Message, ...]
    """What is stored of the chapter."""
    unsaved: tuple[Message, ...] = ()
    batch: tuple[ToolCall, ...] = ()
    """Saved and not run yet."""

    @property
    def is_poisoned(self) -> bool:
        """Tried too often to be run again."""
        return self.claim.attempts > ATTEMPTS_MAX


class _Silent:
    def step(self, phase: str, tools: tuple[str, ...] = ()) -> None:
        pass

    def note(self, sentence: str) -> None:
        pass

    def plan(self, steps: tuple[ProgressStep, ...]) -> None:
        pass


@dataclass
class Process:
    """One worker with everything it holds in memory."""

    room: SpineRoom
    name: str
    trap: Trap = field(default_factory=Trap)
    held: dict[SessionId, Held] = field(default_factory=dict)
    sending: asyncio.Task[None] | None = None
    """A delivery that is frozen in a send."""

    def __post_init__(self) -> None:
        self.channel = PausingChannel(self.room.platform)
        self.worker: Worker = self.room.worker(
            self.name, failpoints=self.trap, channel=self.channel
        )
        self._services = self.worker.runner._services

    async def claim(self, session_id: SessionId) -> Claim | None:
        """Claim the session and restore its turn."""
        terms = self.worker.runner._terms()
        claim = await self.room.store.write(
            "claim", lambda tx: claim_session(tx, session_id, terms)
        )
        if claim is None:
            return None
        assert isinstance(claim, Claim)
        restored = await self.worker.runner._restorer.restore(claim)
        until = self.room.clock.monotonic() + self.worker.leases.lease_s
        lease = Lease(session_id, claim.epoch, until, self.room.clock)
        session = self._services.create_session(claim.mode, claim, lease, _Silent())
        self.held[session_id] = Held(claim, restored.state, session, lease, restored.history)
        return claim

    async def propose(self, held: Held, asked: Sequence[tuple[str, str]]) -> None:
        """Save a batch of calls, each a tool and its text."""
        reply = call(*((tool, {"text": text}) for tool, text in asked)).message
        state = replace(held.state, step=held.state.step + 1)
        batch = SavedBatch(state.step, reply.calls, (*held.unsaved, reply), state, ())
        claim = held.claim
        save = CheckpointSave(
            session_id=claim.session_id,
            turn_id=claim.turn_id,
            epoch=claim.epoch,
            messages=batch.messages,
            state=state.to_json(),
            batch=describe_batch(batch),
            uncertain=tuple(held.session.uncertain),
            reply_to=claim.reply_to,
        )
        await self._services.checkpoints.save("batch", save)
        held.history += batch.messages
        held.state, held.unsaved, held.batch = state, (), reply.calls

    async def act(self, held: Held) -> None:
        """Run the saved batch through the gate; its results stay unsaved."""
        identity, step, calls = identity_of(held.claim), held.state.step, held.batch
        plan = self._services.plan_for(
            held.claim.mode, self._services.find_binding(held.claim.binding)
        )
        deadline = self.room.clock.monotonic() + 60
        results = []
        for position, one in enumerate(calls):
            context = identity.make_context("model", step, position, deadline)
            outcome = await held.session.executor.aexecute(one, plan, context)
            results.append(outcome.result)
            if outcome.uncertain is not None:
                held.session.uncertain.append(outcome.uncertain)
        held.unsaved, held.batch = (Message("tool", tuple(results)),), ()

    async def act_anyway(self, held: Held) -> None:
        """Run the saved batch, or one that never was."""
        held.batch = held.batch or call(("parcel", {"text": "ghost"})).message.calls
        await self.act(held)

    async def finish(self, held: Held, answer: str) -> bool:
        """End the turn with its answer in one transaction."""
        poisoned = held.is_poisoned
        reason = TerminationReason.POISONED if poisoned else TerminationReason.NATURAL
        end = TurnEnd(reason, answer, held.unsaved, held.state, ())
        history = () if poisoned else (*held.history, *held.unsaved)
        finished = FinishedTurn(end, answer, "passed", history)
        more = await self.worker.runner._commit(held.claim, finished, held.session.uncertain)
        del self.held[held.claim.session_id]
        return more

    async def begin_frozen_send(self, session_id: SessionId) -> None:
        """Freeze in the first send of a delivery, after the platform took the message."""
        self.channel.is_paused = True
        self.sending = asyncio.create_task(self.worker.deliver(session_id))
        taken = asyncio.create_task(self.channel.taken.wait())
        await asyncio.wait((self.sending, taken), return_when=asyncio.FIRST_COMPLETED)
        taken.cancel()
        with suppress(asyncio.CancelledError):
            await taken

    async def thaw_send(self) -> None:
        """Let the frozen send have its answer, and what follows from it happen."""
        if self.sending is not None:
            self.channel.is_paused = False
            self.channel.resume.set()
            await self.sending
            self.sending = None

    async def die(self) -> None:
        """Drop everything that is in memory."""
        self.held.clear()
        if self.sending is not None:
            self.sending.cancel()
            with suppress(asyncio.CancelledError):
                await self.sending
            self.sending = None
