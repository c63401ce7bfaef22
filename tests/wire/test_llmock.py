"""The Anthropic adapter against llmock, an emulator that this project did not write."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any

import aiohttp
import pytest
from fakes.model_steps import make_plan, make_step, results, user

from geode.llm.adapters.anthropic import AnthropicAdapter, AnthropicSettings
from geode.llm.errors import BadRequest, ContextOverflow, ModelError, Unauthorised
from geode.llm.retry import RetryPolicy
from geode.ports import SystemClock
from geode.steps import StopCause

SERVE = """
import sys
from llmock.testing import LLMockServer
with LLMockServer(host="127.0.0.1") as server:
    print(server.url, flush=True)
    sys.stdin.read()
"""
"""Bound to a free loopback port; ends when our end of its input closes."""

QUICK = RetryPolicy(attempts_max=4, backoff_s=0.05)


@pytest.fixture(scope="module")
def emulator_url() -> Iterator[str]:
    """A running llmock process."""
    with subprocess.Popen(
        [sys.executable, "-c", SERVE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:")
        try:
            yield url
        finally:
            process.communicate(timeout=15)


class Control:
    """llmock's own control interface."""

    def __init__(self, url: str, session: aiohttp.ClientSession) -> None:
        self.url, self._session = url, session

    async def script(self, *behaviors: dict[str, Any]) -> None:
        """Queue behaviours for the next requests."""
        body = {"behaviors": list(behaviors)}
        async with self._session.post(f"{self.url}/_llmock/scenario", json=body) as response:
            assert response.status == 201, await response.text()

    async def reset(self) -> None:
        """Forget requests and behaviours."""
        async with self._session.post(f"{self.url}/_llmock/reset") as response:
            assert response.ok

    async def verdict(self) -> dict[str, Any]:
        """What llmock thinks of its client."""
        async with self._session.get(f"{self.url}/_llmock/verdict") as response:
            return await response.json()


@pytest.fixture
async def control(emulator_url: str) -> AsyncIterator[Control]:
    """The emulator without memory of earlier tests."""
    async with aiohttp.ClientSession() as session, asyncio.timeout(60):
        control = Control(emulator_url, session)
        await control.reset()
        yield control


@pytest.fixture
async def adapter(control: Control) -> AsyncIterator[AnthropicAdapter]:
    """Our adapter, pointed at the emulator's Anthropic path."""
    settings = AnthropicSettings("any-key", f"{control.url}/anthropic")
    adapter = AnthropicAdapter(settings, SystemClock(), QUICK)
    yield adapter
    await adapter.aclose()


async def test_plain_text_is_answered(control: Control, adapter: AnthropicAdapter) -> None:
    await control.script({"type": "reply", "text": "Hello from elsewhere — é😀."})
    told: list[str] = []

    reply = await adapter.acomplete(make_step(adapter, "hello"), told.append)

    assert reply.message.text == "Hello from elsewhere — é😀."
    assert "".join(told) == reply.message.text
    assert reply.stop is StopCause.END
    assert reply.usage.input_tokens > 0
    assert reply.usage.output_tokens > 0


async def test_offered_tool_is_called_and_its_result_is_answered(
    control: Control, adapter: AnthropicAdapter
) -> None:
    plan = make_plan("get_weather")
    asked = user("What is the weather in Paris?")

    first = await adapter.acomplete(make_step(adapter, [asked], plan=plan))
    (call,) = first.message.calls
    history = [asked, first.message, results((call.call_id, "21 °C"))]
    second = await adapter.acomplete(make_step(adapter, history, plan=plan, step=2))

    assert (first.stop, call.name) == (StopCause.TOOL_USE, "get_weather")
    assert call.arguments is not None
    assert isinstance(call.arguments["city"], str)
    assert second.stop is StopCause.END
    assert second.message.text
    assert not (await control.verdict())["findings"]


async def test_scripted_arguments_arrive_exactly(
    control: Control, adapter: AnthropicAdapter
) -> None:
    arguments = {"city": "Tromsø", "days": [1, 2], "exact": True, "note": None}
    await control.script(
        {"type": "reply", "tool_calls": [{"name": "get_weather", "arguments": arguments}]}
    )

    reply = await adapter.acomplete(make_step(adapter, plan=make_plan("get_weather")))

    assert reply.message.calls[0].arguments == arguments


async def test_malformed_arguments_are_a_fault_and_not_a_guess(
    control: Control, adapter: AnthropicAdapter
) -> None:
    await control.script({"type": "tool_fault", "kind": "malformed_arguments"})

    reply = await adapter.acomplete(make_step(adapter, plan=make_plan("get_weather")))

    assert reply.message.calls[0].arguments is None
    assert "not valid JSON" in reply.message.calls[0].fault


@pytest.mark.parametrize(
    "fault",
    [
        {"type": "fail", "status": 529},
        {"type": "fail", "status": 500, "times": 2},
        {"type": "fail", "status": 429, "retry_after": 0.3},
        {"type": "stream_fault", "kind": "disconnect", "after_chunks": 3},
        {"type": "stream_fault", "kind": "truncate", "after_chunks": 3},
        {"type": "stream_fault", "kind": "malformed", "after_chunks": 3},
    ],
    ids=lambda fault: str(fault.get("kind") or fault["status"]),
)
async def test_passing_fault_is_repeated_and_the_emulator_finds_no_error_in_us(
    control: Control, adapter: AnthropicAdapter, fault: dict[str, Any]
) -> None:
    await control.script({"type": "reply", "text": "one whole answer", "times": None}, fault)

    reply = await adapter.acomplete(make_step(adapter, "hello"))

    assert reply.message.text == "one whole answer"
    findings = (await control.verdict())["findings"]
    assert [found for found in findings if found["severity"] == "error"] == []


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ({"type": "fail", "status": 401}, Unauthorised),
        ({"type": "fail", "status": 400}, BadRequest),
        ({"type": "fail", "status": 400, "message": "prompt is too long: 9 > 8"}, ContextOverflow),
    ],
    ids=["401", "400", "too long"],
)
async def test_final_fault_is_classified_and_asked_once(
    control: Control,
    adapter: AnthropicAdapter,
    fault: dict[str, Any],
    expected: type[ModelError],
) -> None:
    await control.script(fault)

    with pytest.raises(expected):
        await adapter.acomplete(make_step(adapter, "hello"))

    findings = (await control.verdict())["findings"]
    assert [found for found in findings if found["severity"] == "error"] == []
