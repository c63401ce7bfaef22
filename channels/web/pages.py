"""Every page and every message as HTML, from packaged templates that escape all they are given."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from channels.web.articles import (
    describe_message,
    describe_thread,
    file_url,
    room_url,
    thread_url,
    title_of,
)
from channels.web.views import Report, RoomView, Talk, Unsent, Viewer
from geode.transcripts import RoomMessage, RoomThread

FOLDER = Path(__file__).parent
STATIC = FOLDER / "static"
"""What `/static/` serves."""
FILES_MAX = 10
"""Of one message."""
KEY_BYTES = 18

__all__ = ["FILES_MAX", "STATIC", "Pages", "file_url", "room_url", "thread_url"]


class Pages:
    """Makes pages for one viewer each, and reads its templates once, when it is made."""

    def __init__(self, agent_name: str) -> None:
        self._agent_name = agent_name
        self._environment = Environment(
            loader=FileSystemLoader(FOLDER / "templates"),
            autoescape=True,
            auto_reload=False,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        shared = cast("dict[str, object]", self._environment.globals)
        shared.update(
            agent=agent_name,
            files_max=FILES_MAX,
            new_key=new_key,
            room_url=room_url,
            safe=Markup,
        )
        for name in self._environment.list_templates():
            self._environment.get_template(name)

    def show_room(
        self,
        viewer: Viewer,
        rooms: Sequence[RoomView],
        room: RoomView,
        threads: Sequence[RoomThread],
    ) -> str:
        """A room without an open thread: its threads, and a composer that begins one."""
        shown = [describe_thread(self._agent_name, found, None) for found in threads]
        return self._render("room.html", viewer=viewer, rooms=rooms, room=room, threads=shown)

    def show_thread(
        self,
        viewer: Viewer,
        rooms: Sequence[RoomView],
        room: RoomView,
        threads: Sequence[RoomThread],
        talk: Talk,
    ) -> str:
        """A conversation with its composer."""
        articles = [
            describe_message(viewer, self._agent_name, m, is_marked=m.id in talk.marks)
            for m in talk.messages
        ]
        seen = next((title_of(m) for m in talk.messages if not m.only_for), "")
        return self._render(
            "thread.html",
            viewer=viewer,
            rooms=rooms,
            room=room,
            threads=[describe_thread(self._agent_name, found, talk.thread) for found in threads],
            title=room.name if room.is_direct or not seen else seen,
            url=thread_url(talk.thread),
            articles=articles,
            revision=talk.revision,
            status=talk.status,
            is_cut=talk.is_cut,
        )

    def show_message(self, viewer: Viewer, message: RoomMessage, is_marked: bool = False) -> str:
        """One message, as it stands in its page."""
        article = describe_message(viewer, self._agent_name, message, is_marked=is_marked)
        return self._render("message.html", m=article)

    def show_login(self, fault: str = "") -> str:
        """The page where a person signs in with a token."""
        return self._render("login.html", fault=fault)

    def show_fault(self, status: int, sentence: str, unsent: Unsent | None = None) -> str:
        """A page that says what went wrong, with the words that were not sent."""
        return self._render("fault.html", status=status, sentence=sentence, unsent=unsent)

    def show_operator(self, viewer: Viewer, rooms: Sequence[RoomView], report: Report) -> str:
        """How the service is: channels, sessions, open cards, numbers."""
        return self._render("operator.html", viewer=viewer, rooms=rooms, report=report)

    def _render(self, name: str, **values: object) -> str:
        return self._environment.get_template(name).render(values)


def new_key() -> str:
    """A key that no other message has: the same one twice is the same message."""
    return secrets.token_urlsafe(KEY_BYTES)
