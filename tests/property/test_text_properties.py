"""Properties of splitting: limits hold and no character is lost, whatever the text."""

import re

from hypothesis import given
from hypothesis import strategies as st

from channels.text import cut_text, split_markdown, utf16_length

LINES = st.one_of(
    st.sampled_from(["```", "```py", "~~~", "~~~~ sh", "````", "    ```", "", "- x", "> q"]),
    st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\r"), max_size=120),
)
DOCUMENTS = st.lists(LINES, max_size=40).map("\n".join)
FENCE = re.compile(r"[ \t]*(?:`{3,}|~{3,})[^\n]*")


def without_space(text: str) -> str:
    return re.sub(r"\s", "", text)


def without_fence_lines(text: str) -> str:
    return without_space("\n".join(line for line in text.split("\n") if not FENCE.match(line)))


@given(DOCUMENTS, st.integers(90, 300), st.sampled_from([len, utf16_length]))
def test_split_parts_fit_and_keep_the_text(document: str, limit: int, measure: object) -> None:
    assert callable(measure)
    parts = split_markdown(document, limit, measure)

    assert all(measure(part) <= limit and part.strip() for part in parts)
    assert without_fence_lines("\n".join(parts)) == without_fence_lines(document)


@given(st.text(min_size=1), st.integers(1, 50))
def test_cut_loses_nothing_and_makes_progress(text: str, limit: int) -> None:
    head, tail = cut_text(text, limit, utf16_length)

    assert head + tail == text
    assert head
    assert utf16_length(head) <= max(limit, 2)
