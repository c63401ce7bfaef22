"""Jev, a service that only judges: one question with three answers, asked once, read strictly.

Wire facts, as its owner published them on 2026-10-08: POST JSON with `model`, `state` and
`questions`; a choice comes back with a probability for each option asked.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import orjson

from geode.errors import ConfigError
from geode.llm.catalog import ModelRef, OwnPrices, cost_micro_usd
from geode.llm.errors import (
    BadRequest,
    Billing,
    Overloaded,
    ProviderError,
    RateLimited,
    Unauthorised,
    Unavailable,
)
from geode.messages import JsonObject, JsonValue
from geode.settings import JUDGE_PROVIDERS, ProviderSettings, Settings
from geode.settings_keys import ModelChoice, resolve_provider_key
from geode.settings_secrets import Secret
from geode.steps import Spend, Usage

if TYPE_CHECKING:
    import aiohttp

DIRECT, OPENROUTER = JUDGE_PROVIDERS
BASE_URLS = {DIRECT: "https://api.typesafe.ai/v1", OPENROUTER: "https://openrouter.ai/api/v1"}
MODELS = {DIRECT: "jev-1.13.0", OPENROUTER: "typesafe/jev-1.13"}
PATH = "/systemone"
KEY = "verdict"
BYTES_MAX = 200_000
CONNECT_S = 10.0
SUM_TOLERANCE = 0.01


@dataclass(frozen=True, slots=True)
class JevRoute:
    """How Jev is reached."""

    name: str
    """As the operator writes it: `jev/jev-1.13.0`."""
    provider: str
    model: str
    url: str
    key: Secret = field(repr=False)
    prices: OwnPrices | None = None


@dataclass(frozen=True, slots=True)
class JevChoice:
    """One whole answer."""

    choice: str
    confidence: float
    spend: Spend


class JevAnswerError(Exception):
    """What came back is no answer to the question."""


def open_jev(settings: Settings, environ: Mapping[str, str]) -> JevRoute:
    """The route that the settings name; raises `ConfigError` without a key or with a cost cap."""
    provider, _, model = settings.agent.judge_model.partition("/")
    provider = provider or DIRECT
    model = model or MODELS[provider]
    key = resolve_provider_key(settings, ModelChoice(provider, model), environ)
    assert key is not None, "only the rehearsal model has none"
    written = settings.providers.get(provider, ProviderSettings())
    url = (written.base_url or BASE_URLS[provider]).rstrip("/") + PATH
    ref = ModelRef(provider, model)
    if _is_capped(settings) and model not in written.prices:
        raise ConfigError(
            f"There is a cost limit, but no price of {ref} is known; "
            f"give it under [providers.{provider}.prices] or remove the limit."
        )
    return JevRoute(str(ref), provider, model, url, key, written.prices)


async def ask_jev(
    route: JevRoute, state: JsonObject, question: JsonObject, seconds: float
) -> JevChoice:
    """Ask one question about a state, once.

    Raises a `ProviderError`, or `JevAnswerError` for anything but one of the question's options
    with probabilities for exactly these.
    """
    body = {"model": route.model, "state": state, "questions": {KEY: question}}
    try:
        async with asyncio.timeout(seconds):
            answer = await _post(route, orjson.dumps(body))
    except TimeoutError:
        raise Unavailable(provider=route.provider, detail="no answer in time") from None
    options = cast("JsonObject", question["criteria"]).keys()
    return read_answer(route, answer, frozenset(options))


def read_answer(route: JevRoute, answer: JsonObject, options: frozenset[str]) -> JevChoice:
    """The one answer in a response, held to what was asked; pure."""
    answers = answer.get("answers")
    found = answers.get(KEY) if isinstance(answers, dict) else None
    if not isinstance(found, dict) or found.get("type") != "choice":
        raise JevAnswerError
    chances, choice = found.get("probabilities"), found.get("choice")
    if not isinstance(chances, dict) or chances.keys() != options or choice not in options:
        raise JevAnswerError
    numbers = [_chance(value) for value in chances.values()]
    if abs(sum(numbers) - 1) > SUM_TOLERANCE or _chance(chances[str(choice)]) < max(numbers):
        raise JevAnswerError
    confidence = _chance(found.get("confidence"))
    return JevChoice(str(choice), confidence, _read_spend(route, answer.get("usage")))


def _chance(value: JsonValue) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= cast("float", value) <= 1:
        raise JevAnswerError
    return float(cast("float", value))


def _read_spend(route: JevRoute, usage: JsonValue) -> Spend:
    row = usage if isinstance(usage, dict) else {}
    tokens = Usage(_count(row.get("input_tokens")), _count(row.get("output_tokens")))
    told = row.get("cost")
    if isinstance(told, int | float) and not isinstance(told, bool) and 0 <= told < math.inf:
        return Spend(1, tokens, math.ceil(told * 1_000_000))
    own = route.prices
    known = own is not None and route.model in own
    ref = ModelRef(route.provider, route.model)
    return Spend(1, tokens, cost_micro_usd(ref, tokens, own) if known else None)


def _count(value: JsonValue) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


async def _post(route: JevRoute, body: bytes) -> JsonObject:
    """One request to the operator's own address; nothing else is followed."""
    import aiohttp  # noqa: PLC0415 - heavy, and only this judge needs it

    headers = {"Authorization": f"Bearer {route.key.reveal()}", "Content-Type": "application/json"}
    try:
        async with (
            aiohttp.ClientSession(
                cookie_jar=aiohttp.DummyCookieJar(),
                headers=headers,
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S),
            ) as session,
            session.post(route.url, data=body, allow_redirects=False) as response,
        ):
            content = await _read(response)
            _check_status(route, response.status, response.headers.get("Retry-After", ""))
    except (aiohttp.ClientError, OSError, ValueError) as error:
        # `from None`: the library's own words repeat the address.
        raise Unavailable(provider=route.provider, detail=type(error).__name__) from None
    try:
        value: JsonValue = orjson.loads(content)
    except orjson.JSONDecodeError:
        raise JevAnswerError from None
    if not isinstance(value, dict):
        raise JevAnswerError
    return value


async def _read(response: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > BYTES_MAX:
            raise JevAnswerError
    return bytes(body)


def _check_status(route: JevRoute, status: int, retry_after: str) -> None:
    if status == 200:
        return
    wait_s = float(retry_after) if retry_after.isdecimal() else None
    if status == 429:
        raise RateLimited(wait_s, provider=route.provider)
    if status >= 500:
        raise Overloaded(wait_s, provider=route.provider)
    kinds: Mapping[int, type[ProviderError]] = {401: Unauthorised, 403: Unauthorised, 402: Billing}
    raise kinds.get(status, BadRequest)(provider=route.provider, detail=f"HTTP {status}")


def _is_capped(settings: Settings) -> bool:
    caps = [profile.cost_usd_per_day for profile in settings.profiles.values()]
    return any(cap is not None for cap in (*caps, settings.limits.cost_usd_per_turn))
