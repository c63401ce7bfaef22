"""One call from proposal to permission: admitted, asked of hooks and people, or refused."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TypeAlias

from geode.gate.admit import Admitted, Checks, Refusal, admit, check_downgrade
from geode.gate.after import show
from geode.gate.approvals import Approvals, describe_request, with_approval
from geode.gate.policy import deny_unapproved
from geode.gate.trace import Answer, Stage, TraceStep
from geode.hooks.decisions import AskPerson, Block, Rewrite
from geode.hooks.registry import HookRegistry
from geode.messages import JsonObject, ToolCall
from geode.steps import BoundToolPlan, ToolContext
from geode.store.approvals import NewApproval


@dataclass(frozen=True, slots=True)
class Waiting:
    """A call that runs once a person said yes; nothing of it has begun."""

    new: NewApproval
    trace: tuple[TraceStep, ...]


Review: TypeAlias = Admitted | Waiting | Refusal


@dataclass(frozen=True, slots=True)
class Reviewer:
    """Takes the calls of one session through every step that comes before their effect."""

    checks: Checks
    hooks: HookRegistry
    approvals: Approvals
    approvers: Collection[str]
    """Who may say yes here; nobody: every question is answered with no."""

    async def review(self, call: ToolCall, plan: BoundToolPlan, context: ToolContext) -> Review:
        """Whether the call may run, and as what; its trace says which rule answered what."""
        admitted = admit(call, plan, context, self.checks, self.approvers)
        why = "The profile grants this tool only with an approval."
        if isinstance(admitted, Admitted) and self.hooks.has_hooks:
            admitted, why = await self._ask_hooks(admitted, plan, why)
        if isinstance(admitted, Admitted) and context.is_resumed:
            admitted = await self._recall(admitted)
        if isinstance(admitted, Refusal) or not admitted.must_ask:
            return admitted
        return await self._ask_people(admitted, why)

    async def _recall(self, admitted: Admitted) -> Admitted | Refusal:
        """What people were asked about stays theirs to decide, whatever the profile says by now."""
        said = await self.approvals.recall(admitted.context.operation_id)
        if isinstance(said, Refusal):
            return _refuse(admitted, "approval", said.rule, said.sentence)
        return replace(admitted, must_ask=admitted.must_ask or said)

    async def _ask_hooks(
        self, admitted: Admitted, plan: BoundToolPlan, why: str
    ) -> tuple[Admitted | Refusal, str]:
        answer = await self.hooks.pre_tool_use(show(admitted))
        match answer:
            case Block():
                rule = "hook.failed" if answer.has_failed else "hook.blocked"
                sentence = f"Not run: the hook {answer.hook} said no. {answer.reason}"
                return _refuse(admitted, "pre_tool_use", rule, sentence), why
            case Rewrite():
                return self._rewrite(admitted, plan, answer.arguments, answer.hook), why
            case AskPerson():
                if answer.arguments is not None:
                    again = self._rewrite(admitted, plan, answer.arguments, answer.hook)
                    if isinstance(again, Refusal):
                        return again, why
                    admitted = again
                asked = admitted.pass_step("pre_tool_use", "hook.asks", "ask", answer.hook)
                return replace(asked, must_ask=True), f"The hook {answer.hook}: {answer.reason}"
            case _:
                return admitted.pass_step("pre_tool_use", "hook.proceeds"), why

    def _rewrite(
        self, before: Admitted, plan: BoundToolPlan, arguments: JsonObject, hook: str
    ) -> Admitted | Refusal:
        """The rewritten call through all the steps again; what asked before still asks."""
        passed = before.pass_step("pre_tool_use", "hook.rewrites", "rewrite", hook)
        call = replace(before.call, arguments=arguments, raw="", fault="")
        after = admit(call, plan, before.context, self.checks, self.approvers)
        trace = (*passed.trace, *after.trace)
        if isinstance(after, Refusal):
            return replace(after, trace=trace)
        if check_downgrade(before.tool, after.tool):
            sentence = "Not run: a hook's rewrite would have made it a lesser call."
            return _refuse(passed, "middleware", "middleware.downgrade", sentence)
        return replace(after, must_ask=before.must_ask or after.must_ask, trace=trace)

    async def _ask_people(self, admitted: Admitted, why: str) -> Review:
        if not self.approvers:
            denied = deny_unapproved(admitted.tool.name)
            return _refuse(admitted, "approval", denied.rule, denied.sentence)
        new = describe_request(admitted, why)
        if new is None:
            sentence = "A number in the arguments is out of range."
            return _refuse(admitted, "approval", "schema.not_canonical", sentence)
        found = await self.approvals.find(new)
        if isinstance(found, Refusal):
            return _refuse(admitted, "approval", found.rule, found.sentence)
        if found is not None:
            return with_approval(admitted, new, found)
        if self.hooks.has_hooks:
            answer = await self.hooks.permission_request(show(admitted))
            if isinstance(answer, Block):
                rule = "hook.failed" if answer.has_failed else "hook.denied"
                sentence = f"Not run: the hook {answer.hook} said no. {answer.reason}"
                return _refuse(admitted, "permission_request", rule, sentence)
        return Waiting(new, (*admitted.trace, TraceStep("approval", "ask", "approval.pending")))


def _refuse(admitted: Admitted, stage: Stage, rule: str, sentence: str) -> Refusal:
    answer: Answer = "refuse"
    return Refusal(rule, sentence, (*admitted.trace, TraceStep(stage, answer, rule)))
