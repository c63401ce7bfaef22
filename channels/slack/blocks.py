"""Markdown as a sequence of mrkdwn pieces, each short enough for one section."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from markdown_it.token import Token

from channels.markdown import (
    RULE,
    ListMarks,
    fence_code,
    list_wide_tables,
    parse_markdown,
    read_code,
    read_table,
)
from channels.slack.inline import (
    Run,
    cut_runs,
    escape,
    escaped_length,
    read_runs,
    render_runs,
)
from channels.tables import draw_table
from channels.text import split_markdown

LINE_CHARS_MAX = 3_000
LONG_LINE_CHARS = 1_900
"""A line above the section limit is cut to this, so that two pieces share one post."""
PREFIX_CHARS_MAX = 200
TABLE_COLUMNS_MAX = 80
"""What a window of usual width shows of a code block before it breaks the lines."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Mrkdwn that stays together, and the line breaks that separate it from what came before."""

    text: str
    gap: str


@dataclass(slots=True)
class _State:
    """Where in the document the walk stands."""

    quotes: int = 0
    lists: ListMarks = field(default_factory=ListMarks)
    is_heading: bool = False
    is_tight: bool = False
    """The next piece follows in the same list, so no blank line stands before it."""


def render_pieces(markdown: str) -> list[Piece]:
    """Every piece of a document in order."""
    tokens = list_wide_tables(parse_markdown(markdown), TABLE_COLUMNS_MAX)
    return list(_Walk(tokens).pieces())


class _Walk:
    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._state = _State()
        self._at = 0

    def pieces(self) -> Iterator[Piece]:
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            self._at += 1
            yield from self._take(token)

    def _take(self, token: Token) -> Iterator[Piece]:
        if token.type == "inline":
            yield from self._lines(read_runs(token.children or []))
        elif token.type in ("fence", "code_block"):
            yield from self._code(read_code(token)[1])
        elif token.type == "table_open":
            found, self._at = read_table(self._tokens, self._at)
            yield from self._code(draw_table(found.texts, found.aligns))
        elif token.type == "hr":
            yield from self._lines([[Run(RULE)]])
        else:
            self._enter_or_leave(token)

    def _enter_or_leave(self, token: Token) -> None:
        state, step = self._state, token.nesting
        match token.type:
            case "heading_open" | "heading_close":
                state.is_heading = step > 0
            case "blockquote_open" | "blockquote_close":
                state.quotes += step
            case _:
                state.lists.follow(token)
                if token.type in ("bullet_list_close", "ordered_list_close"):
                    state.is_tight = state.lists.depth > 0

    def _prefixes(self) -> tuple[str, str]:
        """What stands before the first line of a paragraph and before its further lines."""
        state = self._state
        quote = "> " if state.quotes else ""
        indent = "    " * max(state.lists.depth - 1, 0)
        mark = state.lists.take_mark()
        hang = "   " if state.lists.depth else ""
        first = f"{quote}{indent}{mark or hang}"[:PREFIX_CHARS_MAX]
        return first, f"{quote}{indent}{hang}"[:PREFIX_CHARS_MAX]

    def _gap(self) -> str:
        state = self._state
        is_in_item = state.lists.depth > 0 and not state.lists.mark
        gap = "\n" if state.is_tight or is_in_item else "\n\n"
        state.is_tight = state.lists.depth > 0
        return gap

    def _lines(self, lines: list[list[Run]]) -> Iterator[Piece]:
        gap = self._gap()
        first, further = self._prefixes()
        prefix = first
        for runs in lines:
            styled = _as_heading(runs) if self._state.is_heading else runs
            for piece in _fitting(styled):
                yield Piece(prefix + render_runs(piece), gap)
                gap, prefix = "\n", further

    def _code(self, code: str) -> Iterator[Piece]:
        gap = self._gap()
        first, _ = self._prefixes()
        if first.strip(" >"):
            yield Piece(first.rstrip(), gap)
            gap = "\n"
        for part in split_markdown(fence_code(code), LINE_CHARS_MAX, escaped_length):
            yield Piece(escape(part), gap)
            gap = "\n"


def _as_heading(runs: list[Run]) -> list[Run]:
    bold: list[Run] = []
    for run in runs:
        if run.is_link:
            bold.append(run)
        elif bold and not bold[-1].is_link:
            bold[-1] = Run(bold[-1].text + run.text, bold[-1].styles)
        else:
            bold.append(Run(run.text, frozenset({"bold"})))
    return bold


def _fitting(runs: list[Run]) -> list[list[Run]]:
    room = LINE_CHARS_MAX - PREFIX_CHARS_MAX
    pieces = cut_runs(runs, room)
    return pieces if len(pieces) == 1 else cut_runs(runs, LONG_LINE_CHARS - PREFIX_CHARS_MAX)
