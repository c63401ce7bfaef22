"""What `geode doctor` says of model and grants: who answers, and which calls could ever run."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence

from geode.errors import ConfigError, GeodeError
from geode.llm.adapters.anthropic import AnthropicAdapter
from geode.llm.routes import open_route
from geode.ports import Finding, SystemClock
from geode.settings import REHEARSAL, Binding, Settings
from geode.settings_keys import choose_model

CHECK_S = 20.0


async def look_at_model(settings: Settings, environ: Mapping[str, str]) -> Sequence[Finding]:
    """Whether the configured model can be asked; nothing is spent."""
    choice = choose_model(settings)
    if choice.provider == REHEARSAL:
        sentence = (
            "The rehearsal model answers: no provider is configured. "
            "geode setup, or [providers.anthropic] with api_key, brings a real one."
        )
        return (Finding("ok", "route", sentence),)
    try:
        route, _ = open_route(settings, environ, SystemClock())
    except ConfigError as error:
        return (Finding("fault", "route", str(error)),)
    try:
        async with asyncio.timeout(CHECK_S):
            if isinstance(route.adapter, AnthropicAdapter):
                await route.adapter.check(route.model)
    except TimeoutError:
        sentence = f"{route.name} did not answer within {CHECK_S:g} s; look at base_url."
        return (Finding("fault", "route", sentence),)
    except GeodeError as error:
        return (Finding("fault", "route", f"{route.name}: {error}"),)
    finally:
        await route.adapter.aclose()
    return (Finding("ok", "route", f"{route.name} takes the key"),)


def look_at_grants(settings: Settings) -> Iterator[Finding]:
    """What each binding's profile lets the agent do; pure."""
    for binding in settings.bindings:
        yield from _look_at_binding(settings, binding)


def _look_at_binding(settings: Settings, binding: Binding) -> Iterator[Finding]:
    profile = settings.profile(binding.profile)
    if binding.people == ():
        sentence = f"{binding.key} lists nobody in people, so only its operators are answered."
        yield Finding("warning", "people", sentence)
    if profile.ask and not binding.approvers:
        sentence = (
            f"profiles.{profile.name} asks before {', '.join(sorted(profile.ask))}, and "
            f"{binding.key} has no approvers: each such call is denied."
        )
        yield Finding("warning", "approvals", sentence)
    if not profile.tools and not profile.ask and not profile.grants_all:
        sentence = f"profiles.{profile.name} of {binding.key} grants no tool: it can only talk."
        yield Finding("warning", "profile", sentence)
    else:
        count = len(profile.tools) + len(profile.ask)
        yield Finding("ok", "binding", f"{binding.key}: profile {profile.name}, {count} tools")
