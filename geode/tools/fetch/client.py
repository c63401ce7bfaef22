"""The one fetch function: every hop is parsed, resolved, checked and connected to as checked."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from typing import TYPE_CHECKING, TypeAlias

from geode.errors import FetchRefusedError
from geode.tools.fetch.address import check_ip
from geode.tools.fetch.decode import ACCEPTED_ENCODINGS, BodyDecoder
from geode.tools.fetch.url import WEB_PORTS, WebUrl, follow, parse_url

if TYPE_CHECKING:
    import aiohttp
    from aiohttp.abc import ResolveResult

Resolver: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
"""All addresses of a host name as text; raises `OSError` when there are none."""

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_HEADERS = {
    "User-Agent": "Mozilla/5.0 (compatible; geode)",
    "Accept": "text/html, application/xhtml+xml, text/*;q=0.9, application/json, */*;q=0.1",
    "Accept-Encoding": ACCEPTED_ENCODINGS,
}


@dataclass(frozen=True, slots=True)
class Pinned:
    """Where one connection goes: these addresses only, whatever the name says by then."""

    host: str
    port: int
    addresses: tuple[str, ...]


Opener: TypeAlias = "Callable[[Pinned], aiohttp.BaseConnector]"


def _visit_all(url: WebUrl) -> str | None:
    del url
    return None


@dataclass(frozen=True, slots=True)
class FetchRules:
    """Bounds of one fetch."""

    bytes_max: int = 2_000_000
    """Read after decompression."""
    seconds_max: float = 20.0
    """For all hops together."""
    redirects_max: int = 3
    ports: frozenset[int] = WEB_PORTS
    refuse: Callable[[WebUrl], str | None] = _visit_all
    """Why a hop may not be visited, beyond the address rule; None when it may."""


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """What the last hop answered."""

    url: str
    status: int
    content_type: str
    """The header's value, lower-case."""
    body: bytes
    """Decompressed; its start only when `is_cut`."""
    is_cut: bool


