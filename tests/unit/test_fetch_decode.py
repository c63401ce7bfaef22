"""A compressed body unfolds in small steps, or is refused."""

from __future__ import annotations

import gzip
import zlib

import pytest

from geode.errors import FetchRefusedError
from geode.tools.fetch.decode import BodyDecoder

BODY = b"some text, " * 20_000


def raw_deflate(body: bytes) -> bytes:
    squeezer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return squeezer.compress(body) + squeezer.flush()


@pytest.mark.parametrize(
    ("encoding", "sent", "body"),
    [
        ("", BODY, BODY),
        ("identity", BODY, BODY),
        ("gzip", gzip.compress(BODY), BODY),
        ("X-GZIP", gzip.compress(BODY), BODY),
        ("gzip", gzip.compress(b"one ") + gzip.compress(b"two"), b"one two"),
        ("gzip", gzip.compress(BODY) + b"\0\0\0", BODY),
        ("deflate", zlib.compress(BODY), BODY),
        ("deflate", raw_deflate(BODY), BODY),
    ],
    ids=["none", "identity", "gzip", "x-gzip", "members", "padding", "zlib", "raw"],
)
@pytest.mark.parametrize("step", [1_000_000, 7])
def test_decoder_gives_the_plain_bytes(encoding: str, sent: bytes, body: bytes, step: int):
    decoder = BodyDecoder(encoding)

    plain = [
        part
        for start in range(0, len(sent), step)
        for part in decoder.feed(sent[start : start + step])
    ]

    assert b"".join(plain) == body


def test_decoder_unfolds_a_bomb_in_small_steps():
    bomb = gzip.compress(b"\0" * 50_000_000)

    sizes = [len(part) for part in BodyDecoder("gzip").feed(bomb)]

    assert sum(sizes) == 50_000_000
    assert max(sizes) <= 65_536


@pytest.mark.parametrize("encoding", ["br", "zstd", "compress", "gzip, gzip", "x"])
def test_decoder_refuses_an_encoding_it_did_not_ask_for(encoding: str):
    with pytest.raises(FetchRefusedError):
        BodyDecoder(encoding)


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_decoder_refuses_broken_bytes(encoding: str):
    with pytest.raises(FetchRefusedError, match="broken"):
        list(BodyDecoder(encoding).feed(b"\xff\xff\xff not compressed"))
