"""Markdown as models write it, and as they should not: documents for properties."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

WORDS = st.sampled_from(
    [
        *("heron", "a_b_c", "2*3", "x<y", "a&b", "it's", "(ok)", "done.", "!!!", "C++", "#12"),
        *("步2", "重跑gen-itgc", "部署方案", "テスト", "학점인정", "日本語の文"),
        *("مرحبا", "שלום", "القاهرة", "A\u200fB", "نص (a) نص"),
        *("👩‍👩‍👧‍👦", "👍🏽", "🇩🇪", "❤️", "e\u0301", "ก็", "😀" * 5, "𝔊𝔢𝔬𝔡𝔢"),
        *("<!channel>", "<@U1>", "<#C1|x>", "@everyone", "@here", "@ana_banana", "<@123>", "<t:1>"),
        *("&lt;!here&gt;", "&amp;", "<b>no</b>", "<script>", "\\*", "\\", "||no||", "`a b`", "``"),
        *("**bold**", "_thin_", "~~gone~~", "**open", "https://x.test/?a=1&b=2", "www.x.test"),
        *("[a link](https://x.test/a_b)", "![img](http://x.test/a_b.png)", "[no](javascript:x)"),
    ]
)
LONG = st.one_of(
    st.sampled_from(["x" * 2_100, "界" * 1_400, "😀" * 2_100, "👩‍👩‍👧‍👦" * 300, "a " * 1_500]),
    st.sampled_from(["مرحبا " * 400, "e\u0301" * 1_100, "! " * 2_048]),
)
SENTENCES = st.lists(WORDS, min_size=1, max_size=14).map(" ".join)
CODE_LINES = st.lists(
    st.one_of(SENTENCES, LONG, st.sampled_from(["", "    return a < b", "``", "~~", "$ rm -rf /"])),
    max_size=24,
)


def _fence(marker: str, info: str, lines: list[str]) -> str:
    return "\n".join([f"{marker}{info}", *lines, marker])


FENCES = st.builds(
    _fence,
    st.sampled_from(["```", "````", "~~~", "~~~~~"]),
    st.sampled_from(["", "py", "c++ title=x", "x" * 1_990]),
    CODE_LINES,
)


def _table(rows: list[list[str]]) -> str:
    width = len(rows[0])
    lines = ["| " + " | ".join((row + [""] * width)[:width]) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * width, *lines[1:]])


def _ragged(rows: list[list[str]]) -> str:
    head, *body = rows
    lines = [f"| {' | '.join(row)}" + " |" * (len(row) % 2) for row in body]
    return "\n".join([f"| {' | '.join(head)} |", "|" + ":-:|" * len(head), *lines])


CELLS = st.sampled_from(
    ["a", "步2", "`x y`", "👩‍👩‍👧‍👦", "a long cell of several words", "1.5", "مرحبا", ""]
)
TABLES = st.integers(1, 5).flatmap(
    lambda width: st.lists(
        st.lists(CELLS, min_size=width, max_size=width), min_size=2, max_size=8
    ).map(_table)
)
RAGGED = st.lists(
    st.lists(st.one_of(CELLS.filter(bool), SENTENCES), min_size=1, max_size=6),
    min_size=2,
    max_size=6,
).map(_ragged)
"""Rows with fewer or more cells than the header, any of which may be a long sentence."""
PREFIXES: tuple[Callable[[str], str], ...] = (
    lambda text: f"# {text}",
    lambda text: f"#### {text}",
    lambda text: f"> {text}\n> more",
    lambda text: f"- {text}\n  - {text}\n- last",
    lambda text: f"3. {text}\n4. next",
    lambda text: text,
)
NESTED = st.builds(
    lambda quote, block: "\n".join(f"{quote}{line}" for line in block.split("\n")),
    st.sampled_from(["> ", ">> ", "  ", "    ", "> " * 30, "> " * 70]),
    st.one_of(SENTENCES, FENCES, TABLES, RAGGED),
)
HARD = st.sampled_from(
    [
        "[named][here] and [here]\n\n[here]: https://x.test/?a=1 'a title'",
        "~~~\n```py\ninner = 1\n```\n~~~",
        "````md\n```\n<@1> @everyone\n```\n````",
        "```\nnever closed @here",
        "- one\n  1. two\n     - three\n\n       four\n- > five\n  > ```\n  > six\n  > ```",
        "setext\n===\nfirst\\\nsecond  \nthird\r\nfourth\rfifth",
        "<div onclick='x'>\nraw <!-- note -->\n</div>",
        "**a *b ~~c `d` [e](https://x.test) f~~ g* h**",
        "a\u0301\u0302" * 900 + " क्षि" * 500 + "\u1112\u1161\u11ab" * 400,
        "`@ana_banana` " * 150,
    ]
)
BLOCKS = st.one_of(
    SENTENCES,
    st.builds(lambda make, text: make(text), st.sampled_from(PREFIXES), SENTENCES),
    LONG,
    FENCES,
    TABLES,
    RAGGED,
    NESTED,
    HARD,
    st.just("---"),
)
STYLED = st.builds(lambda make, text: make(text), st.sampled_from(PREFIXES), SENTENCES)
QUOTED = st.builds(
    lambda quote, text: f"{quote}{text}",
    st.sampled_from(["> ", ">> ", "    ", "> " * 30, "> " * 70]),
    SENTENCES,
)
TEXTS = st.lists(
    st.one_of(SENTENCES, FENCES, LONG, STYLED, QUOTED, HARD), min_size=1, max_size=9
).map("\n\n".join)
"""The same without tables, whose cells a narrow screen is told in another order."""
DOCUMENTS = st.lists(BLOCKS, min_size=1, max_size=9).map("\n\n".join)
"""Whole documents: headings, quotes, lists, code, tables, any script, emoji, and long lines."""

ASTRAL = "😀" * 5_000
"""Ten thousand UTF-16 units without a place to break."""
