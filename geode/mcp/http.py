"""The protocol over HTTP to one exact origin: no redirect leaves it, no answer is without end."""

from __future__ import annotations

import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager

import httpx2
from mcp.client import Transport
from mcp.client.streamable_http import streamable_http_client

MESSAGE_BYTES_MAX = 16 * 1024 * 1024
CONNECT_S = 10.0
WRITE_S = 30.0

Origin = tuple[str, str, int | None]


@asynccontextmanager
async def _open(url: str, headers: Mapping[str, str]) -> AsyncGenerator[object]:
    client = httpx2.AsyncClient(
        transport=OneOrigin(httpx2.URL(url)),
        headers={**headers, "Accept-Encoding": "identity"},
        # Whoever waits for an answer has a time limit of its own; a stream of news has none.
        timeout=httpx2.Timeout(WRITE_S, connect=CONNECT_S, read=None),
        follow_redirects=False,
        trust_env=False,
    )
    streams = streamable_http_client(url, http_client=client, max_sse_event_size=MESSAGE_BYTES_MAX)
    async with client, streams as pair:
        yield pair


def open_http(url: str, headers: Mapping[str, str]) -> Transport:
    """Speak with the server at this address; nothing is sent anywhere else.

    Entered and left in one task. A lost connection ends the block it is used in.
    """
    return _open(url, headers)  # pyright: ignore[reportReturnType] - streams by their shape


class OneOrigin(httpx2.AsyncBaseTransport):
    """Reaches one scheme, host and port; no proxy of the environment stands between."""

    def __init__(self, url: httpx2.URL) -> None:
        self._origin = _origin_of(url)
        self._inner = httpx2.AsyncHTTPTransport(
            verify=ssl.create_default_context(), trust_env=False
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send it, when it goes where the operator said."""
        if _origin_of(request.url) != self._origin:
            raise httpx2.UnsupportedProtocol(
                "the server pointed to another address, which is not followed", request=request
            )
        response = await self._inner.handle_async_request(request)
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            await response.aclose()
            raise httpx2.DecodingError("the answer is compressed, unasked", request=request)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
        body = response.stream if is_stream else _Capped(response.stream, request)
        return httpx2.Response(
            response.status_code,
            headers=response.headers,
            stream=body,
            request=request,
            extensions=response.extensions,
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()


class _Capped(httpx2.AsyncByteStream):
    """A body that ends with an error behind the limit."""

    def __init__(self, inner: httpx2.AsyncByteStream, request: httpx2.Request) -> None:
        self._inner = inner
        self._request = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._inner:
            size += len(chunk)
            if size > MESSAGE_BYTES_MAX:
                raise httpx2.ReadError(
                    f"the answer has more than {MESSAGE_BYTES_MAX:,} bytes", request=self._request
                )
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


def _origin_of(url: httpx2.URL) -> Origin:
    port = url.port or {"http": 80, "https": 443}.get(url.scheme)
    return url.scheme, url.host, port
