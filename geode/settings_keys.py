"""Which model is meant, and the secrets behind references: what the composer asks at start."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from geode.errors import ConfigError
from geode.settings import JUDGE_PROVIDERS, REHEARSAL, Section, Settings
from geode.settings_secrets import Secret, SecretRef, resolve_secret


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """The configured model, split at the first `/`."""

    provider: str
    model: str
    """The provider's own id; empty means the provider's default in the catalogue."""


def choose_model(settings: Settings, written: str | None = None) -> ModelChoice:
    """The model that answers; `rehearsal` only when neither a model nor a provider is written."""
    text = settings.agent.model if written is None else written
    answering = [name for name in settings.providers if name not in JUDGE_PROVIDERS]
    if not text and answering:
        return ModelChoice(answering[0], "")
    if text in {"", REHEARSAL}:
        return ModelChoice(REHEARSAL, REHEARSAL)
    provider, _, model = text.partition("/")
    return ModelChoice(provider, model)


def resolve_provider_key(
    settings: Settings, choice: ModelChoice, environ: Mapping[str, str]
) -> Secret | None:
    """The chosen provider's key; None only for rehearsal.

    Raises `ConfigError` when no key is configured or the configured one is missing: a configured
    model never falls back to rehearsal.
    """
    if choice.provider == REHEARSAL:
        return None
    provider = settings.providers.get(choice.provider)
    if provider is None or provider.api_key is None:
        variable = f"{choice.provider.upper()}_API_KEY"
        raise ConfigError(
            f"The model {choice.provider}/{choice.model or '(default)'} has no key; "
            f'write [providers.{choice.provider}] with api_key = "env:{variable}".'
        )
    return resolve_secret(provider.api_key, environ)


def resolve_section(section: Section, environ: Mapping[str, str]) -> dict[str, Secret]:
    """Every secret that one section refers to, by key; `tokens.ana` in a table.

    Raises `SecretMissingError` at the first missing one: that section alone is degraded.
    """
    return {name: resolve_secret(ref, environ) for name, ref in list_references(section)}


def list_references(section: Section) -> Iterator[tuple[str, SecretRef]]:
    """Every secret that one section refers to: `token`, and `tokens.ana` of a table of them."""
    for name in type(section).model_fields:
        value: object = getattr(section, name)
        below = cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {"": value}
        for key, found in below.items():
            if isinstance(found, SecretRef):
                yield f"{name}.{key}" if key else name, found
