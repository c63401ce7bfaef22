"""The decision hooks of the gate, asked in the order of the configuration."""

from __future__ import annotations

from geode.hooks.decisions import (
    EndedCall,
    Keep,
    PermissionRequest,
    PostToolUse,
    PreToolUse,
    Proceed,
    ProposedCall,
)


class HookRegistry:
    """Every decision hook by its event; without any, nothing objects."""

    @property
    def has_hooks(self) -> bool:
        """Whether any is registered, so that the gate of a service without hooks pays nothing."""
        return False

    async def pre_tool_use(self, call: ProposedCall) -> PreToolUse:
        """The first objection, request for approval or rewrite; a hook that fails blocks."""
        del call
        return Proceed()

    async def permission_request(self, call: ProposedCall) -> PermissionRequest:
        """Asked before a person is: a hook may say no in their place, never yes."""
        del call
        return Proceed()

    async def post_tool_use(self, call: EndedCall) -> tuple[PostToolUse, ...]:
        """What is added to the result, in order; or one `Withhold`, also from one that fails."""
        del call
        return (Keep(),)
