"""One reading of Markdown for every channel: a kept parser that leaves no word out; pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, table
from markdown_it.rules_block.table import escapedSplit, getLine
from markdown_it.token import Token

from channels.tables import Align, draw_table, table_width
from channels.text import INFO_CHARS_MAX

NESTING_MAX = 60
BULLETS = ("•", "◦", "▪")
RULE = "———"

_ENTITY = re.compile(r"&#?\w+;")
_SPECIAL = re.compile(r"([\\`*_\[\]<>~|])")
_URL_TAIL = ".,;:!?'*_~]}"
_ALIGNS: dict[str, Align] = {"text-align:right": "right", "text-align:center": "center"}


def parse_markdown(markdown: str) -> list[Token]:
    """The document's tokens; HTML, entities and reference links stay as they were written.

    Where the parser would leave words out, the whole document is paragraphs of plain text.
    """
    tokens = _PARSER.parse(markdown)
    if _is_too_deep(tokens) or _loses_words(markdown, tokens):
        return _PLAIN_PARSER.parse(markdown)
    return tokens


def parse_line(markdown: str) -> list[Token]:
    """The inline tokens of one line or paragraph, without a block around them."""
    tokens = _PARSER.parseInline(markdown)
    return list(tokens[0].children or []) if tokens else []


def _make_parser() -> MarkdownIt:
    options = {"html": False, "maxNesting": NESTING_MAX}
    parser = MarkdownIt("commonmark", options).enable(["table", "strikethrough"])
    parser.disable(["entity", "html_block", "html_inline", "reference"])
    parser.block.ruler.at("table", _read_every_cell, {"alt": ["paragraph", "reference"]})
    # Addresses stay the characters that were written; a renderer decides what becomes a link.
    parser.normalizeLink = _as_written
    parser.normalizeLinkText = lambda link: link
    return parser


def _as_written(url: str) -> str:
    return url


def _read_every_cell(state: StateBlock, begin: int, end: int, silent: bool) -> bool:
    """The parser's own rule; a row's cells beyond the header's stay in its last cell."""
    first = len(state.tokens)
    if not table(state, begin, end, silent):
        return False
    cells: list[Token] = []
    for token in state.tokens[first:]:
        if token.type == "tr_open":
            cells = []
        elif token.type == "inline":
            cells.append(token)
        elif token.type == "tr_close" and cells and cells[0].map:
            written = escapedSplit(getLine(state, cells[0].map[0]).strip())
            if written and not written[0]:
                written.pop(0)
            if written and not written[-1]:
                written.pop()
            more = [cell.strip() for cell in written[len(cells) :]]
            cells[-1].content = " | ".join([cells[-1].content, *more])
    return True


_PARSER = _make_parser()
_PLAIN_PARSER = MarkdownIt("zero").enable("newline")


def _is_too_deep(tokens: Sequence[Token]) -> bool:
    return any(token.level >= NESTING_MAX - 2 for token in tokens)


def _loses_words(markdown: str, tokens: Sequence[Token]) -> bool:
    """Whether letters of the source stand in no token."""
    shown: Counter[str] = Counter()
    for token in _walk(tokens):
        for part in (token.content, token.info, *map(str, token.attrs.values())):
            shown.update(part)
    wanted = Counter(char for char in _ENTITY.sub("", markdown) if char.isalpha())
    return bool(wanted - shown)


def _walk(tokens: Sequence[Token]) -> Iterator[Token]:
    for token in tokens:
        if token.children is None:
            yield token
            continue
        yield from _walk(token.children)
        if token.type == "image":
            yield Token("image", "", 0, attrs=token.attrs)


def label_of(rest: Sequence[Token]) -> str:
    """The words up to the end of the link that was just opened; links hold no links."""
    end = next((i for i, token in enumerate(rest) if token.type == "link_close"), len(rest))
    return "".join(token.content for token in rest[:end])


def trim_url(url: str) -> str:
    """A web address without the punctuation of the sentence that it stands in."""
    shorter = url.rstrip(_URL_TAIL)
    while shorter.endswith(")") and shorter.count(")") > shorter.count("("):
        shorter = shorter[:-1].rstrip(_URL_TAIL)
    return shorter


def read_code(token: Token) -> tuple[str, str]:
    """A code block's language and text; an info string too long for a language stands in it."""
    info = token.info.strip()
    if len(info) > INFO_CHARS_MAX:
        return "", f"{info}\n{token.content}".strip("\n")
    return info, token.content.strip("\n")


def fence_code(code: str, language: str = "") -> str:
    """Code as a block that platforms know; a fence inside it would close the block early."""
    inner = code.replace("```", "`\u200b`\u200b`").strip("\n")
    return f"```{language.replace('`', '')}\n{inner}\n```"


