"""Markdown as Slack posts: Block Kit sections within every limit, inert by construction."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from channels.slack.blocks import Piece, render_pieces
from channels.slack.inline import escape, escaped_length, strip_controls
from channels.text import cut_text, utf16_length
from geode.messages import JsonObject, JsonValue, Part

SECTION_CHARS_MAX = 3_000
BLOCKS_MAX = 44
"""Of Slack's 50, some are left for what a card has beside its text."""
POST_CHARS_MAX = 3_900
"""Below Slack's 4,000 for `text`, which repeats the whole post for plain-text readers."""
NOTHING = "(no text)"

_LINK = re.compile(r"<((?:https?://|mailto:)[^<>]*)>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Post:
    """One Slack message: its sections' mrkdwn, in order."""

    sections: tuple[str, ...]

    @property
    def text(self) -> str:
        """The fallback text: everything the sections say."""
        return "\n".join(self.sections)

    @property
    def blocks(self) -> list[JsonValue]:
        """The sections as Block Kit; `verbatim` keeps names and channels from becoming mentions."""
        return [
            {"type": "section", "text": {"type": "mrkdwn", "text": text, "verbatim": True}}
            for text in self.sections
        ]


def render_posts(markdown: str) -> list[Post]:
    """Render Markdown into at least one post, each within Slack's limits."""
    return pack_pieces(render_pieces(strip_controls(markdown))) or [Post((NOTHING,))]


def pack_pieces(pieces: Iterable[Piece]) -> list[Post]:
    """As few posts as hold the pieces; none when there is nothing to show."""
    packer = _Packer()
    for piece in pieces:
        packer.add(piece)
    return packer.finish()


def render_text(markdown: str) -> tuple[Part, ...]:
    """The parts of a text; each carries its own words as plain text too."""
    parts: list[Part] = []
    for post in render_posts(markdown):
        payload: JsonObject = {"text": post.text, "blocks": post.blocks}
        parts.append(Part(payload=payload, plain=plain_of(post.text)))
    return tuple(parts)


def render_plain(text: str) -> str:
    """Plain text for a post without blocks, escaped and within the limit of `text`."""
    return escape(cut_text(strip_controls(text), POST_CHARS_MAX, escaped_length)[0])


def plain_of(mrkdwn: str) -> str:
    """Mrkdwn of ours without link brackets and entities; every other `<` in it is escaped."""
    return unescape(_LINK.sub(r"\1", mrkdwn))


def unescape(text: str) -> str:
    """Slack's three entities as the characters they stand for, each once."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


class _Packer:
    def __init__(self) -> None:
        self._posts: list[Post] = []
        self._sections: list[str] = []
        self._section = ""

    def add(self, piece: Piece) -> None:
        joined = f"{self._section}{piece.gap}{piece.text}" if self._section else piece.text
        if self._fits_post(joined) and utf16_length(joined) <= SECTION_CHARS_MAX:
            self._section = joined
            return
        self._close_section()
        if not self._fits_post(piece.text) or len(self._sections) == BLOCKS_MAX:
            self._close_post()
        self._section = piece.text

    def finish(self) -> list[Post]:
        self._close_section()
        self._close_post()
        return self._posts

    def _fits_post(self, section: str) -> bool:
        used = sum(utf16_length(text) + 1 for text in self._sections)
        return used + utf16_length(section) <= POST_CHARS_MAX

    def _close_section(self) -> None:
        # Slack trims a section and refuses an empty one.
        section = self._section.strip("\n").rstrip()
        if section.strip():
            self._sections.append(section)
        self._section = ""

    def _close_post(self) -> None:
        if self._sections:
            self._posts.append(Post(tuple(self._sections)))
        self._sections = []
