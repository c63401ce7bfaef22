"""A configured model becomes the adapter that reaches it, or one sentence that says why not."""

from __future__ import annotations

from geode.errors import ConfigError
from geode.llm.adapters.anthropic import AnthropicAdapter, AnthropicSettings
from geode.llm.catalog import ModelRef, check_built, check_route, parse_model
from geode.llm.rehearsal import RehearsalAdapter
from geode.llm.retry import RetryPolicy
from geode.ports import Clock

Adapter = AnthropicAdapter | RehearsalAdapter


def open_adapter(
    model: str,
    clock: Clock,
    *,
    anthropic: AnthropicSettings | None = None,
    policy: RetryPolicy | None = None,
) -> tuple[ModelRef, Adapter]:
    """The adapter for `agent.model`; nothing is imported or connected yet.

    Raises `ConfigError`: a configured model without its key never falls back to rehearsal.
    """
    ref = parse_model(model)
    check_built(ref)
    check_route(ref)
    if ref.provider == "rehearsal":
        return ref, RehearsalAdapter(clock)
    if anthropic is None:
        raise ConfigError(
            f"agent.model is {ref}, but [providers.anthropic] with an api_key is missing; add it."
        )
    return ref, AnthropicAdapter(anthropic, clock, policy)
