"""A model whose replies a test writes down: in memory, in order, with every step on record."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeAlias

import orjson

from geode.messages import Block, JsonObject, Message, Text, ToolCall
from geode.steps import ModelReply, StepSnapshot, StopCause, Usage

Scripted: TypeAlias = (
    ModelReply | BaseException | Callable[[StepSnapshot], "ModelReply | Awaitable[ModelReply]"]
)

USAGE = Usage(input_tokens=10, output_tokens=5)


def say(
    text: str, stop: StopCause = StopCause.END, *, cost_micro_usd: int | None = 0
) -> ModelReply:
    """A reply of text only; blank text is a reply without blocks."""
    blocks: tuple[Block, ...] = (Text(text),) if text.strip() else ()
    message = Message("assistant", blocks, provider="scripted")
    return ModelReply(message, stop, USAGE, "scripted-model", cost_micro_usd)


def call(
    *calls: tuple[str, JsonObject] | ToolCall,
    text: str = "",
    stop: StopCause = StopCause.TOOL_USE,
    cost_micro_usd: int | None = 0,
) -> ModelReply:
    """A reply that proposes calls, each as (name, arguments) or ready-made; ids count from 1."""
    blocks: list[Block] = [Text(text)] if text.strip() else []
    for number, one in enumerate(calls, start=1):
        blocks.append(
            one if isinstance(one, ToolCall) else ToolCall(f"call_{number}", one[0], one[1])
        )
    message = Message("assistant", tuple(blocks), provider="scripted")
    return ModelReply(message, stop, USAGE, "scripted-model", cost_micro_usd)


def write_verdict(
    *misses: str, reflection: str = "", is_retry_worthwhile: bool = False, passed: bool = False
) -> ModelReply:
    """What a judge answers: with misses or without, a pass only when it is said."""
    body = {
        "rubric_misses": list(misses),
        "passed": passed,
        "reflection": reflection,
        "retry_worthwhile": is_retry_worthwhile,
    }
    return say(orjson.dumps(body).decode())


PASS = write_verdict(passed=True)
"""What a model says that is asked to judge and was told nothing else."""


class ScriptedModel:
    """A `ModelAdapter`: each call takes the next entry; a call beyond the script fails the test.

    A step that asks for an answer by a schema comes from a judge: it gets the next of `verdicts`,
    then a pass, and is no step of the story.
    """

    def __init__(self, replies: Iterable[Scripted] = (), *, provider: str = "scripted") -> None:
        self.replies: list[Scripted] = list(replies)
        self.steps: list[StepSnapshot] = []
        """Every step it was asked to complete, in order."""
        self.verdicts: list[Scripted] = []
        self.judged: list[StepSnapshot] = []
        """The judges' steps."""
        self._provider = provider

    @property
    def provider(self) -> str:
        """The name under which opaque blocks and wire caches are kept."""
        return self._provider

    async def warm_up(self) -> None:
        """Nothing is to be loaded."""

    async def aclose(self) -> None:
        """Nothing is open."""

    def add(self, *replies: Scripted) -> None:
        """Append to the script."""
        self.replies.extend(replies)

    async def acomplete(
        self, step: StepSnapshot, on_delta: Callable[[str], None] | None = None
    ) -> ModelReply:
        """Give the next entry: a reply, an error to raise, or what a callable makes of the step."""
        if step.answer_schema is not None:
            self.judged.append(step)
            entry = self.verdicts.pop(0) if self.verdicts else PASS
        else:
            self.steps.append(step)
            assert self.replies, f"the script has no reply for model call {len(self.steps)}"
            entry = self.replies.pop(0)
        if isinstance(entry, BaseException):
            raise entry
        if isinstance(entry, ModelReply):
            reply = entry
        else:
            made = entry(step)
            reply = await made if inspect.isawaitable(made) else made
        if on_delta is not None and reply.message.text:
            on_delta(reply.message.text)
        return reply
