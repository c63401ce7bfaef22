"""One bounded request to the search service that the operator configured, and to nowhere else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import orjson

from geode.errors import FetchRefusedError, SearchFailedError
from geode.messages import JsonObject, JsonValue
from geode.tools.fetch.decode import ACCEPTED_ENCODINGS, BodyDecoder

if TYPE_CHECKING:
    import aiohttp

SECONDS_MAX = 15.0
BYTES_MAX = 2_000_000
"""Read after decompression."""
CONNECT_S = 5.0


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One GET to the operator's own address; parameters are encoded by the client."""

    url: str
    parameters: Mapping[str, str]
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """What the service answered."""

    status: int
    headers: Mapping[str, str]
    """With lower-case names."""
    body: bytes

    def read_object(self) -> JsonObject:
        """The body as one JSON object; raises `SearchFailedError`."""
        try:
            value: JsonValue = orjson.loads(self.body)
        except orjson.JSONDecodeError:
            is_page = self.body.lstrip()[:1] == b"<"
            what = "a web page instead of JSON" if is_page else "something that is not JSON"
            raise SearchFailedError(f"The search service answered {what}.") from None
        if not isinstance(value, dict):
            raise SearchFailedError("The search service answered JSON of an unknown form.")
        return value


async def ask(request: SearchRequest, *, seconds_max: float = SECONDS_MAX) -> SearchAnswer:
    """Make the request once; raises `SearchFailedError`, which names no address and no key.

    The service may stand on a private address, since the operator wrote it; so nothing else may
    be reached from here: redirects, proxies of the environment and cookies are not followed.
    """
    try:
        async with asyncio.timeout(seconds_max), _get(request) as response:
            if 300 <= response.status < 400:
                raise SearchFailedError(
                    "The search service leads to another address, which is not followed; "
                    "the operator can write that one in web.search.url."
                )
            headers = {name.lower(): value for name, value in response.headers.items()}
            return SearchAnswer(response.status, headers, await _read(response))
    except TimeoutError:
        raise SearchFailedError(
            f"The search service did not answer within {seconds_max:g} s."
        ) from None


@asynccontextmanager
async def _get(request: SearchRequest) -> AsyncGenerator[aiohttp.ClientResponse, None]:
    import aiohttp  # noqa: PLC0415 - heavy, and only a search needs it

    try:
        async with (
            aiohttp.ClientSession(
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
                auto_decompress=False,
                headers={
                    "Accept": "application/json",
                    "Accept-Encoding": ACCEPTED_ENCODINGS,
                    "User-Agent": "geode",
                    **request.headers,
                },
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S),
            ) as session,
            session.get(request.url, params=request.parameters, allow_redirects=False) as response,
        ):
            yield response
    except aiohttp.ClientConnectorCertificateError:
        raise SearchFailedError("The certificate of the search service is not valid.") from None
    except (aiohttp.ClientError, aiohttp.http.HttpProcessingError, OSError, ValueError) as exc:
        # `from None`: the library's own words repeat the address and the query.
        raise SearchFailedError(
            f"The search service could not be asked ({type(exc).__name__})."
        ) from None


async def _read(response: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    try:
        decoder = BodyDecoder(response.headers.get("Content-Encoding", ""))
        async for chunk in response.content.iter_any():
            for plain in decoder.feed(chunk):
                body += plain
                if len(body) > BYTES_MAX:
                    raise SearchFailedError(
                        f"The search service answered more than {BYTES_MAX:,} bytes."
                    )
    except FetchRefusedError:
        raise SearchFailedError("The search service's compression could not be read.") from None
    return bytes(body)
