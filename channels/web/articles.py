"""A kept message as what its article on the page shows: pure, any payload."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import quote

from channels.web.html import render_line, render_markdown, render_text, show_invisible
from channels.web.views import DIRECT, Viewer
from geode.messages import JsonObject, JsonValue, OutboundFile, Thread
from geode.transcripts import RoomMessage, RoomThread

TITLE_CHARS_MAX = 70
STATES = {"pending": "pending", "running": "running", "done": "done", "failed": "failed"}
STYLES = ("primary", "danger")


@dataclass(frozen=True, slots=True)
class Moment:
    """A time as machines read it, and as people do who have no script."""

    iso: str
    words: str


@dataclass(frozen=True, slots=True)
class StepShown:
    """One tool that a turn used or uses."""

    title: str
    state: str


@dataclass(frozen=True, slots=True)
class ButtonShown:
    """One choice of a card."""

    label: str
    nonce: str
    style: str
    asks: str


@dataclass(frozen=True, slots=True)
class CardShown:
    """What people decide on; its texts are HTML but the title and the names."""

    title: str
    body: str
    fields: tuple[tuple[str, str], ...]
    buttons: tuple[ButtonShown, ...]


@dataclass(frozen=True, slots=True)
class FileShown:
    """A file and where it is fetched."""

    name: str
    size: str
    url: str
    is_picture: bool


@dataclass(frozen=True, slots=True)
class Article:
    """One message, ready to be shown to one viewer."""

    id: str
    kind: str
    author: str
    is_mine: bool
    is_ours: bool
    is_private: bool
    is_marked: bool
    moment: Moment
    body: str
    """Safe HTML."""
    steps: tuple[StepShown, ...]
    card: CardShown | None
    files: tuple[FileShown, ...]
    room: str
    thread: str


@dataclass(frozen=True, slots=True)
class ThreadShown:
    """One line of the list of threads."""

    title: str
    url: str
    moment: Moment
    is_current: bool


def describe_message(
    viewer: Viewer, agent_name: str, message: RoomMessage, *, is_marked: bool
) -> Article:
    """What the viewer sees of a message."""
    payload, author = message.payload, message.author
    is_ours = author is None
    card = payload.get("card")
    return Article(
        id=message.id,
        kind=_text(payload, "kind") if is_ours else "said",
        author=agent_name if author is None else show_invisible(author.name or author.id),
        is_mine=author is not None and author.id == viewer.id,
        is_ours=is_ours,
        is_private=bool(message.only_for),
        is_marked=is_marked,
        moment=describe_moment(message.said_at_us),
        body=_write_body(payload, is_ours=is_ours, has_card=isinstance(card, dict)),
        steps=tuple(_read_steps(payload)),
        card=_read_card(card) if isinstance(card, dict) else None,
        files=tuple(_show_file(message, n, file) for n, file in enumerate(message.files)),
        room=message.thread.channel,
        thread=message.thread.thread or DIRECT,
    )


def describe_thread(agent_name: str, found: RoomThread, current: Thread | None) -> ThreadShown:
    """One line of the list of threads."""
    return ThreadShown(
        title=title_of(found.first) or f"{agent_name} began",
        url=thread_url(found.thread),
        moment=describe_moment(found.last_at_us),
        is_current=found.thread == current,
    )


def title_of(message: RoomMessage) -> str:
    """The beginning of what a message says, as one line; a file's name where it says nothing."""
    words = _text(message.payload, "text") or _text(message.payload, "markdown")
    if not words.strip() and message.files:
        words = message.files[0].name
    line = " ".join(show_invisible(words).split())
    return line if len(line) <= TITLE_CHARS_MAX else f"{line[: TITLE_CHARS_MAX - 1].rstrip()}…"


def describe_moment(at_us: int) -> Moment:
    """A time in UTC."""
    moment = datetime.fromtimestamp(at_us // 1_000_000, UTC)
    return Moment(moment.strftime("%Y-%m-%dT%H:%M:%SZ"), moment.strftime("%Y-%m-%d %H:%M UTC"))


def room_url(room_id: str) -> str:
    """The address of a room."""
    return f"/rooms/{quote(room_id, safe='')}"


def thread_url(thread: Thread) -> str:
    """The address of a thread, or of a direct room's only conversation."""
    return f"{room_url(thread.channel)}/{quote(thread.thread or DIRECT, safe='')}"


def file_url(message_id: str, number: int, name: str) -> str:
    """The address of a message's file; files are counted from 0."""
    return f"/files/{quote(message_id, safe='')}/{number}/{quote(name, safe='')}"


def describe_size(size_bytes: int) -> str:
    """A size as people say it."""
    if size_bytes < 1_000:
        return f"{size_bytes} B"
    if size_bytes < 1_000_000:
        return f"{size_bytes / 1_000:.0f} kB"
    return f"{size_bytes / 1_000_000:.1f} MB"


def _write_body(payload: JsonObject, *, is_ours: bool, has_card: bool) -> str:
    if not is_ours:
        return render_text(_text(payload, "text"))
    # With a card the words are what a channel without cards would say instead.
    return "" if has_card else render_markdown(_text(payload, "markdown"))


def _read_steps(payload: JsonObject) -> list[StepShown]:
    steps = payload.get("steps")
    rows = [row for row in steps if isinstance(row, dict)] if isinstance(steps, list) else []
    return [
        StepShown(show_invisible(_text(row, "title")), STATES.get(_text(row, "state"), "running"))
        for row in rows
    ]


def _read_card(card: JsonObject) -> CardShown:
    fields = [(name, render_markdown(value)) for name, value in _read_pairs(card.get("fields"))]
    return CardShown(
        title=show_invisible(_text(card, "title")),
        body=render_markdown(_text(card, "body")),
        fields=tuple(fields),
        buttons=tuple(_read_buttons(card.get("buttons"))),
    )


def _read_pairs(fields: JsonValue) -> list[tuple[str, str]]:
    pairs = fields if isinstance(fields, list) else []
    return [
        (show_invisible(str(pair[0])), str(pair[1]))
        for pair in pairs
        if isinstance(pair, list) and len(pair) > 1
    ]


def _read_buttons(buttons: JsonValue) -> list[ButtonShown]:
    rows = [b for b in buttons if isinstance(b, dict)] if isinstance(buttons, list) else []
    return [
        ButtonShown(
            label=show_invisible(_text(row, "label")),
            nonce=_text(row, "nonce"),
            style=style if (style := _text(row, "style")) in STYLES else "plain",
            asks=render_line(_text(row, "asks")),
        )
        for row in rows
    ]


def _show_file(message: RoomMessage, number: int, file: OutboundFile) -> FileShown:
    return FileShown(
        name=show_invisible(file.name),
        size=describe_size(file.size_bytes),
        url=file_url(message.id, number, file.name),
        is_picture=file.media_type in ("image/png", "image/jpeg", "image/gif", "image/webp"),
    )


def _text(row: JsonObject, key: str) -> str:
    value = row.get(key)
    return value if isinstance(value, str) else ""
