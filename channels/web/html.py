"""Markdown as the page's HTML: pure, a closed list of elements, inert, and no text lost."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from urllib.parse import urlsplit

from markdown_it.token import Token

from channels.markdown import label_of, parse_line, parse_markdown, trim_url

HEADING_FIRST = 4
"""A document's first heading stands below the page's, the conversation's and the author's."""

_PLAIN_TAGS = {
    "paragraph": "p",
    "strong": "strong",
    "em": "em",
    "s": "s",
    "bullet_list": "ul",
    "ordered_list": "ol",
    "list_item": "li",
    "blockquote": "blockquote",
    "thead": "thead",
    "tbody": "tbody",
    "tr": "tr",
    "th": "th",
    "td": "td",
}
_BLOCKS = frozenset({"p", "ul", "ol", "li", "blockquote", "th", "td", "h4", "h5", "h6"})
_AUTO = ' dir="auto"'
_INVISIBLE = re.compile(
    "[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\ufdd0-\ufdef\ufffe\uffff"
    "\ud800-\udfff]"
)
_URL = re.compile(r"https?://[^\s<>\"]+", re.IGNORECASE)
_TARGET = re.compile(r"(?:https?://[^\s/]|mailto:[^\s])\S*", re.IGNORECASE)
_HOST = re.compile(
    r"(?:[a-z][a-z0-9+.-]*://)?(?:[^\s/@]*@)?((?:[\w-]+\.)+[\w-]{2,})", re.IGNORECASE
)
_LANGUAGE = re.compile(r"[A-Za-z0-9_+#.-]{1,30}")


def show_invisible(text: str) -> str:
    """The text with control and direction-changing characters as their code points, to be read."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _INVISIBLE.sub(lambda found: f"[U+{ord(found[0]):04X}]", text)


def render_text(text: str) -> str:
    """Plain words of a person: paragraphs with their line breaks, addresses as links."""
    shown = show_invisible(text).strip("\n")
    blocks = [block for block in re.split(r"\n(?:[ \t]*\n)+", shown) if block.strip()]
    return "".join(f"<p{_AUTO}>{_link_addresses(b).replace(chr(10), '<br>')}</p>" for b in blocks)


def render_markdown(markdown: str) -> str:
    """A document as HTML."""
    return "".join(_write_blocks(parse_markdown(show_invisible(markdown))))


def render_line(markdown: str) -> str:
    """One line of Markdown without blocks around it."""
    return "".join(_write_inline(parse_line(show_invisible(markdown))))


def _write_blocks(tokens: Sequence[Token]) -> Iterator[str]:
    for token in tokens:
        kind = token.type.removesuffix("_open").removesuffix("_close")
        if token.type == "inline":
            yield from _write_inline(token.children or [])
        elif kind == "table":
            yield from _write_table_edge(token.nesting)
        elif token.type in ("fence", "code_block"):
            yield _write_code(token.content, token.info)
        elif token.type == "hr":
            yield "<hr>"
        elif kind == "heading":
            yield _write_tag(f"h{min(HEADING_FIRST - 1 + int(token.tag[1]), 6)}", token)
        elif kind in _PLAIN_TAGS and not token.hidden:
            yield _write_tag(_PLAIN_TAGS[kind], token)
        elif kind == "paragraph":
            yield ""
        else:
            yield escape(token.content)


def _write_tag(tag: str, token: Token) -> str:
    if token.nesting < 0:
        return f"</{tag}>"
    attributes = _AUTO if tag in _BLOCKS else ""
    if tag == "ol" and str(start := token.attrs.get("start", 1)).isdecimal() and start != 1:
        attributes += f' start="{start}"'
    if found := re.fullmatch(r"text-align:(right|center)", str(token.attrs.get("style", ""))):
        attributes += f' class="{found[1]}"'
    return f"<{tag}{attributes}>"


def _write_table_edge(nesting: int) -> str:
    if nesting < 0:
        return "</table></div>"
    return '<div class="wide" role="group" aria-label="Table" tabindex="0"><table>'


