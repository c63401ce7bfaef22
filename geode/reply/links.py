"""Links of an answer that name files of the workspace: found by a real parser, taken out; pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline, image, link

_NOT_RELATIVE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|[/#?\\]|www\.")
_RECORDS = "geode-links"


@dataclass(frozen=True, slots=True)
class FileLink:
    """One link that may name a file of the workspace."""

    target: str
    """As it is written, without its escapes."""
    label: str
    raw: str
    """The whole of it in the source; empty when it is a part of the link before it."""
    lines: tuple[int, int]
    """The block it stands in."""
    before: int
    """How often the same text stands before it in that block's text."""

    @property
    def spellings(self) -> tuple[str, ...]:
        """The paths it may mean, the likeliest first."""
        plain = unquote(self.target)
        bare = re.split(r"[#?]", plain, maxsplit=1)[0]
        return tuple(dict.fromkeys(each for each in (plain, self.target, bare) if each))


@dataclass(slots=True)
class _Found:
    start: int
    end: int
    target: str
    label: str


@dataclass(slots=True)
class _Finds:
    source: str
    links: list[_Found] = field(default_factory=list[_Found])


def find_file_links(markdown: str) -> list[FileLink]:
    """Links and pictures with a relative target, in order; code and addresses hold none."""
    if "](" not in markdown and "]:" not in markdown:
        return []
    parser, env = _parser(), dict[str, object]()
    lines = (0, markdown.count("\n") + 1)
    found: list[FileLink] = []
    for token in parser.parse(markdown, env):
        lines = (token.map[0], token.map[1]) if token.map else lines
        if token.type != "inline":
            continue
        finds = _Finds(token.content)
        parser.inline.parse(token.content, parser, {**env, _RECORDS: finds}, [])
        found += _describe(finds, lines)
    return found


def _describe(finds: _Finds, lines: tuple[int, int]) -> list[FileLink]:
    described: list[FileLink] = []
    end = 0
    for each in sorted(finds.links, key=lambda each: each.start):
        if not each.target or _NOT_RELATIVE.match(each.target):
            continue
        if each.start < end:
            # A picture as a link's label: what stays of both is the picture's own words.
            described[-1] = replace(described[-1], label=each.label)
            described.append(FileLink(each.target, each.label, "", lines, 0))
            continue
        raw, end = finds.source[each.start : each.end], each.end
        before = finds.source.count(raw, 0, each.start)
        described.append(FileLink(each.target, each.label, raw, lines, before))
    return described


def take_out_links(markdown: str, links: Sequence[FileLink], targets: Collection[str]) -> str:
    """The text in which each link to one of the targets is its label only."""
    rows = markdown.split("\n")
    # From the end, so that what stands before a link is still as it was counted.
    for each in reversed(links):
        if each.raw and each.target in targets:
            first, last = each.lines
            block = "\n".join(rows[first:last])
            block = _replace_nth(block, each.raw, each.label or each.spellings[0], each.before)
            rows[first:last] = block.split("\n")
    return "\n".join(rows)


def _replace_nth(text: str, old: str, new: str, count: int) -> str:
    at = text.find(old)
    for _ in range(count):
        following = text.find(old, at + len(old)) if at >= 0 else -1
        at = following if following >= 0 else at
    return text if at < 0 else text[:at] + new + text[at + len(old) :]


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    # Each block's text is parsed by itself, so that every link is known with its block.
    parser.core.ruler.disable(["inline", "text_join"])
    parser.inline.ruler.at("link", _record_link)
    parser.inline.ruler.at("image", _record_image)
    return parser


def _record_link(state: StateInline, silent: bool) -> bool:
    return _record(state, silent=silent, opener="link_open", attribute="href")


def _record_image(state: StateInline, silent: bool) -> bool:
    return _record(state, silent=silent, opener="image", attribute="src")


def _record(state: StateInline, *, silent: bool, opener: str, attribute: str) -> bool:
    start, known = state.pos, len(state.tokens)
    is_image = opener == "image"
    is_found = (image if is_image else link)(state, silent)
    finds = state.env.get(_RECORDS)
    if not is_found or silent or not isinstance(finds, _Finds) or state.src != finds.source:
        return is_found  # also within the words of a picture, which are parsed by themselves
    made = next(token for token in state.tokens[known:] if token.type == opener)
    label_start = start + (2 if is_image else 1)
    label = made.content if is_image else _label_of(state, start, label_start)
    finds.links.append(_Found(start, state.pos, str(made.attrs.get(attribute, "")), label))
    return True


def _label_of(state: StateInline, start: int, label_start: int) -> str:
    end = state.pos
    label_end = state.md.helpers.parseLinkLabel(state, start, True)
    state.pos = end
    return state.src[label_start:label_end]
