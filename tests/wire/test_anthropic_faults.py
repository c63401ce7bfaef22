"""The Anthropic adapter when the provider fails: classified, repeated, never half used."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from fakes.model_steps import make_plan, make_step
from fakes.scripted_model import ScriptedModel
from structlog.testing import capture_logs

from channels.rehearsal.model import RehearsalModel
from channels.rehearsal.model_answers import Answer, Failure, Scripted, text, tool_use
from channels.rehearsal.model_http import API_KEY
from geode.errors import ConfigError, ModelError
from geode.llm.adapters.anthropic import AnthropicAdapter, AnthropicSettings
from geode.llm.adapters.anthropic_sdk import SdkRoute
from geode.llm.adapters.anthropic_wire import build_request
from geode.llm.errors import (
    BadRequest,
    Billing,
    ContextOverflow,
    Overloaded,
    RateLimited,
    Unauthorised,
    Unavailable,
)
from geode.llm.retry import RetryPolicy
from geode.ports import SystemClock

ONCE = RetryPolicy(attempts_max=1)
QUICK = RetryPolicy(attempts_max=4, backoff_s=0.001, jitter=lambda: 0.5)


class SkippingClock(SystemClock):
    """Real time, except that a wait is written down and moves the clock at once."""

    def __init__(self) -> None:
        self.skipped_s = 0.0
        self.waits: list[float] = []

    def monotonic(self) -> float:
        return super().monotonic() + self.skipped_s

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.skipped_s += seconds


@asynccontextmanager
async def open_model(
    *script: Scripted, policy: RetryPolicy = ONCE, clock: SystemClock | None = None
) -> AsyncIterator[tuple[RehearsalModel, AnthropicAdapter]]:
    """A strict server with a script of faults and the adapter under one policy."""
    async with RehearsalModel(*script) as server:
        settings = AnthropicSettings(API_KEY, server.url)
        adapter = AnthropicAdapter(settings, clock or SystemClock(), policy)
        try:
            yield server, adapter
        finally:
            await adapter.aclose()


HELLO = Answer([text("Hello there")])
CALL = Answer([tool_use("weather", {"city": "Oslo"})], stop_reason="tool_use")
OVERLOAD = "overloaded_error"


@pytest.mark.parametrize(
    "fault",
    [
        Answer(HELLO.blocks, error_after=(1, OVERLOAD)),
        Answer(HELLO.blocks, error_after=(4, OVERLOAD)),
        Answer(CALL.blocks, error_after=(4, OVERLOAD)),
        Answer(HELLO.blocks, error_after=(4, "brand_new_error")),
        Answer(HELLO.blocks, cut_after=0),
        Answer(HELLO.blocks, cut_after=4),
        Answer(CALL.blocks, cut_after=4),
        Answer(HELLO.blocks, has_stop=False),
        Failure(529, OVERLOAD),
        Failure(500, "api_error"),
        Failure(502, "", body=b"<html>bad gateway</html>"),
    ],
    ids=[
        "error before any text",
        "error after a delta",
        "error in a call",
        "unknown error type",
        "cut before any event",
        "cut after a delta",
        "cut in a call",
        "no message_stop",
        "529",
        "500",
        "proxy page",
    ],
)
async def test_broken_answer_is_overloaded_and_a_repeat_gives_one_whole_answer(
    fault: Scripted,
) -> None:
    """LM-05: by error type and not by status; nothing of the broken answer is in the reply."""
    async with open_model(fault) as (_, adapter):
        with pytest.raises(Overloaded) as caught:
            await adapter.acomplete(make_step(adapter, plan=make_plan("weather")))
    async with open_model(fault, HELLO, policy=QUICK) as (server, adapter):
        reply = await adapter.acomplete(make_step(adapter, plan=make_plan("weather")))

    assert caught.value.retryable
    assert "\n" not in str(caught.value)
    assert (reply.message.text, reply.message.calls) == ("Hello there", ())
    assert len(server.requests) == 2
    assert server.requests[0].raw == server.requests[1].raw


async def test_last_retry_ends_with_one_error_and_a_bounded_number_of_calls() -> None:
    faults = [Answer(HELLO.blocks, error_after=(3, OVERLOAD))] * 9
    async with open_model(*faults, policy=QUICK) as (server, adapter):
        with pytest.raises(Overloaded, match="try again in a while"):
            await adapter.acomplete(make_step(adapter))

    assert len(server.requests) == 4


async def test_next_call_waits_as_long_as_the_provider_asked_and_the_person_is_told_once() -> None:
    """LM-05: `retry-after: 240` is not cut short by a shorter idea of progress."""
    clock, told = SkippingClock(), list[float]()
    limited = Failure(429, "rate_limit_error", headers={"retry-after": "240"})
    async with open_model(limited, HELLO, policy=QUICK, clock=clock) as (server, adapter):
        step = make_step(adapter, deadline=clock.monotonic() + 300, on_wait=told.append)
        reply = await adapter.acomplete(step)

    assert clock.waits == [240.0]
    assert told == [240.0]
    assert reply.message.text == "Hello there"
    assert len(server.requests) == 2


async def test_wait_beyond_the_deadline_is_refused_at_once() -> None:
    clock, told = SkippingClock(), list[float]()
    limited = Failure(429, "rate_limit_error", headers={"retry-after": "240"})
    async with open_model(limited, policy=QUICK, clock=clock) as (server, adapter):
        step = make_step(adapter, deadline=clock.monotonic() + 180, on_wait=told.append)
        with pytest.raises(RateLimited) as caught:
            await adapter.acomplete(step)

    assert caught.value.retry_after == 240.0
    assert (clock.waits, told, len(server.requests)) == ([], [], 1)


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (Failure(401, "authentication_error"), Unauthorised),
        (Failure(403, "permission_error"), Unauthorised),
        (Failure(400, "invalid_request_error"), BadRequest),
        (Failure(400, "invalid_request_error", "prompt is too long: 9 > 8"), ContextOverflow),
        (Failure(413, "request_too_large"), ContextOverflow),
        (Failure(400, "invalid_request_error", "Your credit balance is too low"), Billing),
        (Failure(402, "billing_error"), Billing),
        (Failure(404, "not_found_error", "model: claude-opus-55"), BadRequest),
        (Failure(307, "", headers={"location": "http://127.0.0.1:1/"}), BadRequest),
    ],
    ids=lambda value: f"{value.status} {value.kind}" if isinstance(value, Failure) else "",
)
async def test_final_failure_is_classified_and_not_repeated(
    failure: Failure, expected: type[ModelError]
) -> None:
    async with open_model(failure, policy=QUICK) as (server, adapter):
        with pytest.raises(expected) as caught:
            await adapter.acomplete(make_step(adapter))

    assert len(server.requests) == 1
    assert "Anthropic" in str(caught.value)


async def test_wrong_key_is_one_clear_sentence() -> None:
    async with RehearsalModel() as server:
        adapter = AnthropicAdapter(AnthropicSettings("wrong", server.url), SystemClock(), QUICK)
        with pytest.raises(Unauthorised, match=r"refused the key .* must check"):
            await adapter.acomplete(make_step(adapter))
        await adapter.aclose()

    assert server.requests == []


async def test_unreachable_provider_names_the_address_and_the_setting() -> None:
    async with RehearsalModel() as server:
        url = server.url
    adapter = AnthropicAdapter(AnthropicSettings(API_KEY, url), SystemClock(), ONCE)

    with pytest.raises(Unavailable, match=r"could not be reached .*base_url") as caught:
        await adapter.acomplete(make_step(adapter))
    await adapter.aclose()

    assert url.rpartition(":")[2] in str(caught.value)


async def test_silent_provider_is_cut_at_the_deadline() -> None:
    held = asyncio.Event()
    async with open_model(Answer(hold=held), policy=QUICK) as (server, adapter):
        deadline = SystemClock().monotonic() + 0.3
        with pytest.raises(Unavailable, match="within the time that was left"):
            await adapter.acomplete(make_step(adapter, deadline=deadline))
        held.set()
        reply = await adapter.acomplete(make_step(adapter))

    assert reply.message.text == "ok"
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("hold_after", "expected"), [(-1, Unavailable), (4, Overloaded)], ids=["at once", "mid answer"]
)
async def test_silence_ends_a_call_without_a_deadline(
    hold_after: int, expected: type[ModelError]
) -> None:
    held = asyncio.Event()
    async with RehearsalModel(Answer(hold=held, hold_after=hold_after)) as server:
        route = SdkRoute(API_KEY, server.url, SystemClock(), silence_s_max=0.2)
        body = build_request(make_step(ScriptedModel()), 100)
        async with asyncio.timeout(10):
            with pytest.raises(expected) as caught:
                await route.stream_once(body, None)
        held.set()
        await route.aclose()

    assert caught.value.retryable


async def test_cancelling_a_call_closes_it_and_the_next_one_works() -> None:
    held = asyncio.Event()
    async with open_model(Answer(hold=held)) as (server, adapter):
        call = asyncio.create_task(adapter.acomplete(make_step(adapter)))
        async with asyncio.timeout(10):
            await server.received.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        held.set()

        assert (await adapter.acomplete(make_step(adapter))).message.text == "ok"


async def test_error_and_log_lines_never_hold_the_key() -> None:
    with capture_logs() as logs:
        async with open_model(Failure(401, "authentication_error"), policy=QUICK) as (_, adapter):
            with pytest.raises(Unauthorised) as caught:
                await adapter.acomplete(make_step(adapter))

    assert API_KEY not in str(caught.value)
    assert API_KEY not in str(logs)
    assert API_KEY not in repr(AnthropicSettings(API_KEY))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (AnthropicSettings(""), "api_key is empty"),
        (AnthropicSettings("sk ant"), "characters that no key has"),
        (AnthropicSettings("sk-änt"), "characters that no key has"),
        (AnthropicSettings("sk-ant\n"), "characters that no key has"),
        (AnthropicSettings("sk-ant-oat01-abc"), "personal subscription"),
        (AnthropicSettings("k", "https://api.z.ai/api/anthropic"), "GLM Coding Plan"),
        (AnthropicSettings("k", "https://api.z.ai/api/coding/paas/v4"), "GLM Coding Plan"),
    ],
)
def test_settings_that_cannot_work_are_refused_in_one_sentence(
    settings: AnthropicSettings, words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        AnthropicAdapter(settings, SystemClock())


def test_importing_the_adapter_does_not_import_the_sdk() -> None:
    program = (
        "import sys, geode.llm.adapters.anthropic, geode.llm.rehearsal;"
        "assert not {'anthropic', 'httpx2', 'aiohttp', 'pydantic'} & set(sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True)

    assert done.returncode == 0, done.stderr.decode()
