"""No address but the public internet is ever connected to, however it is written or reached."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from ipaddress import IPv4Address
from urllib.parse import quote

import pytest
from aiohttp import web
from fakes.tool_room import SaidUrls, context, reason_of
from fakes.web import PUBLIC, Web, serve_web

from geode.errors import FetchRefusedError
from geode.tools import web_fetch
from geode.tools.fetch.client import is_own_address
from geode.tools.web_fetch import FetchGrant

TARGETS = (
    *("127.0.0.1", "127.255.0.1", "0.0.0.0", "10.0.0.1", "169.254.169.254", "172.16.0.1"),
    *("192.168.1.1", "100.64.0.1", "100.100.100.200", "168.63.129.16"),
)
_WIDE = str.maketrans("0123456789.", "０１２３４５６７８９．")
_CIRCLED = str.maketrans("123456789", "①②③④⑤⑥⑦⑧⑨")


def numeric_forms(address: str) -> list[str]:
    """What inet_aton, and so most resolvers, take for the address."""
    a, b, c, d = (int(part) for part in address.split("."))
    value = int(IPv4Address(address))
    low24, low16 = value & 0xFFFFFF, value & 0xFFFF
    return [
        address,
        str(value),
        f"0x{value:x}",
        f"0X{value:08X}",
        f"0{value:o}",
        f"00000000{value:o}",
        f"{a}.{low24}",
        f"{a}.{b}.{low16}",
        f"0x{a:x}.{low24}",
        f"{a}.0x{low24:x}",
        f"0{a:o}.0{b:o}.0{c:o}.0{d:o}",
        f"0x{a:x}.0x{b:x}.0x{c:x}.0x{d:x}",
        f"0x{a:02x}.0{b:o}.{c}.{d}",
        f"{a}.{b}.0x{c:x}.0{d:o}",
        f"00{a:o}.{b}.{c}.{d}",
        f"{a}.{b}.{c}.0{d:o}",
    ]


def text_forms(address: str) -> list[str]:
    """What lenient URL parsers turn into the address."""
    tail = f"{int(IPv4Address(address)):08x}"
    return [
        address.translate(_WIDE),
        address.translate(_CIRCLED),
        address.replace(".", "。"),
        address.replace(".", "%2e"),
        f"{address}.",
        "%31" + address[1:] if address[0] == "1" else f"%30{address[1:]}",
        f"{address}%00.example.com",
        f"example.com@{address}",
        f"example.com:80@{address}",
        f"{address}\\@example.com",
        f"{address}:80\\.example.com",
        f"[::ffff:{address}]",
        f"[::{address}]",
        f"[64:ff9b::{address}]",
        f"[64:ff9b:1::{address}]",
        f"[2002:{tail[:4]}:{tail[4:]}::1]",
        f"[0:0:0:0:0:ffff:{tail[:4]}:{tail[4:]}]",
        f"[::ffff:{address}%25eth0]",
    ]


NAMES = (
    "[::1]",
    "[::]",
    "[fe80::1]",
    "[fc00::1]",
    "[fd00:ec2::254]",
    "[fec0::1]",
    "[ff02::1]",
    "0",
    "0x",
)
HOSTS = [form for ip in TARGETS for form in (*numeric_forms(ip), *text_forms(ip))] + list(NAMES)


@pytest.fixture
async def site() -> AsyncIterator[Web]:
    """A server that redirects to whatever it is asked for."""

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path == "/to":
            return web.Response(status=302, headers={"Location": request.query["url"]})
        return web.Response(text="public page")

    async with serve_web(answer) as served:
        yield served


async def resolve_as_libc(host: str, port: int) -> list[str]:
    """The most lenient resolver: libc's own, numbers in every form."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    return [str(address[0]) for *_, address in found]


def test_there_are_hundreds_of_encodings():
    assert len(set(HOSTS)) > 300


async def test_no_encoding_of_a_private_address_is_connected_to(site: Web):
    site.resolve = resolve_as_libc
    passed: list[str] = []
    for host in HOSTS:
        for url in (f"http://{host}/", f"https://{host}/x"):
            try:
                await site.fetch(url)
            except FetchRefusedError:
                continue
            passed.append(url)

    assert passed == []
    assert site.opened == []
    assert site.requests == []


async def test_the_same_encodings_reach_loopback_without_the_check():
    """The control: libc takes them for the loopback address, and a plain connection arrives."""
    reached = 0

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        del reader
        nonlocal reached
        reached += 1
        writer.write(b"the inner service")
        writer.close()

    hosts = numeric_forms("127.0.0.1")
    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        for host in hosts:
            [address, *_] = await resolve_as_libc(host, port)
            reader, writer = await asyncio.open_connection(address, port)
            assert await reader.read() == b"the inner service"
            writer.close()
            await writer.wait_closed()

    assert reached == len(hosts)


