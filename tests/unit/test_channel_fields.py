"""What a platform's JSON may hold and a database may not: half characters are made whole."""

import json

import pytest

from channels.fields import text_of


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (r'{"text": "cut \ud83d"}', "cut \ufffd"),
        (r'{"text": "\ude00 first"}', "\ufffd first"),
        (r'{"text": "whole \ud83d\ude00"}', "whole \U0001f600"),
        ('{"text": "größe 大"}', "größe 大"),
    ],
)
def test_text_is_always_valid_unicode(raw: str, text: str) -> None:
    found = text_of(json.loads(raw), "text")

    assert found == text
    assert found.encode()
