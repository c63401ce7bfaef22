"""Argument text: one JSON object, or a fault the model can read (LM-02)."""

from __future__ import annotations

import pytest

from geode.llm.arguments import RAW_CHARS_MAX, parse_call


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('{"city": "San Fra', "not valid JSON"),
        ("null", "null, not a JSON object"),
        ("[1]", "an array, not a JSON object"),
        ('"x"', "a string, not a JSON object"),
        ("3", "a single value, not a JSON object"),
        ('{"a":1,}', "not valid JSON"),
        ('{"a":1}{"b":2}', "not valid JSON"),
        ('{"a":1,"a":2}', 'the key "a" twice'),
        ('{"b":{"a":1,"a":2}}', 'the key "a" twice'),
        ('{"a":NaN}', "NaN, which is not JSON"),
        ('{"a":' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply"),
        ('{"a":' + "9" * 5_000 + "}", "a number that is too long"),
        ('{"a":' + "9" * 30 + "}", "cannot be stored"),
        ('{"a":"\\ud83d"}', "cannot be stored"),
    ],
    ids=lambda value: value[:24],
)
def test_unreadable_arguments_become_a_fault_and_never_a_guess(text: str, fault: str) -> None:
    call = parse_call("toolu_1", "weather", text)

    assert call.arguments is None
    assert fault in call.fault
    assert call.raw == text[:RAW_CHARS_MAX]
    assert (call.call_id, call.name) == ("toolu_1", "weather")


@pytest.mark.parametrize("size", [2_000_000, 5_000_000])
def test_junk_of_megabytes_is_refused_and_shown_in_800_characters(size: int) -> None:
    call = parse_call("toolu_1", "weather", "{" + "x" * size)

    assert call.arguments is None
    assert len(call.raw) == RAW_CHARS_MAX == 800
    assert call.fault


@pytest.mark.parametrize("text", ["", "  \n"])
def test_empty_text_counts_as_no_arguments(text: str) -> None:
    assert parse_call("toolu_1", "now", text).arguments == {}


def test_whole_arguments_keep_their_order_and_values() -> None:
    call = parse_call("toolu_1", "w", '{"b": [1, {"c": null}], "a": "é😀"}')

    assert call.arguments == {"b": [1, {"c": None}], "a": "é😀"}
    assert list(call.arguments) == ["b", "a"]
    assert (call.raw, call.fault) == ("", "")
