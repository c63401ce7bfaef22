"""Which model judges: the answering one, or one of its own under its own name and price."""

from __future__ import annotations

from typing import Any

import pytest

from geode.errors import ConfigError
from geode.llm.catalog import ModelRef, price_of
from geode.llm.routes import BoundModels, open_models
from geode.ports import SystemClock
from geode.settings import Settings

KEY = {"K": "sk-ant-0123456789"}
OPUS, SONNET = "anthropic/claude-opus-5-5", "anthropic/claude-sonnet-5"
UNPRICED = "anthropic/claude-opus-4-5"


def bind(judge_model: str, model: str = OPUS, **more: Any) -> BoundModels:
    agent = {"model": model, "judge_model": judge_model}
    providers = {"anthropic": {"api_key": "env:K"}}
    settings = Settings.model_validate({"agent": agent, "providers": providers, **more})
    return open_models(settings, KEY, SystemClock())


@pytest.mark.parametrize("written", ["", OPUS])
def test_answering_model_judges_unless_another_is_written(written: str) -> None:
    models = bind(written)

    assert models.judging is models.answering
    assert models.judge_name == OPUS


def test_another_model_of_the_provider_judges_over_the_same_connection() -> None:
    models = bind(SONNET)

    assert (models.judge_name, models.judging.model) == (SONNET, "claude-sonnet-5")
    assert (models.answering.name, models.answering.model) == (OPUS, "claude-opus-5-5")
    assert models.judging.adapter is models.answering.adapter
    assert models.adapters == (models.answering.adapter,)


def test_cost_limit_needs_the_judges_price_too() -> None:
    assert price_of(ModelRef("anthropic", "claude-opus-4-5")) is None

    with pytest.raises(ConfigError, match=r"no price of anthropic/claude-opus-4-5 is known"):
        bind(UNPRICED, limits={"cost_usd_per_turn": 1.0})


def test_rehearsal_judges_no_real_model() -> None:
    with pytest.raises(ConfigError, match="the rehearsal model, which checks nothing"):
        bind("rehearsal")
