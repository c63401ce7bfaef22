"""Requests to Slack against the SDK's own types: arguments of methods, blocks, forms, metadata.

Slack publishes no current API document as a package, so the official client stands for it.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import orjson
from slack_sdk.errors import SlackObjectFormationError
from slack_sdk.models.attachments import Attachment
from slack_sdk.models.basic_objects import JsonObject as SlackObject
from slack_sdk.models.blocks import Block
from slack_sdk.models.metadata import Metadata
from slack_sdk.models.views import View
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.webhook.async_client import AsyncWebhookClient

from channels.rehearsal.observers import Heard

RESPONSE_URL = "response_url"
EXCEPTIONS: dict[tuple[str, str], str] = {}
"""Arguments that the platform takes and the SDK does not name: (method, argument), reason."""


@cache
def _arguments(method: str) -> dict[str, bool] | None:
    """The arguments that the SDK names for a method, and whether each must be given."""
    if method == RESPONSE_URL:
        named: Any = AsyncWebhookClient.send
    else:
        named = getattr(AsyncWebClient, method.replace(".", "_"), None)
    if named is None:
        return None
    kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    found = [p for p in inspect.signature(named).parameters.values() if p.kind not in kinds]
    return {p.name: p.default is p.empty for p in found if p.name not in ("self", "headers")}


def check_slack(heard: Heard) -> list[str]:
    """What the SDK's types have against a call."""
    known = _arguments(heard.address)
    if known is None:
        return [f"no such method: {heard.address}"]
    assert isinstance(heard.body, dict)
    body = {name: _read(name, value) for name, value in heard.body.items()}
    faults = [
        f"unknown argument {name}"
        for name in body
        if name not in known and (heard.address, name) not in EXCEPTIONS
    ]
    faults += [
        f"missing argument {name}"
        for name, is_due in known.items()
        if is_due and name not in body and name != "app_token"
    ]
    return faults + list(_check_content(body))


def _read(name: str, value: object) -> Any:
    """A form carries what is nested as a text."""
    is_nested = name in ("blocks", "attachments", "view", "metadata", "files")
    return orjson.loads(value) if is_nested and isinstance(value, str) else value


def _check_content(body: dict[str, Any]) -> Iterator[str]:
    for block in body.get("blocks") or ():
        yield from _check_block(block)
    for attachment in body.get("attachments") or ():
        yield from _check_same(attachment, lambda one=attachment: Attachment(**one))
    if view := body.get("view"):
        yield from _check_same(view, lambda: View(**view))
        for block in view.get("blocks", ()):
            yield from _check_block(block)
    if metadata := body.get("metadata"):
        yield from _check_same(metadata, lambda: Metadata(**metadata))


def _check_block(block: dict[str, Any]) -> Iterator[str]:
    yield from _check_same(block, lambda: Block.parse(block))


def _check_same(said: dict[str, Any], make: Callable[[], SlackObject | None]) -> Iterator[str]:
    """The SDK reads it, finds it valid, and says the same again: it knows every field."""
    try:
        made = make()
        again = made.to_dict() if made is not None else None
    except (SlackObjectFormationError, TypeError, AttributeError) as error:
        yield f"{said.get('type', 'object')}: {error}"
        return
    if again is None:
        yield f"unknown block {said.get('type')!r}"
    elif lost := sorted(_paths(said) - _paths(again)):
        yield f"{said.get('type', 'object')}: the SDK does not know {', '.join(lost)}"


def _paths(value: object, at: str = "") -> set[str]:
    """Every leaf with the way to it."""
    if isinstance(value, dict):
        return {path for key, one in value.items() for path in _paths(one, f"{at}.{key}")}
    if isinstance(value, list):
        return {path for number, one in enumerate(value) for path in _paths(one, f"{at}[{number}]")}
    return {f"{at}={value!r}"}


logging.getLogger("slack_sdk.models").setLevel(logging.ERROR)