@dataclass(frozen=True, slots=True)
class Table:
    """A table's cells as inline tokens, row by row; the first row names the columns."""

    rows: tuple[tuple[Token, ...], ...]
    aligns: tuple[Align, ...]

    @property
    def texts(self) -> list[list[str]]:
        """The cells' words, as they stand in a drawing."""
        return [[plain_cell(cell.children or []) for cell in row] for row in self.rows]


def read_table(tokens: Sequence[Token], at: int) -> tuple[Table, int]:
    """The table that opens at a position, and the position of its end."""
    rows: list[list[Token]] = []
    aligns: list[Align] = []
    while (token := tokens[at]).type != "table_close":
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "th_open":
            aligns.append(_ALIGNS.get(str(token.attrs.get("style", "")), "left"))
        elif token.type == "inline":
            rows[-1].append(token)
        at += 1
    return Table(tuple(map(tuple, rows)), tuple(aligns)), at


def plain_cell(tokens: Sequence[Token]) -> str:
    """The words of a cell without any style; a link's address follows its label."""
    words: list[str] = []
    for at, token in enumerate(tokens):
        if token.type == "image":
            words.append(f"{token.content} {token.attrs.get('src', '')}".strip())
        elif token.type == "link_open":
            target, label = str(token.attrs.get("href", "")), label_of(tokens[at + 1 :])
            is_shown = target.removeprefix("mailto:") == label or not target
            words.append("" if is_shown else f"{target} ")
        else:
            words.append(token.content)
    return "".join(words)


def draw_or_list(found: Table, columns_max: int) -> str | list[str]:
    """A drawing of fixed width, or one paragraph of Markdown per row where it is too wide."""
    texts = found.texts
    if table_width(texts) <= columns_max:
        return draw_table(texts, found.aligns)
    names = [_SPECIAL.sub(r"\\\1", name.strip()) for name in texts[0]]
    body = found.rows[1:]
    return [_list_row(names, row) for row in body] or [" | ".join(names)]


def _list_row(names: Sequence[str], row: Sequence[Token]) -> str:
    lines = [
        f"**{name}:** {cell.content}" if name else cell.content
        for name, cell in zip(names, row, strict=True)
        if cell.content or name
    ]
    return "\n".join(lines)


def draw_tables(markdown: str, columns_max: int) -> str:
    """The source with each table of its own as a block that may be split: drawn, or as rows."""
    lines = re.split(r"\r\n|\r|\n", markdown)
    tokens = parse_markdown(markdown)
    made: list[str] = []
    done = 0
    for at, token in enumerate(tokens):
        if token.type == "table_open" and token.level == 0 and token.map:
            begin, end = token.map
            shown = draw_or_list(read_table(tokens, at)[0], columns_max)
            block = fence_code(shown) if isinstance(shown, str) else "\n\n".join(shown)
            made += [*lines[done:begin], "", block, ""]
            done = end
    return "\n".join([*made, *lines[done:]]) if done else markdown


def list_wide_tables(tokens: Sequence[Token], columns_max: int) -> list[Token]:
    """The tokens with every table that is too wide as paragraphs."""
    kept: list[Token] = []
    at = 0
    while at < len(tokens):
        if tokens[at].type == "table_open":
            found, end = read_table(tokens, at)
            shown = draw_or_list(found, columns_max)
            rows = [] if isinstance(shown, str) else shown
            kept += [t for row in rows for t in _paragraph(row)] or tokens[at : end + 1]
            at = end
        else:
            kept.append(tokens[at])
        at += 1
    return kept


def _paragraph(markdown: str) -> list[Token]:
    return [
        Token("paragraph_open", "p", 1),
        Token("inline", "", 0, content=markdown, children=parse_line(markdown)),
        Token("paragraph_close", "p", -1),
    ]


@dataclass(slots=True)
class ListMarks:
    """How deep in lists a walk stands, and the mark that the next item begins with."""

    _numbers: list[int | None] = field(default_factory=list[int | None])
    """The next number of each open list; None for a bullet list."""
    mark: str = ""

    @property
    def depth(self) -> int:
        """How many lists are open."""
        return len(self._numbers)

    def follow(self, token: Token) -> None:
        """Enter or leave a list or an item; other tokens change nothing."""
        match token.type:
            case "bullet_list_open":
                self._numbers.append(None)
            case "ordered_list_open":
                start = str(token.attrs.get("start", 1))
                self._numbers.append(int(start) if start.isdecimal() else 1)
            case "bullet_list_close" | "ordered_list_close":
                self._numbers.pop()
            case "list_item_open":
                self.mark = self._next_mark()
            case "list_item_close":
                self.mark = ""
            case _:
                return

    def take_mark(self) -> str:
        """The mark of an item that has just begun, once."""
        mark, self.mark = self.mark, ""
        return mark

    def _next_mark(self) -> str:
        number = self._numbers[-1]
        if number is None:
            return f"{BULLETS[(self.depth - 1) % len(BULLETS)]} "
        self._numbers[-1] = number + 1
        return f"{number}. "