def _write_code(code: str, info: str) -> str:
    info = info.strip()
    language = info.split()[0] if info else ""
    named = f' class="language-{escape(language)}"' if _LANGUAGE.fullmatch(language) else ""
    label = f"Code, {language}" if named else "Code"
    caption = f'<figcaption dir="auto">{escape(info)}</figcaption>' if info else ""
    return (
        f'<figure class="code">{caption}'
        f'<pre role="group" aria-label="{escape(label)}" tabindex="0" dir="ltr">'
        f"<code{named}>{escape(code.removesuffix(chr(10)))}</code></pre></figure>"
    )


def _write_inline(tokens: Sequence[Token]) -> Iterator[str]:
    ends: list[str] = []
    for at, token in enumerate(tokens):
        kind = token.type.removesuffix("_open").removesuffix("_close")
        if token.type == "text":
            yield escape(token.content) if ends else _link_addresses(token.content)
        elif token.type == "code_inline":
            yield f"<code>{escape(token.content)}</code>"
        elif token.type in ("softbreak", "hardbreak"):
            yield "<br>"
        elif token.type == "link_open":
            opening, end = _link_edges(token, label_of(tokens[at + 1 :]))
            ends.append(end)
            yield opening
        elif token.type == "link_close":
            yield ends.pop()
        elif token.type == "image":
            yield _write_image(token, is_in_link=bool(ends))
        elif kind in _PLAIN_TAGS:
            yield f"<{'/' if token.nesting < 0 else ''}{_PLAIN_TAGS[kind]}>"
        else:
            yield escape(token.content)


def _link_edges(token: Token, label: str) -> tuple[str, str]:
    target = str(token.attrs.get("href", ""))
    title = str(token.attrs.get("title", ""))
    if not _TARGET.fullmatch(target):
        beside = " ".join(part for part in (target, title) if part and part != label)
        return "<span>", f"</span>{_beside(beside)}"
    shown = title if not _hides(target, label) else f"{target} {title}".strip()
    return _opening_link(target), f"</a>{_beside(shown)}"


def _beside(text: str) -> str:
    return f' <span class="target">(<bdi>{escape(text)}</bdi>)</span>' if text else ""


def _opening_link(target: str) -> str:
    relations = "noopener noreferrer nofollow"
    return f'<a href="{escape(target)}" rel="{relations}" target="_blank">'


def _hides(target: str, label: str) -> bool:
    """Whether the words of a link are none, or name another place than it leads to."""
    if not label.strip():
        return True
    hosts = {found[1].lower() for found in _HOST.finditer(label)}
    return bool(hosts - {_host_of(target)})


def _host_of(target: str) -> str:
    if target.lower().startswith("mailto:"):
        return target.rpartition("@")[2].partition("?")[0].lower()
    try:
        return (urlsplit(target).hostname or "").lower()
    except ValueError:
        return ""


def _write_image(token: Token, *, is_in_link: bool) -> str:
    """A picture as a link to it: nothing is loaded from anywhere."""
    source, words = str(token.attrs.get("src", "")), label_of(token.children or [])
    title = str(token.attrs.get("title", ""))
    if is_in_link or not _TARGET.fullmatch(source):
        beside = " ".join(part for part in (source, title) if part)
        return f"<span>{escape(words)}</span>{_beside(beside)}"
    shown = title if words and not _hides(source, words) else f"{source} {title}".strip()
    return f"{_opening_link(source)}{escape(words or 'picture')}</a>{_beside(shown)}"


def _link_addresses(text: str) -> str:
    """Escaped text in which web addresses are links to exactly what they say."""
    pieces: list[str] = []
    at = 0
    for found in _URL.finditer(text):
        url = trim_url(found[0])
        pieces += [escape(text[at : found.start()]), _opening_link(url), escape(url), "</a>"]
        at = found.start() + len(url)
    return "".join([*pieces, escape(text[at:])])
