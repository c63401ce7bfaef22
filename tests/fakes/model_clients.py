"""The real clients of the model APIs for the local provider, with no retries of their own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anthropic
import openai

from channels.rehearsal.model import RehearsalModel
from channels.rehearsal.model_answers import Scripted
from channels.rehearsal.model_http import API_KEY

MODEL = "claude-opus-5-5"
GPT = "gpt-6-sol"
WEATHER: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}


@asynccontextmanager
async def claude(
    *script: Scripted, key: str = API_KEY, **options: Any
) -> AsyncIterator[tuple[RehearsalModel, anthropic.AsyncAnthropic]]:
    """A local provider and Anthropic's client for it."""
    async with (
        RehearsalModel(*script, **options) as server,
        anthropic.AsyncAnthropic(api_key=key, base_url=server.url, max_retries=0) as client,
    ):
        yield server, client


@asynccontextmanager
async def gpt(
    *script: Scripted, key: str = API_KEY, **options: Any
) -> AsyncIterator[tuple[RehearsalModel, openai.AsyncOpenAI]]:
    """A local provider and OpenAI's client for it."""
    async with (
        RehearsalModel(*script, **options) as server,
        openai.AsyncOpenAI(api_key=key, base_url=server.openai_url, max_retries=0) as client,
    ):
        yield server, client


def ask_claude(text: str = "hello", **changes: Any) -> dict[str, Any]:
    """The arguments of `messages.create`."""
    return {
        "model": MODEL,
        "max_tokens": 1000,
        "messages": [{"role": "user", "content": text}],
        **changes,
    }


def ask_chat(text: str = "hello", **changes: Any) -> dict[str, Any]:
    """The arguments of `chat.completions.create`."""
    return {"model": GPT, "messages": [{"role": "user", "content": text}], **changes}


def ask_response(text: str = "hello", **changes: Any) -> dict[str, Any]:
    """The arguments of `responses.create`."""
    return {"model": GPT, "input": [{"role": "user", "content": text}], **changes}
