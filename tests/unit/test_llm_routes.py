"""A configured model opens its adapter or says in one sentence why not."""

from __future__ import annotations

import pytest

from geode.errors import ConfigError
from geode.llm.adapters.anthropic import AnthropicAdapter, AnthropicSettings
from geode.llm.catalog import ModelRef
from geode.llm.rehearsal import RehearsalAdapter
from geode.llm.routes import open_adapter
from geode.ports import SystemClock

KEYED = AnthropicSettings("key")


def test_model_opens_the_adapter_of_its_provider() -> None:
    ref, adapter = open_adapter("anthropic/claude-opus-5-5", SystemClock(), anthropic=KEYED)
    offline = open_adapter("rehearsal", SystemClock())

    assert (ref, type(adapter)) == (ModelRef("anthropic", "claude-opus-5-5"), AnthropicAdapter)
    assert adapter.provider == "anthropic"
    assert (offline[0].model, type(offline[1])) == ("rehearsal", RehearsalAdapter)


def test_model_without_its_key_is_an_error_and_never_rehearsal() -> None:
    with pytest.raises(ConfigError, match="api_key is missing"):
        open_adapter("anthropic/claude-opus-5-5", SystemClock())


@pytest.mark.parametrize(
    ("model", "words"),
    [("openai/gpt-6-sol", "is not built yet"), ("anthropc/claude-opus-5", "did you mean")],
)
def test_model_that_cannot_be_used_is_an_error(model: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        open_adapter(model, SystemClock(), anthropic=KEYED)
