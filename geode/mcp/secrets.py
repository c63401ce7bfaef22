"""A server's environment or headers with their secrets; what is not written is not there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from geode.errors import McpServerError
from geode.settings_mcp import McpServerSettings
from geode.settings_secrets import SecretMissingError, SecretRef, resolve_secret


@dataclass(frozen=True, slots=True)
class Resolved:
    """Names with their values, and which of these are secret."""

    values: Mapping[str, str]
    secrets: tuple[str, ...]

    def __repr__(self) -> str:
        return f"Resolved({', '.join(self.values)})"


def resolve_environment(settings: McpServerSettings, environ: Mapping[str, str]) -> Resolved:
    """The child's whole environment; raises `McpServerError` for a secret that is not there."""
    values: dict[str, str] = {}
    secrets: list[str] = []
    for name, written in settings.env.items():
        if isinstance(written, SecretRef):
            values[name] = _reveal(written, environ)
            secrets.append(values[name])
        else:
            values[name] = written
    return Resolved(values, tuple(secrets))


def resolve_headers(settings: McpServerSettings, environ: Mapping[str, str]) -> Resolved:
    """What is sent beside the protocol's own headers; raises `McpServerError`."""
    values = {name: _reveal(ref, environ) for name, ref in settings.headers.items()}
    secrets = list(values.values())
    if settings.token is not None:
        token = _reveal(settings.token, environ)
        values["Authorization"] = f"Bearer {token}"
        secrets.append(token)
    return Resolved(values, tuple(secrets))


def _reveal(ref: SecretRef, environ: Mapping[str, str]) -> str:
    try:
        return resolve_secret(ref, environ).reveal()
    except SecretMissingError as error:
        raise McpServerError(str(error)) from error
