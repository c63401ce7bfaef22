"""Requests to a server through the SDK, each bounded, each failure in one sentence."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

import httpx2
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolRequest, CallToolRequestParams, PaginatedRequestParams
from pydantic import BaseModel, ConfigDict

from geode.errors import GeodeError, McpCallError, McpServerError
from geode.mcp.definitions import Definition, read_definition
from geode.mcp.results import Answer
from geode.mcp.words import FIELD_CHARS_MAX, clean_words
from geode.messages import JsonObject

PAGES_MAX = 50
TOOLS_MAX = 1_000


class _Answer(BaseModel):
    """A result as it came; the SDK has held it against the protocol's version before."""

    model_config = ConfigDict(extra="allow")


async def fetch_definitions(
    client: Client, take_out: Callable[[str], str]
) -> tuple[Definition, ...]:
    """Every tool that the server lists now; raises `McpServerError` for a list without end."""
    found: list[Definition] = []
    cursor: str | None = None
    for _ in range(PAGES_MAX):
        page = await client.session.list_tools(params=PaginatedRequestParams(cursor=cursor))
        rows = [
            each.model_dump(mode="json", by_alias=True, exclude_none=True) for each in page.tools
        ]
        found.extend(read_definition(row, take_out) for row in rows[: TOOLS_MAX + 1])
        if len(found) > TOOLS_MAX:
            break
        if not page.next_cursor:
            return tuple(found)
        cursor = page.next_cursor
    raise McpServerError(f"it lists more than {TOOLS_MAX} tools or {PAGES_MAX} pages of them")


async def ask_server(
    client: Client, server: str, tool: str, arguments: JsonObject, limit_s: float
) -> Answer:
    """The server's answer to one call, as JSON; raises `McpCallError` when there is none."""
    request = CallToolRequest(params=CallToolRequestParams(name=tool, arguments=dict(arguments)))
    try:
        async with asyncio.timeout(limit_s):
            result = await client.session.send_request(request, _Answer)
    except TimeoutError:
        raise McpCallError(f"the server {server} did not answer within {limit_s:.3g} s") from None
    except MCPError as error:
        words = clean_words(error.message, FIELD_CHARS_MAX)
        if error.code == INVALID_PARAMS:
            return _refusal(server, words)
        raise McpCallError(f"the server {server} gave no result ({words})") from None
    except (ValueError, RuntimeError, OSError, httpx2.HTTPError) as error:
        raise McpCallError(
            f"the answer of the server {server} cannot be read ({type(error).__name__})"
        ) from None
    answer: Answer = result.model_extra or {}
    if answer.get("resultType", "complete") != "complete":
        raise McpCallError(
            f"the server {server} asked for more in the middle of the call, which it is never given"
        )
    return answer


def explain_failure(error: BaseException, start_timeout_s: float) -> str:
    """Why a connection ended, from the first cause."""
    cause = _first_cause(error)
    words = clean_words(str(cause), FIELD_CHARS_MAX)
    match cause:
        case GeodeError():
            said = str(cause)
        case TimeoutError():
            said = f"it did not answer within {start_timeout_s:g} s"
        case MCPError():
            said = f"it answered with an error ({words})"
        case httpx2.ConnectError():
            said = "it cannot be reached"
        case httpx2.HTTPError():
            said = f"the connection failed ({words})"
        case ValueError():
            said = "what it says cannot be read"
        case _:
            said = f"the connection failed ({type(cause).__name__}: {words})"
    return said


def _first_cause(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        error = group.exceptions[0]
    return error


def _refusal(server: str, words: str) -> Answer:
    text = f"The server {server} refused the call: {words}"
    return {"isError": True, "content": [{"type": "text", "text": text}]}
