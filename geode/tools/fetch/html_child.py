"""Turns HTML into Markdown; runs as a child, because hostile markup can hold a parser for hours."""

from __future__ import annotations

import json
import re
import sys
from urllib.parse import urljoin

from bs4 import BeautifulSoup, Tag
from markdownify import MarkdownConverter

from geode.tools.child_limits import limit_child

TEXT_CHARS_MAX = 400_000
"""What a page may give; the result keeps less of it."""

_DROPPED = (
    *("script", "style", "nav", "svg", "noscript", "template", "iframe", "object", "embed"),
    *("head", "title", "canvas", "audio", "video", "form", "button", "select", "input", "textarea"),
)
_BLANK_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*)+\n")


def main() -> None:
    """Read one page from stdin and write its text."""
    limit_child(cpu_s=12, memory_bytes=1_500_000_000)
    page = json.load(sys.stdin)
    text = html_to_text(page["html"], page["url"])[:TEXT_CHARS_MAX]
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))


def html_to_text(html: str, url: str) -> str:
    """The page's title and readable text as Markdown with absolute links and no images."""
    soup = BeautifulSoup(html, "html.parser")
    title = " ".join(soup.title.get_text().split()) if soup.title else ""
    start = _place_of(soup, url)
    for element in soup.find_all(_DROPPED):
        element.decompose()
    for image in soup.find_all("img"):
        image.replace_with(str(image.get("alt") or ""))
    for link in soup.find_all("a"):
        _absolve(link, start)
    text = _BLANK_LINES.sub("\n\n", _to_markdown(soup)).strip()
    return f"# {title}\n\n{text}" if title and not text.startswith(f"# {title}\n") else text


def _place_of(soup: BeautifulSoup, url: str) -> str:
    """Where relative links start."""
    element = soup.find("base", href=True)
    return _join(url, str(element["href"])) or url if isinstance(element, Tag) else url


def _absolve(link: Tag, start: str) -> None:
    """Give the link its absolute address, or only its text when it leads nowhere on the web."""
    written = str(link.get("href") or "").strip()
    target = _join(start, written)
    if target is None or not written or written.startswith("#"):
        link.unwrap()
    else:
        link["href"] = target
        del link["title"]


def _join(start: str, target: str) -> str | None:
    try:
        joined = urljoin(start, target)
    except ValueError:
        return None
    return joined if joined.startswith(("http://", "https://")) else None


def _to_markdown(soup: BeautifulSoup) -> str:
    converter = MarkdownConverter(
        heading_style="ATX",
        bullets="-",
        escape_asterisks=False,
        escape_underscores=False,
        escape_misc=False,
    )
    try:
        return converter.convert_soup(soup)
    except RecursionError:
        return soup.get_text("\n")


if __name__ == "__main__":
    main()
