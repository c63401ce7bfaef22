"""The catalogue: exact ids, refused routes, prices."""

from __future__ import annotations

import pytest

from geode.errors import ConfigError
from geode.llm.catalog import (
    ModelLimits,
    ModelRef,
    check_built,
    check_route,
    cost_micro_usd,
    is_published,
    limits_of,
    load_catalog,
    nearest_model,
    parse_model,
    price_of,
)
from geode.steps import Usage


@pytest.mark.parametrize(
    ("text", "provider", "model"),
    [
        ("anthropic/claude-opus-5-5", "anthropic", "claude-opus-5-5"),
        ("openrouter/openrouter/free", "openrouter", "openrouter/free"),
        ("openrouter/meta/llama-9:free", "openrouter", "meta/llama-9:free"),
        ("local/qwen3:8b", "local", "qwen3:8b"),
        ("anthropic/claude-opus-4-5", "anthropic", "claude-opus-4-5"),
        ("rehearsal", "rehearsal", "rehearsal"),
    ],
)
def test_model_is_split_at_the_first_slash_and_kept_as_written(
    text: str, provider: str, model: str
) -> None:
    assert parse_model(text) == ModelRef(provider, model)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("antropic/claude-opus-5-5", 'did you mean "anthropic"'),
        ("Anthropic/claude-opus-5-5", 'did you mean "anthropic"'),
        ("zzz/model", "known are anthropic"),
        ("claude-opus-5-5", "names no known provider"),
        ("anthropic", '"anthropic/claude-opus-5-5"'),
        ("anthropic/", '"anthropic/claude-opus-5-5"'),
        ("", "names no known provider"),
        ("jev/jev-1.13.0", "only judges"),
    ],
)
def test_wrong_model_is_one_sentence_with_a_way_out(text: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_model(text)

    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("provider", ["openai", "glm", "openrouter", "local"])
def test_provider_without_an_adapter_says_it_is_not_built_yet(provider: str) -> None:
    with pytest.raises(ConfigError, match="is not built yet"):
        check_built(parse_model(f"{provider}/some-model"))


@pytest.mark.parametrize(
    ("model", "route"),
    [
        ("anthropic/claude-opus-5-5", "oauth"),
        ("anthropic/claude-opus-5-5", "subscription"),
        ("glm/glm-5.3", "coding-plan"),
    ],
)
def test_subscription_route_is_refused(model: str, route: str) -> None:
    with pytest.raises(ConfigError, match="personal subscription and is refused"):
        check_route(parse_model(model), route)


def test_route_defaults_to_the_first_and_follows_the_model() -> None:
    assert check_route(parse_model("openai/gpt-5.5")) == "api"
    assert check_route(parse_model("openai/gpt-6-sol"), "codex") == "codex"
    with pytest.raises(ConfigError, match="cannot be used by the route codex"):
        check_route(parse_model("openai/gpt-5.5"), "codex")
    with pytest.raises(ConfigError, match='did you mean "codex"'):
        check_route(parse_model("openai/gpt-6-sol"), "codexx")


def test_unlisted_id_is_kept_and_its_nearest_name_is_only_a_hint() -> None:
    ref = parse_model("anthropic/claude-opus-55")

    assert ref.model == "claude-opus-55"
    assert not is_published(ref)
    assert nearest_model(ref) == "claude-opus-5-5"
    assert is_published(parse_model("anthropic/claude-opus-4-5"))


def test_cost_counts_every_kind_of_token_in_whole_micro_usd() -> None:
    ref = parse_model("anthropic/claude-opus-5-5")
    usage = Usage(
        input_tokens=1000, output_tokens=100, cache_read_tokens=10_000, cache_write_tokens=200
    )

    assert cost_micro_usd(ref, usage) == 4 * 1000 + 20 * 100 + 2000 + 5 * 200
    assert cost_micro_usd(ref, Usage(cache_read_tokens=1)) == 1
    assert cost_micro_usd(ref, Usage()) == 0


def test_unknown_price_is_unknown_and_the_operator_may_give_one() -> None:
    ref = parse_model("anthropic/claude-opus-4-6")
    own = {"claude-opus-4-6": (1.0, 2.0, 0.5)}

    assert cost_micro_usd(ref, Usage(input_tokens=10)) is None
    assert cost_micro_usd(ref, Usage(input_tokens=10, cache_read_tokens=4), own) == 12
    assert price_of(parse_model("anthropic/claude-opus-5"), own) is not None


def test_rehearsal_costs_nothing() -> None:
    assert cost_micro_usd(parse_model("rehearsal"), Usage(input_tokens=5)) == 0


def test_limits_are_published_or_conservative() -> None:
    assert limits_of(parse_model("anthropic/claude-opus-5-5")) == ModelLimits(200_000, 8_192)
    assert limits_of(parse_model("anthropic/claude-opus-4-5")).output_tokens_max == 64_000


def test_every_default_is_a_listed_model_and_every_price_has_its_model() -> None:
    for facts in load_catalog().values():
        assert not facts.default or facts.default in facts.models
        assert set(facts.prices) <= set(facts.models)
        assert set(facts.limits) <= set(facts.models)
        assert all(set(ways) <= set(facts.routes) for ways in facts.models.values())
