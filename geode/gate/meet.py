"""The meet of two policies: what both allow, so that a child session can only shrink; pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from geode.gate.policy import Grants, project_plan
from geode.messages import UNATTENDED, Mode
from geode.steps import BoundToolPlan, Effect, Tool

CHILD_MODE = Mode.HEADLESS
"""How every child runs: nobody can be asked, and every mode's removals are among its own."""


@dataclass(frozen=True, slots=True)
class Share:
    """What a policy grants, tool by tool; a name stands in one of the sets at most.

    From most to least a tool is granted, granted by its effect, granted with an approval, or not.
    """

    tools: frozenset[str] = frozenset()
    ask: frozenset[str] = frozenset()
    by_effect: frozenset[str] = frozenset()
    """Reads are granted, everything else asks."""
    grants_all: bool = False
    """Tools that are not named are granted by their effect."""
    is_unattended: bool = False
    """Nobody sits beside it: what asks is denied."""
    cost_micro_usd_max: int | None = None


def share_of(
    grants: Grants, *, is_unattended: bool = False, cost_micro_usd_max: int | None = None
) -> Share:
    """The share that a profile stands for; a name that it grants twice asks."""
    ask = frozenset(grants.ask)
    return Share(
        tools=frozenset(grants.tools) - ask,
        ask=ask,
        grants_all=grants.grants_all,
        is_unattended=is_unattended,
        cost_micro_usd_max=cost_micro_usd_max,
    )


def share_of_plan(plan: BoundToolPlan, cost_micro_usd_max: int | None = None) -> Share:
    """The share that a step's plan stands for: exactly its tools."""
    asking = {tool.name for tool in plan.tools if tool.policy.approval == "ask"} | plan.asks
    return Share(
        tools=frozenset(plan.by_name) - asking,
        ask=frozenset(plan.by_name) & asking,
        is_unattended=plan.mode in UNATTENDED,
        cost_micro_usd_max=cost_micro_usd_max,
    )


def meet(one: Share, other: Share) -> Share:
    """What both grant: of two answers about a tool the lesser one, of two limits the smaller."""
    names = _names(one) | _names(other)
    levels = {name: min(_level(one, name), _level(other, name)) for name in names}
    grants_all = one.grants_all and other.grants_all
    costs = [each.cost_micro_usd_max for each in (one, other)]
    return Share(
        tools=frozenset(name for name, level in levels.items() if level == _GRANTED),
        ask=frozenset(name for name, level in levels.items() if level == _ASKS),
        by_effect=frozenset(
            name for name, level in levels.items() if level == _BY_EFFECT and not grants_all
        ),
        grants_all=grants_all,
        is_unattended=one.is_unattended or other.is_unattended,
        cost_micro_usd_max=min((cost for cost in costs if cost is not None), default=None),
    )


def project_child(parent: BoundToolPlan, share: Share, refused: Collection[str]) -> BoundToolPlan:
    """The plan of a child of a step with this plan: never a tool that the parent's lacks.

    `share` is the child's own policy; `refused` names what a child never has. Definitions are the
    parent's own, so that none changes in between.
    """
    own = _resolve(meet(share_of_plan(parent), share), parent.tools)
    tools = tuple(tool for tool in parent.tools if tool.name not in refused)
    plan = project_plan(
        tools, CHILD_MODE, own, generation=parent.generation, absences=parent.absences
    )
    removed = {**parent.removed, **dict.fromkeys(refused, "mode.removed"), **plan.removed}
    return replace(plan, removed={k: v for k, v in removed.items() if k not in plan.by_name})


def _resolve(share: Share, tools: Sequence[Tool]) -> Share:
    """The same with every answer by effect written out for these tools."""
    reads = {tool.name for tool in tools if tool.policy.effect is Effect.READ}
    by_effect = {tool.name for tool in tools if _level(share, tool.name) == _BY_EFFECT}
    return replace(
        share,
        tools=share.tools | (by_effect & reads),
        ask=share.ask | (by_effect - reads),
        by_effect=frozenset(),
        grants_all=False,
    )


_NOT, _ASKS, _BY_EFFECT, _GRANTED = range(4)


def _names(share: Share) -> frozenset[str]:
    return share.tools | share.ask | share.by_effect


def _level(share: Share, name: str) -> int:
    if name in share.ask:
        return _ASKS
    if name in share.tools:
        return _GRANTED
    return _BY_EFFECT if name in share.by_effect or share.grants_all else _NOT
