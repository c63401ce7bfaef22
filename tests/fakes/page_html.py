"""What the HTML of a message may hold, and messages to make it from."""

from __future__ import annotations

from bs4 import BeautifulSoup
from bs4.element import Tag

from geode.messages import JsonObject, OutboundFile, Person, Thread
from geode.transcripts import RoomMessage

THREAD = Thread("web", "local", "home", "0001")
ME, OTHER = Person("local", "You"), Person("ana", "Ana")
ALLOWED: dict[str, set[str]] = {
    **{key: {"dir"} for key in ("p", "li", "ul", "blockquote", "h4", "h5", "h6", "figcaption")},
    **{key: set() for key in ("strong", "em", "s", "br", "hr", "thead", "tbody", "tr", "table")},
    **{key: {"dir", "class"} for key in ("th", "td")},
    "ol": {"dir", "start"},
    "a": {"href", "rel", "target"},
    "span": {"class"},
    "bdi": set(),
    "code": {"class"},
    "pre": {"role", "aria-label", "tabindex", "dir"},
    "div": {"class", "role", "aria-label", "tabindex"},
    "figure": {"class"},
}
CLASSES = {"right", "center", "target", "code", "wide"}
SCHEMES = ("http://", "https://", "mailto:")


def parse_html(html: str) -> BeautifulSoup:
    """The document as a parser of HTML sees it."""
    return BeautifulSoup(html, "html.parser")


def find_foreign(html: str) -> list[str]:
    """Elements, attributes and targets that no message may have."""
    found: list[str] = []
    for tag in parse_html(html).find_all(True):
        assert isinstance(tag, Tag)
        allowed = ALLOWED.get(tag.name)
        if allowed is None or set(tag.attrs) - allowed:
            found.append(str(tag))
        classes = tag.get("class") or []
        if any(c not in CLASSES and not c.startswith("language-") for c in classes):
            found.append(str(tag))
        if tag.name == "a" and not str(tag["href"]).lower().startswith(SCHEMES):
            found.append(str(tag))
    return found


def say(number: int, payload: JsonObject, author: Person | None = None) -> RoomMessage:
    """A message as it is kept."""
    return RoomMessage(
        THREAD, f"k{number}", payload, author, id=f"{number:04d}", said_at_us=1_796_000_000_000_000
    )


def answer(number: int, markdown: str, *files: OutboundFile) -> RoomMessage:
    """An answer of ours as it is kept."""
    said = say(number, {"kind": "answer", "markdown": markdown, "card": None, "steps": []})
    return RoomMessage(
        said.thread, said.key, said.payload, files=files, id=said.id, said_at_us=said.said_at_us
    )
