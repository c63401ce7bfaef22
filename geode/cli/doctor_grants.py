"""What `geode doctor` says of model and grants: who answers, and which calls could ever run."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence

from geode.errors import ConfigError, GeodeError
from geode.llm.adapters.anthropic import AnthropicAdapter
from geode.llm.routes import ModelRoute, open_models
from geode.ports import Finding, SystemClock
from geode.settings import REHEARSAL, Binding, Settings

CHECK_S = 20.0


async def look_at_model(settings: Settings, environ: Mapping[str, str]) -> Sequence[Finding]:
    """Whether the configured models can be asked, to answer and to judge; nothing is spent."""
    try:
        models = open_models(settings, environ, SystemClock())
    except ConfigError as error:
        return (Finding("fault", "route", str(error)),)
    answering, judging = models.answering, models.judging
    try:
        found = [await _check_route("route", answering)]
        if models.jev is not None:
            # A question costs money, and there is nothing that asks without one.
            found.append(Finding("ok", "judge", f"{models.judge_name} judges the answers"))
        elif judging is answering:
            found.append(Finding("ok", "judge", f"{judging.name} also judges the answers"))
        else:
            found.append(await _check_route("judge", judging))
    finally:
        await models.aclose()
    return found


async def _check_route(subject: str, route: ModelRoute) -> Finding:
    if route.name == REHEARSAL:
        sentence = (
            "The rehearsal model answers: no provider is configured. "
            "geode setup, or [providers.anthropic] with api_key, brings a real one."
        )
        return Finding("ok", subject, sentence)
    try:
        async with asyncio.timeout(CHECK_S):
            if isinstance(route.adapter, AnthropicAdapter):
                await route.adapter.check(route.model)
    except TimeoutError:
        sentence = f"{route.name} did not answer within {CHECK_S:g} s; look at base_url."
        return Finding("fault", subject, sentence)
    except GeodeError as error:
        return Finding("fault", subject, f"{route.name}: {error}")
    return Finding("ok", subject, f"{route.name} takes the key")


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
