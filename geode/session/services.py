"""What all sessions of a process share, and the pair that one turn is run with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from geode.attended import time_limit_s
from geode.delegation import DELEGATE_TASK
from geode.gate.executor import GateParts, ToolExecutor
from geode.gate.policy import Grants, project_plan
from geode.gate.processor import ToolCallProcessor
from geode.hooks.observers import HookSystem
from geode.llm.routes import ModelRoute
from geode.loop.agent_loop import AgenticLoop
from geode.loop.limits import LoopLimits
from geode.loop.ports import Progress, SavedBatch, ToolOutcome
from geode.loop.prompt import PromptSources, date_in_zone, day_start_us
from geode.loop.run import LoopParts
from geode.messages import UNATTENDED, Mode, ReceiptId, ToolCall
from geode.ports import Clock
from geode.records.checkpoint import CheckpointSave, SessionCheckpoint
from geode.records.receipts import EffectReceiptStore
from geode.session.batches import describe_batch
from geode.session.claims import Claim
from geode.session.histories import Histories
from geode.session.leases import Lease
from geode.session.parents import ParentTurn, ParentTurns
from geode.session.pictures import SessionPictures
from geode.session.plan import TaskGraphs
from geode.session.restore import identity_of
from geode.session.secrecy import TakeOut
from geode.session.shelf import Shelf
from geode.session.toolbox import Toolbox
from geode.settings import Binding, Profile, Settings
from geode.steps import BoundToolPlan, ToolContext
from geode.store.database import Store
from geode.store.turns import sum_cost_since


@dataclass(frozen=True, slots=True)
class Session:
    """One turn's pair, and what its gate left uncertain."""

    executor: ToolExecutor
    loop: AgenticLoop
    uncertain: list[ReceiptId] = field(default_factory=list[ReceiptId])
    """Effects whose outcome nobody knows, as they come up."""
    parent: ParentTurn | None = None
    """What its children find while the turn runs; None: it can begin none."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a child has in the place of what its binding would give it."""

    plan: BoundToolPlan
    limits: LoopLimits
    manner: str
    """In the place of the platform's manner."""


