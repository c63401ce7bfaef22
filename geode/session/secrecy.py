"""Keeps the service's own secrets out of what tools say: no model and no row sees them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from geode.messages import JsonObject
from geode.steps import Applied, Done, Ending, NotApplied, Tool, ToolContext

TakeOut = Callable[[str], str]
"""Replaces the registered secrets in a text."""


def hide_secrets(tool: Tool, take_out: TakeOut) -> Tool:
    """The same tool, whose words pass through `take_out` before anyone reads them."""

    async def handle(context: ToolContext, arguments: JsonObject) -> Ending:
        return _clean(await tool.handler(context, arguments), take_out)

    return replace(tool, handler=handle)


def _clean(ending: Ending, take_out: TakeOut) -> Ending:
    match ending:
        case Done():
            return replace(ending, text=take_out(ending.text))
        case NotApplied():
            return replace(ending, reason=take_out(ending.reason))
        case Applied():
            return replace(ending, error=take_out(ending.error))
        case _:  # pyright: ignore[reportUnnecessaryComparison] - the gate judges nonsense
            return ending
