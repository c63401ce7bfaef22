"""The story that every crash run tells: two requests, reads, effects, a card, two answers.

The model is a function of the conversation alone, so that it says the same before and after a
crash. The bell is an effect that must not ring twice: every stroke is a line in a file that
nothing else writes, outside everything the service knows. So is the parcel, whose sending never
tells whether it was sent: a person says so on a card.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from fakes.scripted_model import PASS

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
    ToolHandler,
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
        if step.answer_schema is not None:
            return PASS
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
                ToolCall(f"c{number}c", "send_parcel", {"note": "to Ada"}),
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
        _write_line(ledger, context, arguments)
        return Done("The bell rang.")

    return _build("ring_bell", "Ring the bell once.", Effect.MUTATE, ring_bell)


def build_parcel(ledger: Path) -> Tool:
    """A tool that leaves one line in its ledger, and then cannot tell what came of it."""

    async def send_parcel(context: ToolContext, arguments: JsonObject) -> Ending:
        _write_line(ledger, context, arguments)
        raise OSError("the wire was cut")

    return _build("send_parcel", "Send the parcel.", Effect.COMMUNICATE, send_parcel)


def _write_line(ledger: Path, context: ToolContext, arguments: JsonObject) -> None:
    line = f"{context.operation_id} {arguments['note']}\n".encode()
    descriptor = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, line)
    finally:
        os.close(descriptor)


def _build(name: str, description: str, effect: Effect, handler: ToolHandler) -> Tool:
    return Tool(
        name=name,
        description=description,
        schema={
            "type": "object",
            "properties": {"note": {"type": "string"}},
            "required": ["note"],
            "additionalProperties": False,
        },
        policy=SafetyPolicy(effect, DataClass.PUBLIC, "none", frozenset(Mode)),
        handler=handler,
        resources=lambda context, arguments: (f"{name}:main",),
    )
