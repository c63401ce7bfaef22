"""A file is what its bytes are, whatever its name or its platform says."""

from __future__ import annotations

import io
import zipfile

import pytest
from fakes.pictures import GIF, JPEG, SIGN_IN_PAGE, WEBP, make_png

from geode.tools.media import (
    Picture,
    find_media_type,
    is_html,
    is_meant_as_page,
    measure_picture,
)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (make_png(9000, 4), Picture("image/png", 9000, 4)),
        (JPEG, Picture("image/jpeg", 9, 7)),
        (GIF, Picture("image/gif", 5, 4)),
        (WEBP, Picture("image/webp", 3, 2)),
    ],
    ids=["png", "jpeg", "gif", "webp"],
)
def test_picture_is_measured_from_its_own_header(content: bytes, expected: Picture) -> None:
    assert measure_picture(content) == expected
    assert find_media_type(content, "notes.txt") == expected.media_type


@pytest.mark.parametrize(
    "content",
    [b"", b"\x89PNG\r\n\x1a\n", make_png()[:40], b"\xff\xd8\xff", b"GIF89a", b"RIFF\0\0\0\0WEBP"],
    ids=["empty", "signature", "cut", "jpeg start", "gif start", "webp start"],
)
def test_beginning_of_a_picture_is_no_picture(content: bytes) -> None:
    assert measure_picture(content) is None


def _zip(name: str) -> bytes:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as archive:
        archive.writestr(name, "x")
    return raw.getvalue()


@pytest.mark.parametrize(
    ("content", "name", "expected"),
    [
        (SIGN_IN_PAGE, "photo.png", "text/html"),
        (b"\xef\xbb\xbf\n <HTML>", "photo.png", "text/html"),
        (b"a,b\n1,2\n", "table.csv", "text/csv"),
        (b"hello", "photo.png", "text/plain"),
        ("Grüße ".encode() * 20_000, "", "text/plain"),
        (b"%PDF-1.7\n%\xe2\xe3\n", "x", "application/pdf"),
        (_zip("a.txt"), "x.zip", "application/zip"),
        (bytes(range(256)), "photo.png", "application/octet-stream"),
    ],
    ids=["html", "html after a mark", "csv", "text", "long text", "pdf", "zip", "unknown"],
)
def test_type_comes_from_the_bytes(content: bytes, name: str, expected: str) -> None:
    assert find_media_type(content, name) == expected


@pytest.mark.parametrize(
    ("claimed", "name", "expected"),
    [
        ("image/png", "a.png", False),
        ("", "a.png", False),
        ("application/octet-stream", "a.pdf", False),
        ("image/png", "", False),
        ("text/html", "a.html", True),
        ("text/plain", "notes", True),
        ("", "page.htm", True),
        ("", "", True),
    ],
)
def test_page_is_meant_only_where_nothing_else_is_claimed(
    claimed: str, name: str, *, expected: bool
) -> None:
    assert is_meant_as_page(claimed, name) is expected


def test_markdown_that_speaks_of_pages_is_no_page() -> None:
    assert not is_html(b"# How to write <html>")
