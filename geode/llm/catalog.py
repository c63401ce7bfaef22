"""Which models exist, by which routes, at what price; an id is used exactly as it is written."""

from __future__ import annotations

import difflib
import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, TypeAlias, cast

from geode.errors import ConfigError
from geode.steps import Usage

CONTEXT_TOKENS_DEFAULT = 200_000
"""Assumed for a model whose window is not published: the smallest of the current ones."""
OUTPUT_TOKENS_DEFAULT = 8_192
"""Assumed for a model whose output limit is not published: every current model accepts it."""

BUILT = frozenset({"anthropic", "rehearsal"})
"""Providers that have an adapter."""


@dataclass(frozen=True, slots=True)
class Price:
    """USD per million tokens, which is micro-USD per token."""

    input: float
    output: float
    cached_input: float


OwnPrices: TypeAlias = Mapping[str, tuple[float, float, float]]
"""The operator's prices by model id: input, output, cached input."""


@dataclass(frozen=True, slots=True)
class ModelLimits:
    """How much a model reads and writes in one call."""

    context_tokens: int = CONTEXT_TOKENS_DEFAULT
    output_tokens_max: int = OUTPUT_TOKENS_DEFAULT


@dataclass(frozen=True, slots=True)
class ModelRef:
    """One model as the configuration writes it: `provider/model`."""

    provider: str
    model: str

    def __str__(self) -> str:
        return f"{self.provider}/{self.model}"


@dataclass(frozen=True, slots=True)
class ProviderFacts:
    """What the catalogue says about one provider."""

    name: str
    routes: tuple[str, ...]
    refused: tuple[str, ...] = ()
    base_url: str = ""
    default: str = ""
    models: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Published ids, each with the routes that may use it."""
    prices: Mapping[str, Price] = field(default_factory=dict[str, Price])
    limits: Mapping[str, ModelLimits] = field(default_factory=dict[str, ModelLimits])
    cache_write_factor: float = 1.0
    judges_only: bool = False
    takes_pictures: bool = False


@cache
def load_catalog() -> Mapping[str, ProviderFacts]:
    """The packaged catalogue, read once."""
    text = files("geode.llm").joinpath("catalog.toml").read_text(encoding="utf-8")
    return {name: _read_provider(name, table) for name, table in tomllib.loads(text).items()}


def parse_model(text: str) -> ModelRef:
    """Split `provider/model` at the first slash; raises `ConfigError` with the nearest name."""
    catalog = load_catalog()
    provider, slash, model = text.partition("/")
    if text == "rehearsal":
        return ModelRef("rehearsal", "rehearsal")
    if provider not in catalog:
        raise ConfigError(
            f'The model "{text}" names no known provider; {_nearest_hint(provider, catalog)}.'
        )
    facts = catalog[provider]
    if not slash or not model:
        example = facts.default or "MODEL"
        raise ConfigError(
            f'The model "{text}" needs the form provider/model, such as "{provider}/{example}".'
        )
    if facts.judges_only:
        raise ConfigError(f'"{text}" only judges answers; choose another provider for agent.model.')
    return ModelRef(provider, model)


def check_built(ref: ModelRef) -> None:
    """Raise `ConfigError` when the provider is in the catalogue but has no adapter yet."""
    if ref.provider not in BUILT:
        raise ConfigError(
            f"The provider {ref.provider} is not built yet, so {ref} cannot be used; "
            "use anthropic/… or rehearsal."
        )


def check_route(ref: ModelRef, route: str = "") -> str:
    """The route to use (the first when none is given); refused and unknown ones are errors."""
    facts = load_catalog()[ref.provider]
    chosen = route or facts.routes[0]
    if chosen in facts.refused:
        raise ConfigError(
            f"The {chosen} route of {ref.provider} is a personal subscription and is refused; "
            f'use route "{facts.routes[0]}" with a key of its own.'
        )
    if chosen not in facts.routes:
        raise ConfigError(
            f"{ref.provider} has no route {chosen}; {_nearest_hint(chosen, facts.routes)}."
        )
    if chosen not in facts.models.get(ref.model, facts.routes):
        raise ConfigError(f"The model {ref} cannot be used by the route {chosen}.")
    return chosen


def is_published(ref: ModelRef) -> bool:
    """Whether the catalogue lists this exact id; an unlisted one is still used as written."""
    return ref.model in load_catalog()[ref.provider].models


def nearest_model(ref: ModelRef) -> str:
    """The listed id that looks most like this one, for a hint; empty when none is close."""
    found = difflib.get_close_matches(ref.model, load_catalog()[ref.provider].models, n=1)
    return found[0] if found else ""


def limits_of(ref: ModelRef) -> ModelLimits:
    """The published window and output limit, else the conservative defaults."""
    return load_catalog()[ref.provider].limits.get(ref.model, ModelLimits())


def takes_pictures(ref: ModelRef) -> bool:
    """Whether the provider's models look at pictures."""
    return load_catalog()[ref.provider].takes_pictures


def price_of(ref: ModelRef, own: OwnPrices | None = None) -> Price | None:
    """The operator's price, else the published one, else None: unknown is not zero."""
    if own is not None and ref.model in own:
        return Price(*own[ref.model])
    return load_catalog()[ref.provider].prices.get(ref.model)


def cost_micro_usd(ref: ModelRef, usage: Usage, own: OwnPrices | None = None) -> int | None:
    """What the usage costs, rounded up to whole micro-USD; None when the price is unknown."""
    price = price_of(ref, own)
    if price is None:
        return None
    write = price.input * load_catalog()[ref.provider].cache_write_factor
    # Whole nano-USD per token first: sums of floats would drift above an exact price.
    nano = (
        usage.input_tokens * round(price.input * 1000)
        + usage.output_tokens * round(price.output * 1000)
        + usage.cache_read_tokens * round(price.cached_input * 1000)
        + usage.cache_write_tokens * round(write * 1000)
    )
    return math.ceil(nano / 1000)


def _nearest_hint(name: str, known: Iterable[str]) -> str:
    names = list(known)
    close = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.5)
    return f'did you mean "{close[0]}"' if close else f"known are {', '.join(names)}"


def _read_provider(name: str, table: dict[str, Any]) -> ProviderFacts:
    routes = tuple(cast("list[str]", table["routes"]))
    listed = cast("list[str] | dict[str, list[str]]", table.get("models", []))
    models = (
        {model: tuple(ways) for model, ways in listed.items()}
        if isinstance(listed, dict)
        else dict.fromkeys(listed, routes)
    )
    prices = cast("dict[str, list[float]]", table.get("prices", {}))
    limits = cast("dict[str, list[int]]", table.get("limits", {}))
    return ProviderFacts(
        name=name,
        routes=routes,
        refused=tuple(cast("list[str]", table.get("refused", []))),
        base_url=str(table.get("base_url", "")),
        default=str(table.get("default", "")),
        models=models,
        prices={model: Price(*row) for model, row in prices.items()},
        limits={model: ModelLimits(*row) for model, row in limits.items()},
        cache_write_factor=float(table.get("cache_write_factor", 1.0)),
        judges_only=bool(table.get("judges_only", False)),
        takes_pictures=bool(table.get("takes_pictures", False)),
    )
