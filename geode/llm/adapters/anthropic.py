"""The Anthropic route: a ready-made body through the official SDK, a whole classified answer back.

The SDK's own retries, models and event validation are not used: our policy knows the turn's
deadline, and the body and the events are bytes that need no second look.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import structlog

from geode.errors import ConfigError
from geode.llm.adapters.anthropic_errors import PROVIDER
from geode.llm.adapters.anthropic_wire import WIRE, build_request
from geode.llm.catalog import ModelRef, OwnPrices, cost_micro_usd, limits_of, load_catalog
from geode.llm.retry import RetryBounds, RetryPolicy, call_with_retries
from geode.ports import Clock
from geode.steps import ModelReply, StepSnapshot, StopCause

if TYPE_CHECKING:
    from geode.llm.adapters.anthropic_sdk import SdkRoute

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class AnthropicSettings:
    """What the operator configured for this provider, secrets resolved."""

    api_key: str = field(repr=False)
    base_url: str = ""
    """Empty: the published address."""
    prices: OwnPrices = field(default_factory=dict[str, tuple[float, float, float]])
    output_tokens_max: int = 0
    """0: what the catalogue knows of the model."""


def check_settings(settings: AnthropicSettings) -> None:
    """Raise `ConfigError` for a key or an address that cannot work or is a subscription route."""
    key = settings.api_key
    if not key:
        raise ConfigError(
            "providers.anthropic.api_key is empty; give a key or remove [providers.anthropic]."
        )
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ConfigError(
            "providers.anthropic.api_key holds characters that no key has; copy it again."
        )
    if key.startswith("sk-ant-oat"):
        raise ConfigError(
            "providers.anthropic.api_key is a token of a personal subscription, which is refused; "
            "use an API key."
        )
    address = urlsplit(settings.base_url)
    is_glm = (address.hostname or "").endswith(("z.ai", "bigmodel.cn"))
    if is_glm and ("/coding" in address.path or "/anthropic" in address.path):
        raise ConfigError(
            "providers.anthropic.base_url is the GLM Coding Plan, a personal subscription, "
            "which is refused; use a pay-as-you-go key and address."
        )


class AnthropicAdapter:
    """One provider route for all sessions; safe to call concurrently."""

    def __init__(
        self,
        settings: AnthropicSettings,
        clock: Clock,
        policy: RetryPolicy | None = None,
    ) -> None:
        check_settings(settings)
        self._settings = settings
        self._clock = clock
        self._policy = policy or RetryPolicy()
        self._route: SdkRoute | None = None
        self._opening = asyncio.Lock()

    @property
    def provider(self) -> str:
        """The provider's name in the catalogue."""
        return WIRE

    async def warm_up(self) -> None:
        """Import the SDK and build its client in a thread, so that the first turn need not."""
        await self._open_route()

    async def _open_route(self) -> SdkRoute:
        async with self._opening:
            if self._route is None:
                self._route = await asyncio.to_thread(self._load_sdk)
            return self._route

    def _load_sdk(self) -> SdkRoute:
        from geode.llm.adapters.anthropic_sdk import SdkRoute  # noqa: PLC0415 - costs a second

        base_url = self._settings.base_url or load_catalog()[WIRE].base_url
        return SdkRoute(self._settings.api_key, base_url, self._clock)

    async def check(self, model: str) -> None:
        """Whether the provider takes the key and knows the model, at no cost.

        Raises the classes of `geode.llm.errors`.
        """
        await (await self._open_route()).check(model)

    async def aclose(self) -> None:
        """Close the connections; a later call opens new ones."""
        route, self._route = self._route, None
        if route is not None:
            await route.aclose()

    async def acomplete(
        self, step: StepSnapshot, on_delta: Callable[[str], None] | None = None
    ) -> ModelReply:
        """Make one provider call, repeated by policy; only a whole answer is returned.

        A reply that stopped at `MAX_TOKENS` (or anything but `TOOL_USE`) may carry calls: they are
        evidence of what was cut and must never run. Raises the classes of `geode.llm.errors`.
        """
        ref = ModelRef(WIRE, step.model)
        limit = self._settings.output_tokens_max or limits_of(ref).output_tokens_max
        # Joining a few pictures takes long enough to hold up other sessions.
        build = partial(build_request, step, limit)
        body = await asyncio.to_thread(build) if step.pictures else build()
        route = self._route or await self._open_route()
        answer = await call_with_retries(
            lambda: route.stream_once(body, on_delta),
            self._policy,
            RetryBounds(PROVIDER, self._clock, step.deadline),
            lambda wait_s, error: self._tell_wait(step, wait_s, error),
        )
        if answer.stop is StopCause.UNKNOWN:
            _log.warning("model.stop_unknown", model=step.model, stop_reason=answer.stop_reason)
        return ModelReply(
            message=answer.message,
            stop=answer.stop,
            usage=answer.usage,
            model=answer.model or step.model,
            cost_micro_usd=cost_micro_usd(ref, answer.usage, self._settings.prices),
        )

    def _tell_wait(self, step: StepSnapshot, wait_s: float, error: Exception) -> None:
        # Its name only: the provider's words may quote the request.
        kind = type(error).__name__
        _log.info("model.wait", model=step.model, wait_s=round(wait_s, 3), kind=kind)
        if step.on_wait is not None:
            step.on_wait(wait_s)