@dataclass(slots=True)
class SharedServices:
    """Built once per process; every session of it shares these. Only the settings ever change."""

    store: Store
    clock: Clock
    settings: Settings
    route: ModelRoute
    toolbox: Toolbox
    gate: GateParts
    receipts: EffectReceiptStore
    checkpoints: SessionCheckpoint
    identity: str
    """The chosen sections of GEODE.md."""
    state_folder: Path
    histories: Histories
    shelf: Shelf
    take_out: TakeOut = str
    """Replaces registered secrets in what comes in."""
    parents: ParentTurns = field(default_factory=ParentTurns)
    task_graphs: TaskGraphs = field(default_factory=TaskGraphs)
    events: HookSystem = field(default_factory=HookSystem)
    _plans: dict[tuple[Mode, str], BoundToolPlan] = field(
        default_factory=dict[tuple[Mode, str], BoundToolPlan]
    )

    def follow(self, settings: Settings) -> None:
        """Let the next turns run by these settings."""
        self.settings = settings
        self._plans.clear()

    def find_binding(self, key: str) -> Binding | None:
        """The configured binding a session belongs to; None when the operator removed it."""
        return next((each for each in self.settings.bindings if each.key == key), None)

    async def read_day_left(self, binding: Binding | None) -> int | None:
        """What is left today of the profile's cost limit, in micro-USD; None: it has none."""
        profile = self._profile(binding.profile) if binding is not None else None
        if profile is None or profile.cost_usd_per_day is None:
            return None
        names = [each.key for each in self.settings.bindings if each.profile == profile.name]
        since_us = day_start_us(self.clock.now_us(), self.settings.agent.timezone)
        spent = await self.store.read(lambda tx: sum_cost_since(tx, names, since_us))
        return max(0, int(profile.cost_usd_per_day * 1_000_000) - spent)

    def create_session(
        self,
        mode: Mode,
        claim: Claim,
        lease: Lease,
        progress: Progress,
        *,
        day_left_micro_usd: int | None = None,
        bounds: Bounds | None = None,
    ) -> Session:
        """The executor and the loop of one turn, bound to its mode, profile, lease and budget."""
        binding = self.find_binding(claim.binding)
        # Nobody can be asked for a child: it is unattended whatever its parent is.
        approvers = binding.approvers if binding is not None and bounds is None else ()
        executor = ToolExecutor(self.gate, lease.is_held, approvers)
        uncertain: list[ReceiptId] = []
        if bounds is None:
            limits = self._limits(binding, day_left_micro_usd)
            bounds = Bounds(self.plan_for(mode, binding), limits, _manner_of(claim))
        self.task_graphs.open_turn(claim.session_id, claim.turn_id, progress.plan)
        parent = self._enter_parent(claim, lease, bounds, progress)
        parts = LoopParts(
            adapter=self.route.adapter,
            model=self.route.model,
            plan=bounds.plan,
            processor=_Processor(ToolCallProcessor(executor), uncertain, parent),
            records=_Records(self.checkpoints, claim, uncertain),
            identity=identity_of(claim),
            sources=self._sources(bounds.manner),
            limits=bounds.limits,
            progress=progress,
            clock=self.clock,
            pictures=self._pictures(claim),
            read_cost_elsewhere=parent.read_cost if parent is not None else int,
        )
        return Session(executor, AgenticLoop(parts), uncertain, parent)

    def _enter_parent(
        self, claim: Claim, lease: Lease, bounds: Bounds, progress: Progress
    ) -> ParentTurn | None:
        if DELEGATE_TASK not in bounds.plan.by_name:
            return None
        spent = claim.children_micro_usd
        parent = ParentTurn(claim, lease, bounds.plan, bounds.limits, progress, spent)
        self.parents.enter(parent)
        return parent

    def _pictures(self, claim: Claim) -> SessionPictures | None:
        if not self.route.takes_pictures:
            return None
        return SessionPictures(self.shelf.kept(claim.session_id))

    def plan_for(self, mode: Mode, binding: Binding | None) -> BoundToolPlan:
        """The tools of a mode under a binding's profile; built once per change and shared."""
        profile = binding.profile if binding is not None else ""
        key, generation = (mode, profile), self.toolbox.generation
        known = self._plans.get(key)
        if known is not None and known.generation == generation:
            return known
        grants: Grants | None = self._profile(profile) if binding is not None else None
        self._plans[key] = project_plan(
            self.toolbox.tools,
            mode,
            grants,
            generation=generation,
            absences=self.toolbox.absences,
        )
        return self._plans[key]

    def _profile(self, name: str) -> Profile | None:
        return self.settings.profile(name) if self.settings.has_profile(name) else None

    def _limits(self, binding: Binding | None, day_left: int | None) -> LoopLimits:
        limits = self.settings.limits
        turn_cap = limits.cost_usd_per_turn
        caps = [] if turn_cap is None else [int(turn_cap * 1_000_000)]
        caps += [] if day_left is None else [day_left]
        return LoopLimits(
            steps_max=limits.steps_max,
            time_budget_s=time_limit_s(binding),
            cost_micro_usd_max=min(caps, default=None),
            context_tokens_max=self.route.context_tokens_max,
            output_tokens_max=self.route.output_tokens_max,
        )

    def _sources(self, manner: str) -> PromptSources:
        zone = self.settings.agent.timezone
        return PromptSources(
            identity=self.identity,
            agent_name=self.settings.agent.name,
            platform_manner=manner,
            today=date_in_zone(self.clock.now_us(), zone),
            timezone=zone,
        )


def _manner_of(claim: Claim) -> str:
    place = f"You answer in a {claim.thread.platform} thread that several people may read. "
    if claim.mode not in UNATTENDED:
        place = "You answer one person, who sits at the terminal of this machine. "
    return (
        f"{place}Write Markdown; the channel renders it. Be short. "
        "To send a file of the workspace, link its relative path, as in "
        "[Report](report.pdf): it is then attached."
    )


class _Processor:
    """The gate's processor, which also remembers what was left uncertain, by children too."""

    def __init__(
        self, processor: ToolCallProcessor, uncertain: list[ReceiptId], parent: ParentTurn | None
    ) -> None:
        self._processor = processor
        self._uncertain = uncertain
        self._parent = parent

    async def process(
        self,
        calls: Sequence[ToolCall],
        plan: BoundToolPlan,
        make_context: Callable[[int], ToolContext],
    ) -> ToolOutcome:
        outcome = await self._processor.process(calls, plan, make_context)
        if self._parent is not None:
            left = self._parent.take_uncertain()
            outcome = replace(outcome, uncertain=(*outcome.uncertain, *left))
        self._uncertain += outcome.uncertain
        return outcome


class _Records:
    """The loop's records: each batch in one commit, before any tool of it runs."""

    def __init__(
        self,
        checkpoints: SessionCheckpoint,
        claim: Claim,
        uncertain: list[ReceiptId],
    ) -> None:
        self._checkpoints = checkpoints
        self._claim = claim
        self._uncertain = uncertain

    async def save_batch(self, batch: SavedBatch) -> None:
        save = CheckpointSave(
            session_id=self._claim.session_id,
            turn_id=self._claim.turn_id,
            epoch=self._claim.epoch,
            messages=batch.messages,
            state=batch.state.to_json(),
            batch=describe_batch(batch),
            entries=batch.entries,
            uncertain=tuple(self._uncertain),
            reply_to=self._claim.reply_to,
        )
        await self._checkpoints.save("batch", save)
