"""Decides which tools a step has and which calls may run: pure, total, deny by default."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from geode.messages import UNATTENDED, Mode
from geode.steps import Absence, BoundToolPlan, Effect, Tool, ToolContext

ALWAYS_REMOVED = {
    Mode.REPL: frozenset[str](),
    Mode.IPC: frozenset[str](),
    Mode.DAEMON: frozenset({"run_bash", "delegate_task", "computer"}),
    Mode.SCHEDULER: frozenset({"run_bash", "delegate_task", "computer", "schedule_job"}),
    Mode.HEADLESS: frozenset({"run_bash", "delegate_task", "computer", "schedule_job"}),
}
"""What a mode takes out by name, whatever the profile grants; administrative tools go by effect."""

_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")


@dataclass(frozen=True, slots=True)
class Allow:
    """The call may run now."""

    rule: str


@dataclass(frozen=True, slots=True)
class Ask:
    """The call may run once a person said yes."""

    rule: str


@dataclass(frozen=True, slots=True)
class Deny:
    """The call does not run; the sentence is for the model and for people."""

    rule: str
    sentence: str


Verdict: TypeAlias = Allow | Ask | Deny


class Grants(Protocol):
    """What the gate reads of a profile."""

    @property
    def tools(self) -> Collection[str]:
        """Tools granted by exact name."""
        ...

    @property
    def ask(self) -> Collection[str]:
        """Tools granted by exact name, each call with an approval."""
        ...

    @property
    def grants_all(self) -> bool:
        """Every tool, those with an effect only with an approval; means nothing when unattended."""
        ...


def project_plan(
    catalogue: Sequence[Tool],
    mode: Mode,
    grants: Grants | None,
    *,
    generation: int = 0,
    absences: Mapping[str, Absence] | None = None,
) -> BoundToolPlan:
    """The tools of a step: what the mode leaves and the profile grants, in catalogue order.

    Without grants the plan is empty. What is taken out stands in `removed` with its rule, and so
    do the `absences`: tools that cannot be had now. A tool that is offered is never absent.
    """
    seen = Counter(tool.name for tool in catalogue)
    kept: list[Tool] = []
    asks: set[str] = set()
    removed: dict[str, str] = {}
    for tool in catalogue:
        rule = (
            _catalogue_rule(tool, is_twice=seen[tool.name] > 1)
            or _mode_rule(tool, mode)
            or _grant_rule(tool.name, mode, grants)
        )
        if rule:
            removed[tool.name] = rule
            continue
        kept.append(tool)
        if grants is not None and _must_ask(tool, mode, grants):
            asks.add(tool.name)
    absent = {name: why for name, why in (absences or {}).items() if name not in seen}
    for name, why in absent.items():
        removed[name] = _name_rule(name, mode, grants) or why.rule
    return BoundToolPlan(tuple(kept), generation, frozenset(asks), mode, removed, absent)


def _catalogue_rule(tool: Tool, *, is_twice: bool) -> str:
    if _NAME.fullmatch(tool.name) is None:
        return "catalogue.invalid_name"
    if is_twice:
        return "catalogue.name_twice"
    if tool.policy.effect is not Effect.READ and tool.resources is None:
        return "catalogue.no_resources"
    return ""


def _mode_rule(tool: Tool, mode: Mode) -> str:
    if tool.name in ALWAYS_REMOVED[mode]:
        return "mode.removed"
    if mode in UNATTENDED and tool.policy.effect is Effect.ADMINISTRATIVE:
        return "mode.removed"
    return "" if mode in tool.policy.modes else "mode.unavailable"


def _name_rule(name: str, mode: Mode, grants: Grants | None) -> str:
    removed = "mode.removed" if name in ALWAYS_REMOVED[mode] else ""
    return removed or _grant_rule(name, mode, grants)


def _grant_rule(name: str, mode: Mode, grants: Grants | None) -> str:
    if grants is None:
        return "policy.missing"
    if name in grants.tools or name in grants.ask:
        return ""
    if grants.grants_all and mode not in UNATTENDED:
        return ""
    return "profile.not_granted"


def _must_ask(tool: Tool, mode: Mode, grants: Grants) -> bool:
    if tool.name in grants.ask:
        return True
    if tool.name in grants.tools:
        return False
    return tool.policy.effect is not Effect.READ and mode not in UNATTENDED


def find_tool(plan: BoundToolPlan, name: str) -> Tool | Deny:
    """The plan's tool of exactly this name, or why there is none."""
    tool = plan.by_name.get(name)
    if tool is not None:
        return tool
    rule = plan.removed.get(name, "scope.unknown_tool")
    absence = plan.absences.get(name)
    if absence is not None and absence.rule == rule:
        return Deny(rule, absence.sentence)
    return Deny(rule, _explain_absence(plan, name, rule))


def decide(
    plan: BoundToolPlan, tool: Tool, context: ToolContext, approvers: Collection[str] = ()
) -> Verdict:
    """Whether a call of this tool may run for this context; anything inconsistent is denied."""
    if plan.mode is not context.mode:
        return Deny(
            "policy.mode_mismatch", f"{tool.name} was offered for another mode than this one."
        )
    if plan.by_name.get(tool.name) is not tool or context.mode not in tool.policy.modes:
        return Deny("policy.not_in_plan", f"{tool.name} does not belong to this step.")
    if tool.policy.approval == "none" and tool.name not in plan.asks:
        return Allow("profile.granted")
    if context.mode in UNATTENDED and not approvers:
        return deny_unapproved(tool.name)
    return Ask("policy.ask")


def deny_unapproved(name: str) -> Deny:
    """What becomes of an Ask where nobody can answer it."""
    return Deny(
        "ask.no_approver",
        f"{name} needs a person's approval for each call, and nobody is named who could give it.",
    )


def _explain_absence(plan: BoundToolPlan, name: str, rule: str) -> str:
    shown = name[:100].encode("utf-8", "replace").decode()
    match rule:
        case "mode.removed":
            return (
                f"{shown} is not available {_PLACES[plan.mode]}: nobody sits beside it to check "
                f"what it would do, so it is always taken out and no setting grants it."
            )
        case "mode.unavailable":
            return f"{shown} is not made for use {_PLACES[plan.mode]}."
        case "profile.not_granted":
            return (
                f"{shown} is not granted {_PLACES[plan.mode]}; "
                f"an operator can name it in the profile's tools."
            )
        case "policy.missing":
            return f"{shown} is not granted: there is no valid profile, so nothing is."
        case "scope.unknown_tool":
            known = ", ".join(tool.name for tool in plan.tools)[:400] or "none"
            return f"There is no tool named {shown!r} in this step; available: {known}."
        case _:
            return f"{shown} is declared wrongly and was left out ({rule})."


_PLACES = {
    Mode.REPL: "at this terminal",
    Mode.IPC: "at this terminal",
    Mode.DAEMON: "in a chat thread",
    Mode.SCHEDULER: "in a scheduled job",
    Mode.HEADLESS: "where no person takes part",
}
