"""A stand-in for a model: no key, no network, predictable rules, real tool calls.

Every answer names it, so that nobody takes it for a model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from geode.llm.errors import Unavailable
from geode.llm.rehearsal_judge import SECOND_TRY, judge_by_rule
from geode.llm.rehearsal_rules import (
    Request,
    answer_in_text,
    is_repair,
    is_transcript,
    propose,
    read_requests,
    take_delay,
    take_failure,
)
from geode.messages import Block, Image, Message, Text, ToolCall, ToolResult
from geode.ports import Clock
from geode.steps import ModelReply, StepSnapshot, StopCause, Usage

PROVIDER = "rehearsal"
LABEL = "(rehearsal model)"
RESULT_CHARS_MAX = 700
NO_MORE_TOOLS = "I may not use tools any more in this turn, so this is all I can say."


class RehearsalAdapter:
    """The provider `rehearsal`: it looks only at the step's messages and answers by rule."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    @property
    def provider(self) -> str:
        """The provider's name in the catalogue."""
        return PROVIDER

    async def warm_up(self) -> None:
        """Nothing is to be loaded."""

    async def aclose(self) -> None:
        """Nothing is open."""

    async def acomplete(
        self, step: StepSnapshot, on_delta: Callable[[str], None] | None = None
    ) -> ModelReply:
        """Propose the calls that the requests lead to, or answer; after results, sum them up."""
        if step.answer_schema is not None:
            return _reply(step, (Text(judge_by_rule(step.messages)),), on_delta)
        results = _newest_results(step.messages)
        if results:
            return _reply(step, (_label(step, _sum_up(step.messages, results)),), on_delta)
        if is_transcript(step.messages):
            return _reply(step, (), on_delta)  # the runtime then lists the messages by itself
        requests = read_requests(step.messages)
        delays = [take_delay(request.text) for request in requests]
        await self._wait(max((seconds for seconds, _ in delays), default=0.0), step.deadline)
        requests = [
            Request(request.sender, take_failure(rest) or request.text)
            for request, (_, rest) in zip(requests, delays, strict=True)
        ]
        return _reply(step, _answer(requests, step), on_delta)

    async def _wait(self, seconds: float, deadline: float) -> None:
        remaining_s = deadline - self._clock.monotonic()
        if seconds <= 0:
            return
        await self._clock.sleep(max(0.0, min(seconds, remaining_s)))
        if seconds >= remaining_s:
            raise Unavailable(
                provider="The rehearsal model", detail="no answer within the time that was left"
            )


def _answer(requests: Sequence[Request], step: StepSnapshot) -> tuple[Block, ...]:
    """Calls where rules fit; otherwise one labelled text that answers everyone."""
    proposals = [found for request in requests if (found := propose(request.text)) is not None]
    if proposals and step.may_call_tools:
        return tuple(
            ToolCall(f"call_{step.step}_{number}", found.name, found.arguments)
            for number, found in enumerate(proposals, start=1)
        )
    lines = [answer_in_text(request) for request in requests]
    if proposals:
        lines.append(NO_MORE_TOOLS)
    return (_label(step, "\n\n".join(lines) or "Hello. Ask me to list files."),)


def _newest_results(messages: Sequence[Message]) -> list[ToolResult]:
    """The results that followed the last proposed calls, when nothing was answered since."""
    found: list[ToolResult] = []
    for message in reversed(messages):
        if message.role == "assistant":
            break
        found = [*message.results, *found]
    return found


def _sum_up(messages: Sequence[Message], results: Sequence[ToolResult]) -> str:
    names = {call.call_id: call.name for message in messages for call in message.calls}
    return "\n\n".join(_tell(names.get(r.call_id, "the tool"), r) for r in results)


def _tell(name: str, result: ToolResult) -> str:
    text = result.text.strip() or "nothing"
    if len(text) > RESULT_CHARS_MAX:
        text = text[: RESULT_CHARS_MAX - 1] + "…"
    if result.is_error:
        return f"I asked for `{name}` and did not get it: {text}"
    return f"`{name}` gave:\n\n{text}"


def _label(step: StepSnapshot, text: str) -> Text:
    begun = f"{SECOND_TRY} " if is_repair(step.messages) else ""
    return Text(f"{begun}{text}\n\n{LABEL}")


def _reply(
    step: StepSnapshot, blocks: tuple[Block, ...], on_delta: Callable[[str], None] | None
) -> ModelReply:
    message = Message("assistant", blocks, provider=PROVIDER)
    if on_delta is not None and message.text:
        on_delta(message.text)
    spoken = sum(_count_chars(block) for block in blocks)
    heard = sum(_count_chars(block) for m in step.messages for block in m.blocks)
    heard += len(step.system.stable) + len(step.system.changing)
    return ModelReply(
        message=message,
        stop=StopCause.TOOL_USE if message.calls else StopCause.END,
        usage=Usage(input_tokens=heard // 4 + 1, output_tokens=spoken // 4 + 1),
        model=step.model,
        cost_micro_usd=0,
    )


def _count_chars(block: Block) -> int:
    match block:
        case ToolCall():
            return len(str(block.arguments))
        case Text() | ToolResult():
            return len(block.text)
        case Image():
            return 0
