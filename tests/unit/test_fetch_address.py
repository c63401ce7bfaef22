"""Which addresses count as the public internet, through every translation."""

from __future__ import annotations

from ipaddress import IPv4Address

import pytest

from geode.tools.fetch.address import check_ip

PRIVATE_V4 = (
    *("0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.100.100.200"),
    *("100.127.255.255", "127.0.0.1", "127.255.255.254", "168.63.129.16", "169.254.169.254"),
    *("169.254.170.2", "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.0.192", "192.0.2.1"),
    *("192.88.99.1", "192.168.0.1", "198.18.0.1", "198.19.255.255", "198.51.100.1"),
    *("203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255"),
)
PUBLIC_V4 = (
    *("1.1.1.1", "8.8.8.8", "93.184.216.34", "9.255.255.255", "11.0.0.1", "100.63.255.255"),
    *("100.128.0.1", "126.255.255.255", "128.0.0.1", "172.15.255.255", "172.32.0.1", "192.167.0.1"),
    *("198.17.255.255", "198.20.0.1", "223.255.255.254"),
)


def disguises(address: str) -> tuple[str, ...]:
    """Every IPv6 form that some stack or gateway turns into the IPv4 address."""
    value = int(IPv4Address(address))
    high, low = value >> 16, value & 0xFFFF
    flipped = value ^ 0xFFFFFFFF
    tail = f"{high:x}:{low:x}"
    return (
        f"::ffff:{address}",
        f"::ffff:{tail}",
        f"0:0:0:0:0:ffff:{tail}",
        f"::{tail}",
        f"::ffff:0:{tail}",
        f"64:ff9b::{tail}",
        f"64:ff9b::{address}",
        f"64:ff9b:1::{tail}",
        f"2002:{tail}::",
        f"2002:{tail}::1",
        f"2001:0:5db8:d822:0:0:{flipped >> 16:x}:{flipped & 0xFFFF:x}",
        f"2001:0:{tail}:0:0:a247:27dd",
        f"2606:4700::5efe:{tail}",
        f"2606:4700::200:5efe:{tail}",
    )


@pytest.mark.parametrize("address", PRIVATE_V4)
def test_check_ip_refuses_a_private_address(address: str):
    assert check_ip(address)


@pytest.mark.parametrize("address", PUBLIC_V4)
def test_check_ip_allows_a_public_address(address: str):
    assert check_ip(address) is None


@pytest.mark.parametrize("address", [form for ip in PRIVATE_V4 for form in disguises(ip)])
def test_check_ip_sees_a_private_address_through_every_disguise(address: str):
    assert check_ip(address)


def test_check_ip_allows_the_translations_of_public_addresses():
    """The control: the forms themselves are not what is refused, where a network needs them."""
    for address in PUBLIC_V4:
        assert check_ip(f"::ffff:{address}") is None
        assert check_ip(f"64:ff9b::{address}") is None


@pytest.mark.parametrize(
    "address",
    [
        *("::", "::1", "fc00::1", "fd00:ec2::254", "fd20:ce::254", "fe80::1", "fe80::1%eth0"),
        *("fec0::1", "ff02::1", "ff0e::1", "2001:db8::1", "2001:2::1", "2001:10::1", "2001:20::1"),
        *("3fff::1", "100::1", "5f00::1", "4000::1", "64:ff9b:1:7f00:0:100::", "2606:4700::1%1"),
    ],
)
def test_check_ip_refuses_other_ipv6(address: str):
    assert check_ip(address)


@pytest.mark.parametrize(
    "address", ["2606:4700:4700::1111", "2001:4860:4860::8888", "2a00:1450::1"]
)
def test_check_ip_allows_public_ipv6(address: str):
    assert check_ip(address) is None


@pytest.mark.parametrize(
    "text", ["", "localhost", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "1.2.3.4 "]
)
def test_check_ip_refuses_what_is_not_a_plain_address(text: str):
    assert check_ip(text)
