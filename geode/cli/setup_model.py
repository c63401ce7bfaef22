"""The model of `geode setup`: which one answers, and whether its provider takes the key."""

from __future__ import annotations

import asyncio

from geode.cli.setup_answers import ModelAnswer, SecretAnswer
from geode.cli.setup_draft import Draft
from geode.cli.setup_secrets import file_of
from geode.errors import ConfigError
from geode.llm.adapters.anthropic import AnthropicAdapter, AnthropicSettings
from geode.llm.catalog import load_catalog
from geode.llm.errors import BadRequest, ProviderError, Unauthorised
from geode.ports import SystemClock
from geode.settings import PROVIDERS_BUILT, REHEARSAL, AgentSettings, ProviderSettings
from geode.settings_secrets import SecretRef

ASK_S = 20.0
REHEARSED = f"{REHEARSAL}: follows simple rules, needs no key, and shows that everything works"


def ask_model(draft: Draft) -> None:
    """Ask for the model and its key, and check both where that costs nothing."""
    questions = draft.questions
    present = draft.settings()
    provider = present.agent.model.partition("/")[0] or next(iter(present.providers), REHEARSAL)
    if not present.agent.model and provider == REHEARSAL and (found := _find_key(draft)):
        provider = found
    options = (REHEARSAL, *PROVIDERS_BUILT)
    questions.say("\nWhich model answers?")
    shown = (REHEARSED, *(f"{name}: needs an API key" for name in PROVIDERS_BUILT))
    chosen = options[questions.choose("Model", shown, options.index(provider))]
    if chosen == REHEARSAL:
        draft.answers.model = ModelAnswer(REHEARSAL)
        return
    model = present.agent.model.partition("/")[2] if chosen == provider else ""
    written = present.providers.get(chosen, ProviderSettings()).api_key
    _ask_provider(draft, chosen, model or load_catalog()[chosen].default, written)


def _find_key(draft: Draft) -> str:
    """The first built provider whose key stands in the environment."""
    return next((n for n in PROVIDERS_BUILT if draft.environ.get(_variable_of(n))), "")


def _variable_of(provider: str) -> str:
    return f"{provider.upper()}_API_KEY"


def _ask_provider(draft: Draft, provider: str, model: str, written: SecretRef | None) -> None:
    questions = draft.questions
    ref = written or SecretRef("env", _variable_of(provider))
    is_refused, key = False, None
    while True:
        if key is None:
            file = file_of(provider, "api_key")
            key = draft.secrets.ask("API key", ref, file, is_refused=is_refused)
        model = questions.ask("Model id", model, lambda text: _read_model(provider, text))
        answer = ModelAnswer(f"{provider}/{model}", provider, key)
        draft.answers.model = answer
        try:
            asyncio.run(_check(draft, provider, model, key))
        except (Unauthorised, ConfigError) as error:
            questions.say(f"  {error} Give another key.")
            is_refused, key = True, None
        except BadRequest as error:
            questions.say(f"  {error} Give another model id.")
        except (ProviderError, TimeoutError) as error:
            why = str(error) or f"{provider} did not answer within {ASK_S:g} s."
            questions.say(f"  {why} The key is not checked; `geode doctor` looks again.")
            return
        else:
            questions.say(f"  {provider} accepts the key and knows the model.")
            return


def _read_model(provider: str, text: str) -> str:
    if not text or text.split() != [text]:
        raise ValueError("Type the model's id as the provider writes it, without spaces.")
    AgentSettings(model=f"{provider}/{text}")
    return text


async def _check(draft: Draft, provider: str, model: str, key: SecretAnswer) -> None:
    base_url = draft.settings().providers[provider].base_url
    adapter = AnthropicAdapter(AnthropicSettings(key.value, base_url), SystemClock())
    try:
        async with asyncio.timeout(ASK_S):
            await adapter.check(model)
    finally:
        await adapter.aclose()
