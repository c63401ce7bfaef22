"""The one reading of Markdown that every channel renders: which constructs there are; pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token

Cell = Callable[[Sequence[Token]], str]
"""How a channel writes the inline tokens of one cell as plain text."""


def make_parser() -> MarkdownIt:
    """CommonMark with tables and strikethrough; HTML and entities stay the characters written."""
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    return parser.disable(["entity", "html_block", "html_inline"])


def parse_markdown(markdown: str) -> list[Token]:
    """The document's block tokens."""
    return make_parser().parse(markdown)


def plain_cell(tokens: Sequence[Token]) -> str:
    """A cell's words without their marks."""
    return "".join(token.content for token in tokens)


def read_table(
    tokens: Sequence[Token], at: int, cell: Cell = plain_cell
) -> tuple[list[list[str]], int]:
    """The rows of the table that is open at that token, its head first, and where it ends."""
    rows: list[list[str]] = []
    while (token := tokens[at]).type != "table_close":
        at += 1
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            rows[-1].append(cell(token.children or []))
    return rows, at + 1
