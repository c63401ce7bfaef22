"""What the policy would say now of a past call: asked for comparison only, nothing runs by it."""

from __future__ import annotations

from geode.gate.policy import Deny, Verdict, decide, find_tool
from geode.messages import Mode, SessionId, TurnId
from geode.session.services import SharedServices
from geode.steps import ToolContext


def decide_now(services: SharedServices, tool: str, mode: Mode, binding_key: str) -> Verdict:
    """The present answer of scope and policy for a tool of that name."""
    binding = services.find_binding(binding_key)
    plan = services.plan_for(mode, binding)
    found = find_tool(plan, tool)
    if isinstance(found, Deny):
        return found
    nowhere = ToolContext(SessionId(""), TurnId(""), 0, 0, 0, mode, binding_key, "")
    return decide(plan, found, nowhere, binding.approvers if binding is not None else ())
