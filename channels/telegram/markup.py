"""Markdown as Telegram's text and entities: pure, inert by construction."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

from markdown_it.token import Token

from channels.markdown import (
    RULE,
    ListMarks,
    label_of,
    list_wide_tables,
    parse_markdown,
    read_code,
    read_table,
)
from channels.tables import draw_table
from channels.text import utf16_length
from geode.messages import JsonObject, JsonValue

ENTITIES_MAX = 100
INDENT = "    "
TABLE_COLUMNS_MAX = 40
"""What a phone held upright shows of a code block before it breaks the lines."""
ALONE = frozenset({"code", "pre"})
"""Entities that share no character with another one."""

_STYLES = {"strong": "bold", "em": "italic", "s": "strikethrough"}
_WEB = re.compile(r"https?://[^\s]+", re.IGNORECASE)
_PINGS = re.compile(r"https?://\S+|(?<![\w@])@(?=[A-Za-z]\w{2,})", re.ASCII)
_LOOKS_LIKE_ADDRESS = re.compile(r"://|^www\.", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Style:
    """One entity to be; `number` tells neighbours of the same kind apart."""

    kind: str
    number: int
    url: str = ""
    language: str = ""


@dataclass(frozen=True, slots=True)
class Rendered:
    """A text within no limit yet, and its entities in UTF-16 units."""

    text: str
    entities: list[JsonValue]
    is_whole: bool = True
    """Whether no code and no link had to be left out for want of entities."""


def make_inert(text: str) -> str:
    """The text with every name that would ping somebody broken by an invisible joiner."""
    return _PINGS.sub(lambda found: "@\u2060" if found[0] == "@" else found[0], text)


def render_markdown(markdown: str) -> Rendered:
    """Render a document; the text never begins or ends with white space."""
    return _Writer().write(list_wide_tables(parse_markdown(markdown), TABLE_COLUMNS_MAX))


@dataclass(slots=True)
class _Writer:
    runs: list[tuple[str, tuple[Style, ...]]] = field(
        default_factory=list[tuple[str, tuple[Style, ...]]]
    )
    styles: list[Style] = field(default_factory=list[Style])
    lists: ListMarks = field(default_factory=ListMarks)
    is_tight: bool = False
    quotes: int = 0
    gap: str = ""
    numbers: count[int] = field(default_factory=count)

    def write(self, tokens: Sequence[Token]) -> Rendered:
        after = 0
        for at, token in enumerate(tokens):
            if token.type == "table_open":
                found, after = read_table(tokens, at)
                self._write_code(draw_table(found.texts, found.aligns))
            elif at >= after:
                self._take(token)
        return _finish(self.runs)

    def _take(self, token: Token) -> None:
        match token.type:
            case "inline":
                self._begin_block()
                self._write_inline(token.children or [])
            case "fence" | "code_block":
                info, code = read_code(token)
                self._write_code(code, info.split()[0] if info else "")
            case "hr":
                self._begin_block()
                self._put(RULE)
            case "heading_open":
                self._open("bold")
            case "heading_close":
                self.styles.pop()
            case _:
                self._enter_or_leave(token)

    def _enter_or_leave(self, token: Token) -> None:
        match token.type:
            case "blockquote_open":
                self.quotes += 1
                if self.quotes == 1:
                    self._open("blockquote")
            case "blockquote_close":
                self.quotes -= 1
                if self.quotes == 0:
                    self.styles.pop()
            case _:
                self.lists.follow(token)
                if token.type in ("bullet_list_close", "ordered_list_close"):
                    self.is_tight = self.lists.depth > 0

    def _open(self, kind: str, **extra: str) -> Style:
        style = Style(kind, next(self.numbers), **extra)
        self.styles.append(style)
        return style

    def _put(self, text: str) -> None:
        if text:
            self.runs.append((text, tuple(self.styles)))

    def _begin_block(self) -> None:
        gap = "\n" if self.is_tight and self.lists.depth else "\n\n"
        if self.runs:
            # The gap belongs to no entity but to the quote that goes on over it.
            shared = {s for s in self.styles if s.kind == "blockquote"} & {*self.runs[-1][1]}
            self.runs.append((gap, tuple(shared)))
        indent = INDENT * max(self.lists.depth - 1, 0)
        hang = "   " if self.lists.depth else ""
        nested = "> " * max(self.quotes - 1, 0)
        quote = tuple(s for s in self.styles if s.kind == "blockquote")
        if lead := f"{nested}{indent}{self.lists.take_mark() or hang}":
            self.runs.append((lead, quote))
        self.is_tight = self.lists.depth > 0

    def _write_code(self, code: str, language: str = "") -> None:
        if code.strip():
            self._begin_block()
            self._open("pre", language=language)
            self._put(code)
            self.styles.pop()

    def _write_inline(self, tokens: Sequence[Token]) -> None:
        for at, token in enumerate(tokens):
            kind = token.type.removesuffix("_open").removesuffix("_close")
            if token.type in ("softbreak", "hardbreak"):
                self._put("\n")
            elif kind in _STYLES:
                self._open(_STYLES[kind]) if token.nesting > 0 else self.styles.pop()
            elif token.type == "link_open":
                self._open_link(str(token.attrGet("href") or ""), label_of(tokens[at + 1 :]))
            elif token.type == "link_close":
                self._close_link()
            elif token.type == "image":
                self._write_image(token)
            elif token.type == "code_inline":
                self._open("code")
                self._put(token.content)
                self.styles.pop()
            else:
                self._put(make_inert(token.content))

    def _open_link(self, target: str, label: str) -> None:
        is_plain = label == target or not _WEB.fullmatch(target)
        hides = _LOOKS_LIKE_ADDRESS.search(label) is not None
        kind = "text_link" if label.strip() and not is_plain and not hides else "shown_link"
        self._open(kind, url="" if label == target else target)

    def _close_link(self) -> None:
        style = self.styles.pop()
        if style.kind == "shown_link" and style.url:
            self._put(f" ({make_inert(style.url)})")

    def _write_image(self, token: Token) -> None:
        source = str(token.attrGet("src") or "")
        self._put(make_inert(f"{token.content} {source}".strip()))


def _finish(runs: Sequence[tuple[str, tuple[Style, ...]]]) -> Rendered:
    whole = "".join(text for text, _ in runs)
    cut = len(whole) - len(whole.lstrip())
    text = whole.strip()
    spans: dict[Style, list[tuple[int, int]]] = {}
    at = -cut
    for part, styles in runs:
        start, end = max(at, 0), min(at + len(part), len(text))
        at += len(part)
        for style in _kept(styles) if start < end else ():
            stretches = spans.setdefault(style, [])
            if stretches and stretches[-1][1] == start:
                stretches[-1] = (stretches[-1][0], end)
            else:
                stretches.append((start, end))
    found = [(start, end, s) for s, places in spans.items() for start, end in places]
    # Code that is none any more would ping whom it names: it is the last to go.
    found.sort(key=lambda span: (span[2].kind not in ALONE, span[2].kind != "text_link", span[0]))
    left_out, found = found[ENTITIES_MAX:], found[:ENTITIES_MAX]
    found.sort(key=lambda span: (span[0], -span[1], span[2].number))
    is_whole = all(style.kind not in (*ALONE, "text_link") for _, _, style in left_out)
    return Rendered(text, [_entity(text, *span) for span in found], is_whole)


def _kept(styles: tuple[Style, ...]) -> tuple[Style, ...]:
    """The styles of a run that Telegram lets stand together."""
    if any(style.kind == "text_link" for style in styles):
        styles = tuple(style for style in styles if style.kind not in ALONE)
    alone = tuple(style for style in styles if style.kind in ALONE)
    return alone or tuple(style for style in styles if style.kind != "shown_link")


def _entity(text: str, start: int, end: int, style: Style) -> JsonObject:
    entity: JsonObject = {
        "type": style.kind,
        "offset": utf16_length(text[:start]),
        "length": utf16_length(text[start:end]),
    }
    if style.url:
        entity["url"] = style.url
    if style.language:
        entity["language"] = style.language
    return entity
