"""The story that every crash run tells: two requests, reads, effects, two answers.

The model is a function of the conversation alone, so that it says the same before and after a
crash. The bell is an effect that must not ring twice: every stroke is a line in a file that
nothing else writes, outside everything the service knows.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from geode.llm.routes import ModelRoute
from geode.loop.quoting import is_note
from geode.messages import JsonObject, Message, Mode, Text, ToolCall
from geode.steps import (
    DataClass,
    Done,
    Effect,
    Ending,
    ModelReply,
    SafetyPolicy,
    StepSnapshot,
    StopCause,
    Tool,
    ToolContext,
    Usage,
)

ANSWER_ONE = "The answer to story one."
ANSWER_TWO = "The answer to story two."


class StoryModel:
    """Proposes reads and effects for story one, then answers; answers story two at once."""

    provider = "story"

    async def warm_up(self) -> None:
        """Nothing is to be loaded."""

    async def aclose(self) -> None:
        """Nothing is open."""

    async def acomplete(
        self, step: StepSnapshot, on_delta: Callable[[str], None] | None = None
    ) -> ModelReply:
        """The next move, from the messages since the last request."""
        request, since = _last_request(step.messages)
        rounds = sum(message.role == "tool" for message in since)
        number = step.step
        if "story one" not in request:
            return _reply(Text(ANSWER_TWO))
        if rounds == 0:
            return _reply(
                ToolCall(f"c{number}a", "list_files", {"path": "."}),
                ToolCall(f"c{number}b", "ring_bell", {"note": "first"}),
            )
        if rounds == 1:
            return _reply(
                ToolCall(f"c{number}a", "write_file", {"path": "a.txt", "content": "kept"}),
                ToolCall(f"c{number}b", "memory_save", {"text": "the bell rang"}),
            )
        return _reply(Text(ANSWER_ONE))


def _last_request(messages: tuple[Message, ...]) -> tuple[str, list[Message]]:
    request, since = "", list[Message]()
    for message in messages:
        if message.role == "user" and not is_note(message):
            request, since = message.text, []
        else:
            since.append(message)
    return request, since


def _reply(*blocks: Text | ToolCall) -> ModelReply:
    is_call = isinstance(blocks[0], ToolCall)
    return ModelReply(
        Message("assistant", blocks),
        StopCause.TOOL_USE if is_call else StopCause.END,
        Usage(10, 10),
        "story",
        0,
    )


def story_route() -> ModelRoute:
    """The model, bound."""
    return ModelRoute(StoryModel(), "story/one", "story", 100_000, 4_096)


def build_bell(ledger: Path) -> Tool:
    """A tool whose every run leaves one line in the ledger, and that cannot be read back."""

    async def ring_bell(context: ToolContext, arguments: JsonObject) -> Ending:
        line = f"{context.operation_id} {arguments['note']}\n".encode()
        descriptor = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, line)
        finally:
            os.close(descriptor)
        return Done("The bell rang.")

    return Tool(
        name="ring_bell",
        description="Ring the bell once.",
        schema={
            "type": "object",
            "properties": {"note": {"type": "string"}},
            "required": ["note"],
            "additionalProperties": False,
        },
        policy=SafetyPolicy(Effect.MUTATE, DataClass.PUBLIC, "none", frozenset(Mode)),
        handler=ring_bell,
        resources=lambda context, arguments: ("bell:main",),
    )