async def resolve(host: str, port: int) -> Sequence[str]:
    """All A and AAAA addresses by the system's resolver."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(address[0]) for *_, address in found))


def open_connector(pinned: Pinned) -> aiohttp.BaseConnector:
    """A connector that knows no addresses but the pinned ones and keeps no connection."""
    import aiohttp  # noqa: PLC0415 - heavy, and only a fetch needs it
    from aiohttp.abc import AbstractResolver  # noqa: PLC0415

    class PinnedResolver(AbstractResolver):
        async def resolve(
            self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
        ) -> list[ResolveResult]:
            del port, family
            if host != pinned.host:
                raise OSError(f"{host} was not checked")
            return [_resolved(pinned, address) for address in pinned.addresses]

        async def close(self) -> None:
            return None

    return aiohttp.TCPConnector(resolver=PinnedResolver(), use_dns_cache=False, force_close=True)


async def fetch(
    url: str,
    *,
    resolver: Resolver = resolve,
    opener: Opener = open_connector,
    rules: FetchRules | None = None,
) -> FetchedPage:
    """Fetch one page by GET; raises `FetchRefusedError` with a sentence for every other outcome."""
    bounds = rules or FetchRules()
    try:
        async with asyncio.timeout(bounds.seconds_max):
            return await _fetch_hops(url, resolver, opener, bounds)
    except TimeoutError as exc:
        raise FetchRefusedError(
            f"The page did not arrive within {bounds.seconds_max:g} s; the fetch was stopped."
        ) from exc


async def _fetch_hops(
    url: str, resolver: Resolver, opener: Opener, rules: FetchRules
) -> FetchedPage:
    hop = parse_url(url, rules.ports)
    for _ in range(rules.redirects_max + 1):
        refusal = rules.refuse(hop)
        if refusal is not None:
            raise FetchRefusedError(refusal)
        pinned = await _pin(hop, resolver)
        async with _get(hop, opener(pinned)) as response:
            if response.status not in _REDIRECTS or "Location" not in response.headers:
                return await _read_page(hop, response, rules)
            location = response.headers["Location"]
        hop = follow(hop, location, rules.ports)
    raise FetchRefusedError(f"The page redirects more than {rules.redirects_max} times.")


async def _pin(hop: WebUrl, resolver: Resolver) -> Pinned:
    """Resolve the host once; raises unless every one of its addresses may be contacted."""
    try:
        addresses = (hop.host,) if hop.is_ip else tuple(await resolver(hop.host, hop.port))
    except (OSError, UnicodeError) as exc:
        raise FetchRefusedError(f"The host {hop.host} cannot be found.") from exc
    if not addresses:
        raise FetchRefusedError(f"The host {hop.host} has no address.")
    for address in addresses:
        reason = check_ip(address)
        if reason is None and is_own_address(address):
            reason = f"{address} is this machine's own address"
        if reason is not None:
            raise FetchRefusedError(f"{hop.host} is not fetched: {reason}.")
    return Pinned(hop.host, hop.port, addresses)


def is_own_address(address: str) -> bool:
    """Whether this machine answers the address itself; asks the kernel and sends nothing."""
    # A machine set to bind foreign addresses too binds one kept for documentation as well.
    control = "2001:db8::1" if ":" in address else "203.0.113.1"
    return _can_bind(address) and not _can_bind(control)


def _can_bind(address: str) -> bool:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((address, 0))
    except OSError:
        return False
    return True


def _resolved(pinned: Pinned, address: str) -> ResolveResult:
    is_v6 = isinstance(ip_address(address), IPv6Address)
    return {
        "hostname": pinned.host,
        "host": address,
        "port": pinned.port,
        "family": socket.AF_INET6 if is_v6 else socket.AF_INET,
        "proto": 0,
        "flags": socket.AI_NUMERICHOST,
    }


@asynccontextmanager
async def _get(
    hop: WebUrl, connector: aiohttp.BaseConnector
) -> AsyncGenerator[aiohttp.ClientResponse, None]:
    """One request without cookies, proxies, credentials or automatic redirects."""
    import aiohttp  # noqa: PLC0415
    import yarl  # noqa: PLC0415

    try:
        async with (
            aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
                auto_decompress=False,
                headers=_HEADERS,
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=10),
            ) as session,
            session.get(yarl.URL(hop.text, encoded=True), allow_redirects=False) as response,
        ):
            yield response
    except aiohttp.ClientConnectorCertificateError as exc:
        raise FetchRefusedError(f"The certificate of {hop.host} is not valid.") from exc
    except (aiohttp.ClientError, aiohttp.http.HttpProcessingError, OSError, ValueError) as exc:
        raise FetchRefusedError(
            f"{hop.host} did not answer as a web server does ({type(exc).__name__})."
        ) from exc


async def _read_page(
    hop: WebUrl, response: aiohttp.ClientResponse, rules: FetchRules
) -> FetchedPage:
    content_type = response.headers.get("Content-Type", "").strip().lower()
    if not is_readable(content_type):
        size = response.headers.get("Content-Length", "an unknown number of")[:20]
        kind = content_type.partition(";")[0][:80]
        raise FetchRefusedError(f"{hop.text} is {kind} ({size} bytes); only text can be read.")
    decoder = BodyDecoder(response.headers.get("Content-Encoding", ""))
    body = bytearray()
    read = 0
    async for chunk in response.content.iter_any():
        read += len(chunk)
        for plain in decoder.feed(chunk):
            body += plain[: rules.bytes_max + 1 - len(body)]
            if len(body) > rules.bytes_max:
                break
        if len(body) > rules.bytes_max or read > rules.bytes_max:
            break
    is_cut = len(body) > rules.bytes_max or read > rules.bytes_max
    body = body[: rules.bytes_max]
    return FetchedPage(hop.text, response.status, content_type, bytes(body), is_cut)


def is_readable(content_type: str) -> bool:
    """Whether the type is text, JSON or XML; a missing type counts as text."""
    kind = content_type.partition(";")[0].strip()
    return (
        not kind
        or kind.startswith("text/")
        or kind in {"application/json", "application/xml", "application/xhtml+xml"}
        or (kind.startswith("application/") and kind.endswith(("+json", "+xml")))
    )
