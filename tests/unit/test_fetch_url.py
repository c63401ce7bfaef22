"""A URL has one reading or none."""

from __future__ import annotations

import pytest

from geode.errors import FetchRefusedError
from geode.tools.fetch.url import follow, parse_url


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("http://example.com", "http://example.com/"),
        ("HTTPS://EXAMPLE.com:443/A?b=C#frag", "https://example.com/A?b=C"),
        ("http://example.com:80?x", "http://example.com/?x"),
        ("https://example.com:80/", "https://example.com:80/"),
        ("https://bücher.example/ü?q=ß", "https://xn--bcher-kva.example/%C3%BC?q=%C3%9F"),
        ("https://例え.jp/", "https://xn--r8jz45g.jp/"),
        ("https://EXAMPLE。com/", "https://example.com/"),
        ("https://a_b.example.com/", "https://a_b.example.com/"),
        ("https://example.com/%2e%2e/%41", "https://example.com/%2e%2e/%41"),
        ("https://example.com/a|b", "https://example.com/a%7Cb"),
        ("https://8.8.8.8/", "https://8.8.8.8/"),
        ("https://[2606:4700:4700:0:0:0:0:1111]/", "https://[2606:4700:4700::1111]/"),
        ("https://example.com/http://other.org/", "https://example.com/http://other.org/"),
        ("https://example.com/@x", "https://example.com/@x"),
    ],
)
def test_parse_url_gives_one_normal_form(text: str, normal: str):
    url = parse_url(text)

    assert url.text == normal
    assert parse_url(url.text) == url


REFUSED = (
    *(
        "",
        "example.com",
        "//example.com",
        "http:/example.com",
        "http:example.com",
        "http://",
        "http:///x",
    ),
    *("file:///etc/passwd", "ftp://example.com/", "gopher://example.com/", "data:text/html,x"),
    *("javascript:alert(1)", "jar:http://example.com!/", "unix:/run/x", "dict://127.0.0.1:11211/"),
    *("http://user@example.com/", "http://user:pass@example.com/", "http://example.com@127.0.0.1/"),
    *("http://@example.com/", "http://127.0.0.1\\@example.com/"),
    *("http://example.com\\@127.0.0.1/", "http:\\\\example.com\\", "http://exa mple.com/"),
    *(
        " http://example.com/",
        "http://example.com/ ",
        "http://example.com/a b",
        "http://exam\nple.com/",
    ),
    *(
        "http://example.com/\r\nHost:x",
        "http://example.com/\0",
        "http://exa\tmple.com/",
        "\x00http://a.b/",
    ),
    *("http://example.com\u2028/", "http://exam\u200bple.com/", "http://example.com/\u202e"),
    *(
        "http://example.com:22/",
        "http://example.com:25/",
        "http://example.com:6379/",
        "http://a.b:0/",
    ),
    *(
        "http://example.com:080/",
        "http://example.com:+80/",
        "http://example.com:/",
        "http://a.b:80:80/",
    ),
    *("http://example.com:８０/", "http://example.com:99999/", "http://example.com:-1/"),
    *("http://example.com./", "http://.example.com/", "http://example..com/", "http://-a.com/"),
    *(
        "http://a%2eb.com/",
        "http://%31%32%37.0.0.1/",
        "http://exam%00ple.com/",
        "http://a.com%2f@b/",
    ),
    *("http://xn--a/", "http://xn--zzzzzzzz99999.com/", "http://" + "a" * 64 + ".com/"),
    *("http://" + ".".join(["a" * 60] * 5) + "/", "http://example.com/" + "x" * 5_000),
    *(
        "http://[::1",
        "http://[::1]x/",
        "http://[fe80::1%25eth0]/",
        "http://[fe80::1%eth0]/",
        "http://[]/",
    ),
    *(
        "http://[127.0.0.1]/",
        "http://[v1.x]/",
        "http://::1/",
        "http://1.2.3.4.5/",
        "http://a.b.c.08/",
    ),
    *("http://example.com<>/", "http://exam|ple.com/", 'http://exa"mple.com/', "http://ex{a}.com/"),
)


@pytest.mark.parametrize("text", REFUSED)
def test_parse_url_refuses(text: str):
    with pytest.raises(FetchRefusedError):
        parse_url(text)


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("/next", "https://example.com/next"),
        ("next?x=1", "https://example.com/a/next?x=1"),
        ("//other.org/x", "https://other.org/x"),
        ("https://other.org", "https://other.org/"),
        ("#part", "https://example.com/a/b"),
    ],
)
def test_follow_reads_a_location_against_the_page(location: str, target: str):
    assert follow(parse_url("https://example.com/a/b"), location).text == target


@pytest.mark.parametrize(
    "location",
    [
        *(
            "",
            "http://example.com/",
            "http://other.org/",
            "file:///etc/passwd",
            "ftp://example.com/",
        ),
        *(
            "https://user@example.com/",
            "//127.1/",
            "/a b",
            "\\\\127.0.0.1\\x",
            "https:\\\\127.0.0.1",
        ),
        *("https://example.com:22/", "/\r\nX: y", "/\udcff"),
    ],
)
def test_follow_refuses_a_downgrade_and_what_parse_refuses(location: str):
    with pytest.raises(FetchRefusedError):
        follow(parse_url("https://example.com/a/b"), location)


def test_follow_allows_an_upgrade():
    assert follow(parse_url("http://a.org/"), "https://a.org/").scheme == "https"
