"""Reads a URL strictly or not at all, so that no two parsers can see two hosts in it; pure."""

from __future__ import annotations

import re
import socket
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from urllib.parse import quote, urljoin

import idna

from geode.errors import FetchRefusedError

URL_CHARS_MAX = 4_096
WEB_PORTS = frozenset({80, 443})

_DEFAULT_PORTS = {"http": 80, "https": 443}
_PARTS = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>[^/?#]*)"
    r"(?P<path>[^?#]*)(?P<query>\?[^#]*)?(?:#.*)?",
    re.DOTALL,
)
_AUTHORITY = re.compile(r"(?P<host>\[[^\]@]*\]|[^:@\[\]]+)(?::(?P<port>[1-9][0-9]{0,4}))?")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?", re.ASCII)
_NUMERIC_LABEL = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)
_SAFE = "!$%&'()*+,-./:;=?@_~[]"


@dataclass(frozen=True, slots=True)
class WebUrl:
    """A URL in its one normal form, without fragment and without default port."""

    scheme: str
    host: str
    """Lower-case ASCII; an IPv6 address without brackets."""
    port: int
    target: str
    """Path and query as sent."""

    @property
    def text(self) -> str:
        """The URL as one string; equal for every spelling of the same URL."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == _DEFAULT_PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}{self.target}"

    @property
    def is_ip(self) -> bool:
        """Whether the host is an address and not a name."""
        return ":" in self.host or _is_quad(self.host)


def parse_url(text: str, ports: Collection[int] = WEB_PORTS) -> WebUrl:
    """Read an absolute http or https URL; raises `FetchRefusedError` with the reason."""
    if len(text) > URL_CHARS_MAX:
        raise FetchRefusedError(f"The URL is longer than {URL_CHARS_MAX:,} characters.")
    if not all(_may_stand_in_url(character) for character in text):
        raise FetchRefusedError("The URL contains a space, a backslash or a control character.")
    parts = _PARTS.fullmatch(text)
    scheme = parts["scheme"].lower() if parts else ""
    if parts is None or scheme not in _DEFAULT_PORTS:
        raise FetchRefusedError("Only complete http:// and https:// URLs can be fetched.")
    authority = _AUTHORITY.fullmatch(parts["authority"])
    if authority is None:
        raise FetchRefusedError("The URL's host cannot be read (user names are not accepted).")
    port = int(authority["port"] or _DEFAULT_PORTS[scheme])
    if port not in ports:
        allowed = ", ".join(str(number) for number in sorted(ports))
        raise FetchRefusedError(f"Port {port} is not fetched, only {allowed}.")
    target = quote((parts["path"] or "/") + (parts["query"] or ""), safe=_SAFE)
    return WebUrl(scheme, parse_host(authority["host"]), port, target)


def parse_host(text: str) -> str:
    """A host in its one form; raises `FetchRefusedError` for what resolvers read differently."""
    if text.startswith("["):
        return _parse_v6(text[1:-1])
    host = text.lower() if text.isascii() else _to_ascii(text)
    labels = host.split(".")
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise FetchRefusedError(f"{_shown(text)} is not a host name.")
    # inet_aton takes decimal, octal, hex and short forms of an address; a name never ends in a
    # number, so only the one plain form is left.
    if (_NUMERIC_LABEL.fullmatch(labels[-1]) or _is_aton(host)) and not _is_quad(host):
        raise FetchRefusedError(f"{_shown(text)} is an unusual form of an IP address.")
    for label in labels:
        if label.startswith("xn--"):
            _check_a_label(label, text)
    return host


def follow(current: WebUrl, location: str, ports: Collection[int] = WEB_PORTS) -> WebUrl:
    """Where a redirect leads; raises `FetchRefusedError` when that may not be followed."""
    if not location or not all(_may_stand_in_url(character) for character in location):
        raise FetchRefusedError("The page redirects to an address that cannot be read.")
    following = parse_url(urljoin(current.text, location), ports)
    if current.scheme == "https" and following.scheme == "http":
        raise FetchRefusedError("The page redirects from https to http.")
    return following


def _may_stand_in_url(character: str) -> bool:
    if character.isascii():
        return "!" <= character <= "~" and character != "\\"
    return unicodedata.category(character)[0] not in "CZ"


def _parse_v6(text: str) -> str:
    try:
        address = IPv6Address(text)
    except ValueError as exc:
        raise FetchRefusedError(f"[{_shown(text)}] is not an IPv6 address.") from exc
    if address.scope_id is not None:
        raise FetchRefusedError("An IPv6 address with a zone is not fetched.")
    return address.compressed


def _to_ascii(text: str) -> str:
    try:
        return idna.encode(text, uts46=True, std3_rules=True).decode("ascii").lower()
    except (idna.IDNAError, UnicodeError) as exc:
        raise FetchRefusedError(f"{_shown(text)} is not an international host name.") from exc


def _check_a_label(label: str, text: str) -> None:
    try:
        idna.ulabel(label)
    except (idna.IDNAError, UnicodeError) as exc:
        raise FetchRefusedError(f"{_shown(text)} is not an international host name.") from exc


def _is_aton(host: str) -> bool:
    try:
        socket.inet_aton(host)
    except OSError:
        return False
    return True


def _is_quad(host: str) -> bool:
    try:
        return str(IPv4Address(host)) == host
    except ValueError:
        return False


def _shown(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:80]}…"
