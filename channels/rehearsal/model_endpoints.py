"""The addresses of the model APIs: how each checks a request and writes an answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from channels.rehearsal import (
    model_anthropic,
    model_anthropic_rules,
    model_chat,
    model_openai_rules,
    model_responses,
    model_script,
)
from channels.rehearsal.model_answers import Answer, Failure
from channels.rehearsal.model_faults import ANTHROPIC, OPENAI, Vendor

Body: TypeAlias = dict[str, Any]


class Memory:
    """What a later request is checked against."""

    def __init__(self) -> None:
        self.reasoning: dict[str, list[bytes]] = {}
        """The reasoning blocks of an answer, by the ids of its calls."""
        self.open_calls: dict[str, tuple[str, ...]] = {}
        """The calls of a stored response, by its id."""

    def keep(self, answer: Answer, number: int) -> None:
        """Remember an answer that is about to be given."""
        calls = tuple(str(block["id"]) for block in answer.blocks if block["type"] == "tool_use")
        for call in calls:
            self.reasoning[call] = model_anthropic_rules.reasoning_of(answer.blocks)
        self.open_calls[f"resp_{number}"] = calls


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One address and everything that differs between the APIs."""

    name: str
    """As faults name it."""
    path: str
    vendor: Vendor
    find_broken: Callable[[Body, Memory], str]
    read: Callable[[Body], model_script.Asked]
    whole: Callable[[Body, Answer, int], Body]
    events: Callable[[Body, Answer, int], list[bytes]]
    failure: Callable[[Failure], Body]
    error_event: Callable[[str, int], bytes]


def _check_messages(body: Body, memory: Memory) -> str:
    rules = model_anthropic_rules
    return rules.find_untyped(body) or rules.find_broken_rule(body, memory.reasoning)


def _check_count(body: Body, memory: Memory) -> str:
    rules = model_anthropic_rules
    untyped = rules.find_untyped(body, is_count=True)
    return untyped or rules.find_broken_prompt(body, memory.reasoning)


def _check_chat(body: Body, memory: Memory) -> str:
    return model_openai_rules.find_broken_chat_rule(body)


def _check_response(body: Body, memory: Memory) -> str:
    before = body.get("previous_response_id")
    if before is not None and before not in memory.open_calls:
        return f"Previous response with id '{before}' not found."
    known = memory.open_calls.get(str(before), ())
    return model_openai_rules.find_broken_response_rule(body, known)


def _count_tokens(body: Body, answer: Answer, number: int) -> Body:
    """A stable number that grows with the request: four characters a token."""
    return {"input_tokens": len(str(body)) // 4}


MESSAGES = Endpoint(
    name="messages",
    path="/v1/messages",
    vendor=ANTHROPIC,
    find_broken=_check_messages,
    read=model_script.read_messages,
    whole=model_anthropic.whole_message,
    events=model_anthropic.stream_events,
    failure=model_anthropic.failure_body,
    error_event=lambda kind, _: model_anthropic.error_event(kind),
)
COUNT_TOKENS = Endpoint(
    name="count_tokens",
    path="/v1/messages/count_tokens",
    vendor=ANTHROPIC,
    find_broken=_check_count,
    read=model_script.read_messages,
    whole=_count_tokens,
    events=model_anthropic.stream_events,
    failure=model_anthropic.failure_body,
    error_event=lambda kind, _: model_anthropic.error_event(kind),
)
CHAT = Endpoint(
    name="chat",
    path="/v1/chat/completions",
    vendor=OPENAI,
    find_broken=_check_chat,
    read=model_script.read_chat,
    whole=model_chat.whole_completion,
    events=model_chat.stream_chunks,
    failure=model_chat.failure_body,
    error_event=lambda kind, _: model_chat.error_event(kind),
)
RESPONSES = Endpoint(
    name="responses",
    path="/v1/responses",
    vendor=OPENAI,
    find_broken=_check_response,
    read=model_script.read_responses,
    whole=model_responses.whole_response,
    events=model_responses.stream_events,
    failure=model_chat.failure_body,
    error_event=model_responses.error_event,
)
ENDPOINTS = (MESSAGES, COUNT_TOKENS, CHAT, RESPONSES)
