"""The seam behind `delegate_task`: a child session that does one task for the turn that asks."""

from __future__ import annotations

from typing import Protocol

from geode.steps import Ending, ToolContext

CHILD_S_MAX = 900.0
"""How long a child may work, whatever its parent has left."""
DELEGATE_TASK = "delegate_task"
"""The tool's name; a child never has it."""


class Delegate(Protocol):
    """Runs children, as the tool sees it."""

    async def run(self, context: ToolContext, prompt: str) -> Ending:
        """Let a child of the calling turn do the task, and end when it has ended.

        The child is named by the call's operation id. Cancelled, it ends the child first.
        """
        ...

    async def has_ended(self, context: ToolContext) -> bool | None:
        """What became of the call's child: True it ran and is over, False it never began."""
        ...
