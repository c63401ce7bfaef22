"""Which IP addresses a fetch may contact: only the public internet, whatever the form; pure."""

from __future__ import annotations

from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
)

# Our own tables beside `is_global`, whose answers differ between Python versions.
_REFUSED_V4 = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "168.63.129.16/32",  # a cloud's metadata service behind a public-looking address
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
    )
)
_GLOBAL_V6 = IPv6Network("2000::/3")
_REFUSED_V6 = tuple(
    IPv6Network(text)
    for text in ("2001::/23", "2001:db8::/32", "3fff::/20", "fc00::/7", "fe80::/10", "fec0::/10")
)
_WITH_V4 = tuple(
    IPv6Network(text)
    for text in (
        "::/96",  # compatible
        "::ffff:0:0/96",  # mapped
        "::ffff:0:0:0/96",  # translated
        "64:ff9b::/96",  # NAT64
    )
)
_NAT64_LOCAL = IPv6Network("64:ff9b:1::/48")
_ISATAP = {0x00005EFE, 0x02005EFE}


def check_ip(text: str) -> str | None:
    """Why this address may not be contacted, or None when it may."""
    try:
        address = ip_address(text)
    except ValueError:
        return f"{text} is not an IP address"
    reason = _check_v4(address) if isinstance(address, IPv4Address) else _check_v6(address)
    return None if reason is None else f"{text} is {reason}"


def _check_v4(address: IPv4Address) -> str | None:
    if any(address in network for network in _REFUSED_V4):
        return "not an address of the public internet"
    if not address.is_global or address.is_multicast:
        return "not an address of the public internet"
    return None


def _check_v6(address: IPv6Address) -> str | None:
    if address.scope_id is not None:
        return "bound to one network interface"
    hidden = _hidden_v4(address)
    if hidden:
        reasons = (_check_v4(inner) for inner in hidden)
        return next(
            (f"a form of {i}, {r}" for i, r in zip(hidden, reasons, strict=True) if r), None
        )
    if address not in _GLOBAL_V6 or any(address in network for network in _REFUSED_V6):
        return "not an address of the public internet"
    if not address.is_global or address.is_multicast:
        return "not an address of the public internet"
    return None


def _hidden_v4(address: IPv6Address) -> tuple[IPv4Address, ...]:
    """The IPv4 addresses that this IPv6 address reaches by some translation."""
    low = IPv4Address(int(address) & 0xFFFFFFFF)
    if address.teredo is not None:
        return address.teredo
    if address.sixtofour is not None:
        return (address.sixtofour,)
    if address in _NAT64_LOCAL:
        # The prefix length is the operator's own, so the address may stand in two places.
        packed = address.packed
        return (low, IPv4Address(packed[6:8] + packed[9:11]))
    is_isatap = (int(address) >> 32) & 0xFFFFFFFF in _ISATAP
    return (low,) if is_isatap or any(address in network for network in _WITH_V4) else ()
