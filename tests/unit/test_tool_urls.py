"""Which URLs a text names."""

from __future__ import annotations

import time

import pytest

from geode.tools.urls import find_urls, normalise_url


@pytest.mark.parametrize(
    ("text", "urls"),
    [
        ("see https://a.org/x.", ["https://a.org/x"]),
        ("(https://a.org/x)", ["https://a.org/x"]),
        ("https://en.wikipedia.org/wiki/Foo_(bar)", ["https://en.wikipedia.org/wiki/Foo_(bar)"]),
        ("[x](https://a.org/Foo_(bar)) and more", ["https://a.org/Foo_(bar)"]),
        ("<https://a.org/x|label>", ["https://a.org/x"]),
        ('{"url":"https://a.org/x","n":1}', ["https://a.org/x"]),
        ("**https://a.org/x**", ["https://a.org/x"]),
        ("HTTPS://A.org#part", ["https://a.org/"]),
        ("www.a.org/x, ok", ["http://www.a.org/x"]),
        ("https://a.org https://a.org/ https://b.org", ["https://a.org/", "https://b.org/"]),
        ("https://a.org/?a=1&amp;b=2", ["https://a.org/?a=1&amp;b=2", "https://a.org/?a=1&b=2"]),
        ("詳しくは https://a.jp/x。続き", ["https://a.jp/x"]),
        ("https://a.jp/xを見て", ["https://a.jp/x%E3%82%92%E8%A6%8B%E3%81%A6", "https://a.jp/x"]),
        ("http://localhost:8000/x", ["http://localhost:8000/x"]),
        ("no url: example.com, mail@www.a.org, http:// and https://", []),
        ("http://2130706433/ http://user@a.org/", []),
    ],
)
def test_find_urls(text: str, urls: list[str]):
    assert list(find_urls(text)) == urls


def test_find_urls_is_bounded_and_quick_on_hostile_text():
    started = time.monotonic()

    find_urls("https://" * 20_000)
    find_urls("www." * 40_000)
    find_urls("https://a.org/" + "(" * 200_000)
    assert len(find_urls(" ".join(f"https://a.org/{n}" for n in range(5_000)))) == 1_000

    assert time.monotonic() - started < 5


def test_normalise_url_is_none_for_what_is_not_a_web_url():
    assert normalise_url("file:///etc/passwd") is None
    assert normalise_url("https://A.org:443") == "https://a.org/"
