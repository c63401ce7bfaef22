"""Splitting within a limit: what a part may hold and what must never be lost."""

import re

import pytest

from channels.text import cut_text, split_markdown, utf16_length

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"


def fence_lines(part: str) -> list[str]:
    return re.findall(r"^\s*(?:`{3,}|~{3,}).*$", part, re.MULTILINE)


def without_fences(text: str) -> str:
    return re.sub(r"\s", "", re.sub(r"^\s*(?:`{3,}|~{3,}).*$", "", text, flags=re.MULTILINE))


LONG_CODE = "intro of twenty char\n```py\n" + ("x" * 25 + "\n") * 300 + "```\nDone."
SOURCES = {
    "long_code": LONG_CODE,
    "fence_at_the_limit": "a" * 1998 + "\n```\ncode\n```\nend",
    "one_long_line_in_a_fence": "```\n" + "y" * 5000 + "\n```",
    "tilde_fence": "~~~\n" + ("z" * 30 + "\n") * 200 + "~~~",
    "unclosed_fence": "```py\n" + ("w" * 30 + "\n") * 200,
    "indented_fence": "- item\n    ```sh\n" + ("    ls -l\n" * 400) + "    ```\n- next",
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES.keys())
def test_split_keeps_every_part_within_the_limit_with_even_fences(source: str) -> None:
    parts = split_markdown(source, 2000)

    assert all(len(part) <= 2000 for part in parts)
    assert all(len(fence_lines(part)) % 2 == 0 for part in parts)
    assert without_fences("\n".join(parts)) == without_fences(source)


def test_split_reopens_the_fence_with_its_language_in_middle_parts() -> None:
    parts = split_markdown(LONG_CODE, 2000)

    assert len(parts) > 3
    assert all(part.startswith("```py\n") for part in parts[1:-1])


def test_split_drops_an_overlong_info_string_when_reopening() -> None:
    source = "```" + "i" * 1990 + "\n" + "code\n" * 900 + "```"

    parts = split_markdown(source, 2000)

    assert all(part.startswith("```\n") for part in parts)
    assert all(len(part) <= 2000 for part in parts)


def test_split_keeps_a_short_text_as_it_is() -> None:
    assert split_markdown("hello\n\n```py\n1\n```\nbye", 2000) == ["hello\n\n```py\n1\n```\nbye"]


def test_split_of_blank_text_is_empty() -> None:
    assert split_markdown(" \n\n ", 100) == []


def test_split_prefers_a_paragraph_break_in_the_second_half() -> None:
    first, second = "a" * 60, "b" * 30 + "\n" + "c" * 30

    assert split_markdown(f"{first}\n\n{second}", 100) == [first, second]


def test_split_leaves_no_empty_code_block_before_a_break() -> None:
    parts = split_markdown("t" * 80 + "\n```\n" + "c" * 90 + "\n```", 100)

    assert parts[0] == "t" * 80
    assert "```\n```" not in parts


@pytest.mark.parametrize(
    "cluster",
    [FAMILY, "e\u0301", "\U0001f44d\U0001f3fd", "\U0001f1e9\U0001f1ea", "\r\n"],
    ids=["family", "combining", "skin tone", "flag", "crlf"],
)
def test_cut_keeps_a_visible_character_whole(cluster: str) -> None:
    text = "x" * 5 + cluster + "y" * 20
    for limit in range(6, 6 + len(cluster)):
        head, tail = cut_text(text, limit)
        if cluster.isspace():
            assert not (head.endswith("\r") and tail.startswith("\n"))
        else:
            assert cluster in head or cluster in tail


def test_cut_counts_utf16_units_and_never_leaves_half_a_character() -> None:
    head, tail = cut_text("a" + "\U0001f600" * 50, 20, utf16_length)

    assert utf16_length(head) <= 20
    assert head + tail == "a" + "\U0001f600" * 50
    head.encode("utf-8")


def test_cut_makes_progress_when_nothing_fits() -> None:
    assert cut_text(FAMILY, 0) == (FAMILY[0], FAMILY[1:])


@pytest.mark.parametrize(
    "cluster", ["\u0915\u094d\u0937\u093f", "\u1112\u1161\u11ab", "\u2764\ufe0f\u200d\U0001f525"]
)
def test_cut_keeps_conjuncts_syllables_and_joined_emoji_whole(cluster: str) -> None:
    for limit in range(1, 3 + len(cluster)):
        head, tail = cut_text("xx" + cluster, limit)
        assert cluster in (head[2:], tail) or cluster in tail


def test_split_of_one_endless_character_ends_and_loses_nothing() -> None:
    text = "a" + "\u0301" * 20_000

    parts = split_markdown(text, 200)

    assert "".join(parts) == text
