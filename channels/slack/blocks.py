"""Markdown as a sequence of mrkdwn pieces, each short enough for one section."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from markdown_it.token import Token

from channels.markdown import parse_markdown, read_table
from channels.slack.inline import (
    Run,
    cut_runs,
    escape,
    escaped_length,
    plain_text,
    read_runs,
    render_runs,
)
from channels.tables import draw_table
from channels.text import split_markdown

LINE_CHARS_MAX = 3_000
LONG_LINE_CHARS = 1_900
"""A line above the section limit is cut to this, so that two pieces share one post."""
PREFIX_CHARS_MAX = 200
RULE = "———"
BULLETS = ("•", "◦", "▪")


@dataclass(frozen=True, slots=True)
class Piece:
    """Mrkdwn that stays together, and the line breaks that separate it from what came before."""

    text: str
    gap: str


@dataclass(slots=True)
class _ListLevel:
    number: int | None
    """None for a bullet list."""


@dataclass(slots=True)
class _State:
    """Where in the document the walk stands: quotes, lists and the next item's mark."""

    quotes: int = 0
    lists: list[_ListLevel] = field(default_factory=list[_ListLevel])
    mark: str = ""
    is_heading: bool = False
    is_tight: bool = False
    """The next piece follows in the same list, so no blank line stands before it."""


def render_pieces(markdown: str) -> list[Piece]:
    """Every piece of a document in order."""
    return list(_Walk(parse_markdown(markdown)).pieces())


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
            yield from self._code(token.content)
        elif token.type == "table_open":
            rows, self._at = read_table(self._tokens, self._at, _write_cell)
            yield from self._code(draw_table(rows))
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
            case "bullet_list_open":
                state.lists.append(_ListLevel(None))
            case "ordered_list_open":
                state.lists.append(_ListLevel(int(token.attrGet("start") or 1)))
            case "bullet_list_close" | "ordered_list_close":
                state.lists.pop()
                state.is_tight = bool(state.lists)
            case "list_item_open":
                state.mark = self._next_mark()
            case "list_item_close":
                state.mark = ""
            case _:
                pass

    def _next_mark(self) -> str:
        level = self._state.lists[-1]
        if level.number is None:
            return BULLETS[(len(self._state.lists) - 1) % len(BULLETS)] + " "
        level.number += 1
        return f"{level.number - 1}. "

    def _prefixes(self) -> tuple[str, str]:
        """What stands before the first line of a paragraph and before its further lines."""
        state = self._state
        quote = "> " if state.quotes else ""
        indent = "    " * max(len(state.lists) - 1, 0)
        mark, state.mark = state.mark, ""
        hang = "   " if state.lists else ""
        first = f"{quote}{indent}{mark or hang}"[:PREFIX_CHARS_MAX]
        return first, f"{quote}{indent}{hang}"[:PREFIX_CHARS_MAX]

    def _gap(self) -> str:
        state = self._state
        gap = "\n" if state.is_tight or (state.mark == "" and state.lists) else "\n\n"
        state.is_tight = bool(state.lists)
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
        # A fence inside the code would close the block early for Slack.
        inner = code.replace("```", "`\u200b`\u200b`").strip("\n")
        for part in split_markdown(f"```\n{inner}\n```", LINE_CHARS_MAX, escaped_length):
            yield Piece(escape(part), gap)
            gap = "\n"


def _write_cell(tokens: Sequence[Token]) -> str:
    return " ".join(plain_text(line) for line in read_runs(tokens))


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