async def test_a_public_page_is_fetched_by_the_same_means(site: Web):
    """The control: the web of these tests works when the address is public."""
    page = await site.fetch("http://public.example/")

    assert page.body == b"public page"
    assert [p.addresses for p in site.opened] == [(PUBLIC,)]


PRIVATE_ANSWERS = {
    "loopback": ["127.0.0.1"],
    "metadata": ["169.254.169.254"],
    "private after public": [PUBLIC, "10.0.0.1"],
    "private before public": ["10.0.0.1", PUBLIC],
    "AAAA loopback beside A public": [PUBLIC, "::1"],
    "AAAA mapped": ["::ffff:127.0.0.1"],
    "AAAA NAT64": ["64:ff9b::7f00:1"],
    "AAAA 6to4": ["2002:7f00:1::"],
    "AAAA link local": ["fe80::1%eth0"],
    "unspecified": ["0.0.0.0"],
    "none": [],
    "nonsense": ["localhost"],
}


@pytest.mark.parametrize("addresses", PRIVATE_ANSWERS.values(), ids=PRIVATE_ANSWERS.keys())
async def test_a_name_with_any_private_address_is_not_connected_to(site: Web, addresses: list[str]):
    site.names["inner.example"] = [addresses]

    with pytest.raises(FetchRefusedError):
        await site.fetch("http://inner.example/")

    assert site.opened == []


@pytest.mark.parametrize(
    ("address", "is_own"),
    [("127.0.0.1", True), ("127.9.9.9", True), (PUBLIC, False), ("2606:4700:4700::1111", False)],
)
def test_the_kernel_says_which_addresses_are_this_machines_own(address: str, is_own: bool):
    """A public address of the machine itself would reach services that trust their own host."""
    assert is_own_address(address) is is_own


async def test_a_name_is_resolved_once_per_hop_and_connected_to_as_checked(site: Web):
    """DNS rebinding: the second answer would be private, but nobody asks again."""
    site.names["rebind.example"] = [[PUBLIC], ["127.0.0.1"]]

    page = await site.fetch("http://rebind.example/")

    assert page.body == b"public page"
    assert site.asked == ["rebind.example"]
    assert [p.addresses for p in site.opened] == [(PUBLIC,)]


async def test_a_redirect_to_the_same_name_is_checked_again(site: Web):
    site.names["rebind.example"] = [[PUBLIC], ["127.0.0.1"]]

    with pytest.raises(FetchRefusedError):
        await site.fetch("http://rebind.example/to?url=/again")

    assert site.asked == ["rebind.example", "rebind.example"]
    assert len(site.opened) == 1


@pytest.mark.parametrize(
    "target",
    [
        *("http://127.0.0.1/", "http://169.254.169.254/latest/meta-data/", "http://[::1]/"),
        *("http://inner.example/", "//inner.example/", "http://2130706433/", "http://127.1/"),
        *(
            "http://user@public.example/",
            "file:///etc/passwd",
            "ftp://public.example/",
            "gopher://x/",
        ),
        *("http://public.example:22/", "http://public.example:6379/", "javascript:alert(1)", ""),
        *("http://public.example/to?url=http://127.0.0.1/", "http:\\\\127.0.0.1\\"),
    ],
)
async def test_a_redirect_from_public_to_private_is_not_followed(site: Web, target: str):
    site.names["inner.example"] = [["10.0.0.1"]]

    with pytest.raises(FetchRefusedError):
        await site.fetch(f"http://public.example/to?url={quote(target)}")

    assert {p.addresses for p in site.opened} == {(PUBLIC,)}
    assert {p.host for p in site.opened} == {"public.example"}
    assert all(request.host == "public.example" for request in site.requests)


async def test_a_redirect_from_public_to_public_is_followed(site: Web):
    """The control of the test above."""
    page = await site.fetch("http://public.example/to?url=http://other.example/x")

    assert page.url == "http://other.example/x"
    assert [p.host for p in site.opened] == ["public.example", "other.example"]


async def test_a_named_private_url_is_refused_by_the_tool_with_a_reason(site: Web):
    url = "http://169.254.169.254/latest/meta-data/"
    tool = web_fetch.build(SaidUrls(url), FetchGrant(), fetch_page=site.fetch)

    reason = reason_of(await tool.handler(context(), {"url": url}))

    assert "not an address of the public internet" in reason
    assert site.opened == []


async def test_an_operators_domain_does_not_open_private_addresses(site: Web):
    site.names["docs.example"] = [["192.168.0.10"]]
    tool = web_fetch.build(
        SaidUrls(), FetchGrant("listed", ("docs.example", "127.0.0.1")), fetch_page=site.fetch
    )

    for url in ("http://docs.example/", "http://127.0.0.1/"):
        assert reason_of(await tool.handler(context(), {"url": url}))
    assert site.opened == []
