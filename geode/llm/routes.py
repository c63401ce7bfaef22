"""A configured model becomes one bound route, or one sentence that says why not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from geode.errors import ConfigError
from geode.llm.adapters.anthropic import AnthropicAdapter, AnthropicSettings
from geode.llm.catalog import (
    ModelRef,
    check_built,
    check_route,
    limits_of,
    load_catalog,
    parse_model,
    price_of,
    takes_pictures,
)
from geode.llm.jev import JevRoute, open_jev
from geode.llm.rehearsal import RehearsalAdapter
from geode.llm.retry import RetryPolicy
from geode.ports import Clock
from geode.settings import REHEARSAL, ProviderSettings, Settings
from geode.settings_keys import ModelChoice, choose_model, resolve_provider_key
from geode.settings_secrets import Secret
from geode.steps import ModelAdapter

Adapter = AnthropicAdapter | RehearsalAdapter


@dataclass(frozen=True, slots=True)
class ModelRoute:
    """The bound model of a process."""

    adapter: ModelAdapter
    name: str
    """As the operator writes it: `provider/model`."""
    model: str
    """The provider's own id, never upgraded."""
    context_tokens_max: int
    """What a request may hold: the window less the longest answer."""
    output_tokens_max: int
    takes_pictures: bool = False


@dataclass(frozen=True, slots=True)
class BoundModels:
    """The model that answers and the one that judges; they may share everything."""

    answering: ModelRoute
    judging: ModelRoute
    jev: JevRoute | None = None
    """Not None: it judges, and `judging` is only the answering one."""
    keys: tuple[Secret, ...] = ()
    """To be redacted everywhere."""

    @property
    def judge_name(self) -> str:
        """Who judges, as the operator writes it."""
        return self.judging.name if self.jev is None else self.jev.name

    @property
    def adapters(self) -> tuple[ModelAdapter, ...]:
        """Each adapter once."""
        first, second = self.answering.adapter, self.judging.adapter
        return (first,) if first is second else (first, second)

    async def warm_up(self) -> None:
        """Load what the first calls need."""
        for adapter in self.adapters:
            await adapter.warm_up()

    async def aclose(self) -> None:
        """Close the connections of both."""
        for adapter in self.adapters:
            await adapter.aclose()


def open_models(
    settings: Settings,
    environ: Mapping[str, str],
    clock: Clock,
    answering: ModelRoute | None = None,
) -> BoundModels:
    """Bind both models; `answering` stands in the place of the configured one.

    A judge of the same provider shares its adapter, so its key, address and prices too. Raises
    `ConfigError`.
    """
    keys: list[Secret | None] = []
    if answering is None:
        answering, key = open_route(settings, environ, clock)
        keys.append(key)
    written, jev = settings.agent.judge_model, None
    if settings.agent.judgment_engine == "jev":
        judging, jev = answering, open_jev(settings, environ)
        keys.append(jev.key)
    elif written in ("", answering.name):
        judging = answering
    else:
        judging, key = open_route(settings, environ, clock, judging=True)
        keys.append(key)
        if judging.adapter.provider == answering.adapter.provider:
            judging = replace(judging, adapter=answering.adapter)
        elif judging.adapter.provider == REHEARSAL:
            raise ConfigError(
                "agent.judge_model is the rehearsal model, which checks nothing; "
                f"remove it, so that {answering.name} judges, or name a model."
            )
    known = tuple(key for key in keys if key is not None)
    return BoundModels(answering, judging, jev, known)


def open_route(
    settings: Settings, environ: Mapping[str, str], clock: Clock, *, judging: bool = False
) -> tuple[ModelRoute, Secret | None]:
    """Bind the configured model; its key comes along so that it can be redacted everywhere.

    `judging`: the model of agent.judge_model. Raises `ConfigError` for an unknown model, a missing
    key, or a cost cap without a price.
    """
    choice = choose_model(settings, settings.agent.judge_model if judging else None)
    name = _name_model(choice)
    key = resolve_provider_key(settings, choice, environ)
    written = settings.providers.get(choice.provider, ProviderSettings())
    anthropic = None
    if key is not None:
        anthropic = AnthropicSettings(key.reveal(), written.base_url, written.prices)
    ref, adapter = open_adapter(name, clock, anthropic=anthropic)
    if choice.provider != REHEARSAL:
        _check_cap(settings, ref, written)
    limits = limits_of(ref)
    room = limits.context_tokens - limits.output_tokens_max
    route = ModelRoute(
        adapter, name, ref.model, room, limits.output_tokens_max, takes_pictures(ref)
    )
    return route, key


def open_adapter(
    model: str,
    clock: Clock,
    *,
    anthropic: AnthropicSettings | None = None,
    policy: RetryPolicy | None = None,
) -> tuple[ModelRef, Adapter]:
    """The adapter for a model; nothing is imported or connected yet.

    Raises `ConfigError`: a configured model without its key never falls back to rehearsal.
    """
    ref = parse_model(model)
    check_built(ref)
    check_route(ref)
    if ref.provider == REHEARSAL:
        return ref, RehearsalAdapter(clock)
    if anthropic is None:
        raise ConfigError(
            f"agent.model is {ref}, but [providers.anthropic] with an api_key is missing; add it."
        )
    return ref, AnthropicAdapter(anthropic, clock, policy)


def _name_model(choice: ModelChoice) -> str:
    if choice.provider == REHEARSAL:
        return REHEARSAL
    facts = load_catalog().get(choice.provider)
    model = choice.model or (facts.default if facts is not None else "")
    ref = parse_model(f"{choice.provider}/{model}")
    check_built(ref)
    return str(ref)


def _check_cap(settings: Settings, ref: ModelRef, written: ProviderSettings) -> None:
    caps = {
        f"profiles.{name}.cost_usd_per_day": profile.cost_usd_per_day
        for name, profile in settings.profiles.items()
    }
    caps["limits.cost_usd_per_turn"] = settings.limits.cost_usd_per_turn
    capped = [key for key, cap in caps.items() if cap is not None]
    if capped and price_of(ref, written.prices) is None:
        raise ConfigError(
            f"{capped[0]} is set, but no price of {ref} is known; "
            f"give it under [providers.{ref.provider}.prices] or remove the limit."
        )
