"""Inline Markdown as runs of styled text, and runs as mrkdwn that means only what we meant."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import quote

from markdown_it.token import Token

from channels.markdown import trim_url
from channels.text import cut_text, utf16_length

_MARKS = {"bold": "*", "italic": "_", "strike": "~", "code": "`"}
_STYLES = {"strong": "bold", "em": "italic", "s": "strike"}
_URL = re.compile(r"https?://[^\s<>\"'`|]+")
_LINK = re.compile(r"(https?://|mailto:)[^\s]+", re.IGNORECASE)
_IN_LINK = {"|": "%7C", "<": "%3C", ">": "%3E", " ": "%20"}
_DIRECTIONS = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
_CONTROLS = (*range(0x20), *range(0x7F, 0xA0))
_NEVER_SHOWN = dict.fromkeys(c for c in (*_DIRECTIONS, *_CONTROLS) if chr(c) not in "\t\n\r")


@dataclass(frozen=True, slots=True)
class Run:
    """A stretch of text in one style; a link shows its own address."""

    text: str
    styles: frozenset[str] = frozenset()
    is_link: bool = False


def strip_controls(text: str) -> str:
    """The text without controls and without marks that turn the direction of what follows.

    Such a mark in a link's label would show the address behind it backwards.
    """
    return text.translate(_NEVER_SHOWN)


def escape(text: str) -> str:
    """Text in which Slack finds no control sequence; a reader sees the characters as they were."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def escaped_length(text: str) -> int:
    """How long a text is for Slack once escaped."""
    return utf16_length(escape(text))


def read_runs(tokens: Sequence[Token]) -> list[list[Run]]:
    """The lines of one inline token's children, each a list of runs."""
    lines: list[list[Run]] = [[]]
    styles: list[str] = []
    targets: list[str] = []
    labels: list[str] = []
    for token in tokens:
        kind = token.type.removesuffix("_open").removesuffix("_close")
        if token.type in ("softbreak", "hardbreak"):
            lines.append([])
        elif kind in _STYLES:
            _toggle(styles, _STYLES[kind], is_on=token.nesting > 0)
        elif token.type == "link_open":
            targets.append(str(token.attrGet("href") or ""))
            labels.append("")
        elif token.type == "link_close":
            lines[-1].extend(_target_runs(labels.pop(), targets.pop()))
        elif token.type == "image":
            lines[-1].extend(_image_runs(token))
        elif token.content:
            if labels:
                labels[-1] += token.content
            is_url = bool(targets) and token.content == targets[-1]
            if not is_url:
                lines[-1].extend(_text_runs(token, frozenset(styles)))
    return lines


def _toggle(styles: list[str], style: str, *, is_on: bool) -> None:
    if is_on:
        styles.append(style)
    elif style in styles:
        styles.remove(style)


def _text_runs(token: Token, styles: frozenset[str]) -> list[Run]:
    if token.type == "code_inline":
        return [Run(token.content, styles | {"code"})]
    runs: list[Run] = []
    rest = token.content
    while found := _URL.search(rest):
        url = trim_url(found[0])
        if rest[: found.start()]:
            runs.append(Run(rest[: found.start()], styles))
        runs.append(Run(url, is_link=True))
        rest = rest[found.start() + len(url) :]
    return [*runs, Run(rest, styles)] if rest else runs


def _image_runs(token: Token) -> list[Run]:
    source = str(token.attrGet("src") or "")
    alt = [Run(f"{token.content} ")] if token.content else []
    return [*alt, Run(source, is_link=True)] if _LINK.fullmatch(source) else [*alt, Run(source)]


def _target_runs(label: str, target: str) -> list[Run]:
    """What follows a link's label: its address, so that no label hides where it leads."""
    if not target or (target.removeprefix("mailto:") == label and target != label):
        return []
    shown = Run(target, is_link=bool(_LINK.fullmatch(target)))
    return [shown] if label == target else [Run(" ("), shown, Run(")")]


def cut_runs(runs: list[Run], limit: int) -> list[list[Run]]:
    """Lines of runs that each render within `limit`; a link above it becomes text, never lost."""
    pieces: list[list[Run]] = [[]]
    used = 0
    for run in runs:
        rest = run
        while rest.text:
            if used + rendered_cost(rest) <= limit:
                pieces[-1].append(rest)
                used += rendered_cost(rest)
                break
            room = limit - used - rendered_cost(replace(rest, text=""))
            is_whole = rest.is_link and rendered_cost(rest) <= limit
            if not is_whole and (not used or room > limit // 8):
                head, tail = cut_text(rest.text, max(room, 1), escaped_length)
                pieces[-1].append(replace(rest, text=head, is_link=False))
                rest = replace(rest, text=tail, is_link=False)
            pieces.append([])
            used = 0
    return [piece for piece in pieces if piece]


def rendered_cost(run: Run) -> int:
    """An upper bound of how long a run is once rendered."""
    text = _link_target(run.text) if run.is_link else run.text
    return escaped_length(text) + 2 * (len(run.styles) + run.is_link)


def render_runs(runs: Sequence[Run]) -> str:
    """One line of mrkdwn; a style that Slack could misread is left out, its text never."""
    line = ""
    for position, run in enumerate(runs):
        following = next((r.text[0] for r in runs[position + 1 :] if r.text), " ")
        if run.is_link:
            line += f"<{escape(_link_target(run.text))}>"
        else:
            line += _styled(run, line[-1:] or " ", following)
    return line


def _link_target(url: str) -> str:
    return "".join(_IN_LINK.get(char) or _visible(char) for char in url)


def _visible(char: str) -> str:
    # What cannot be seen must not tell two addresses apart.
    is_seen = char.isascii() or unicodedata.category(char) not in ("Cf", "Cn", "Co", "Cs")
    return char if is_seen else quote(char, errors="replace")


def _styled(run: Run, before: str, after: str) -> str:
    core = run.text.strip()
    lead = run.text[: len(run.text) - len(run.text.lstrip())]
    trail = run.text[len(lead) + len(core) :]
    marks = [mark for style, mark in _MARKS.items() if style in run.styles and mark not in core]
    is_free = _is_boundary(lead[-1:] or before) and _is_boundary(trail[:1] or after)
    if not core or not marks or not is_free:
        return escape(run.text)
    if "`" in marks:
        # Slack shows other marks inside code as characters.
        marks = ["`"]
    return f"{lead}{''.join(marks)}{escape(core)}{''.join(reversed(marks))}{trail}"


def _is_boundary(char: str) -> bool:
    return not char.isalnum() and char not in "_*~`"
