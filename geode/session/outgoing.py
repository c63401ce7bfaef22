"""Takes the files that an accepted answer links out of the workspace, before it is stored."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import partial

from geode.errors import FileRefusedError, ToolError
from geode.log import get_logger
from geode.messages import OutboundBody, OutboundFile, SessionId
from geode.ports import Channel
from geode.reply import sentences
from geode.reply.links import FileLink, find_file_links, take_out_links
from geode.reply.long_answers import MEDIA_TYPE as LONG_TYPE
from geode.reply.long_answers import NAME as LONG_NAME
from geode.reply.long_answers import is_long, shorten_answer
from geode.session.secrecy import TakeOut
from geode.session.shelf import Shelf
from geode.tools.beneath import read_at
from geode.tools.blocking import run_to_end
from geode.tools.media import find_media_type
from geode.tools.names import clean_file_name
from geode.tools.paths import WorkspacePath, parse_file_path

log = get_logger(__name__)

FILES_MAX = 10
"""With one answer."""
FILE_BYTES_MAX = 20_000_000
_LIKE_A_SITE = re.compile(r"[\w-]+(\.[\w-]+)+/")


class Outgoing:
    """Spools what answers link; the copies are durable before any row names them."""

    def __init__(self, shelf: Shelf, take_out: TakeOut = str) -> None:
        self._shelf = shelf
        self._take_out = take_out

    async def attach(
        self, session_id: SessionId, text: str, channel: Channel | None = None
    ) -> tuple[str, tuple[OutboundFile, ...]]:
        """The answer without links that would be dead, and the files that go with it.

        An answer that would flood its thread is one of these files, where the channel takes any.
        A file that cannot be sent is told in one line at the end; nothing here fails a turn.
        """
        return await run_to_end(partial(self._attach_all, session_id, text, channel))

    def _attach_all(
        self, session_id: SessionId, text: str, channel: Channel | None
    ) -> tuple[str, tuple[OutboundFile, ...]]:
        told, files = self._attach(session_id, text)
        whole = self._spool_long(told, channel)
        return (told, files) if whole is None else (shorten_answer(told), (whole, *files))

    def _spool_long(self, text: str, channel: Channel | None) -> OutboundFile | None:
        """The answer as a file, when it is too long to be said and can be sent."""
        if channel is None or not is_long(_count_parts(channel, text)):
            return None
        content = self._take_out(text).encode("utf-8", "replace")
        if len(content) > min(FILE_BYTES_MAX, channel.limits.file_bytes_max):
            return None
        try:
            sha256 = self._shelf.outgoing.put(content)
        except OSError as error:
            log.warning("answer_not_spooled", reason=os.strerror(error.errno or 0))
            return None  # it is said in as many messages as it takes
        return OutboundFile(LONG_NAME, LONG_TYPE, len(content), sha256)

    def _attach(self, session_id: SessionId, text: str) -> tuple[str, tuple[OutboundFile, ...]]:
        links = find_file_links(text)
        files: dict[str, OutboundFile] = {}
        faults: dict[str, str] = {}
        taken: set[str] = set()
        for link in links:
            try:
                self._take_one(session_id, link, files)
            except (ToolError, OSError) as error:
                if _LIKE_A_SITE.match(link.target):
                    continue
                log.info("file_not_attached", session=session_id, reason=str(error))
                faults[link.spellings[0]] = _reason(error)
            taken.add(link.target)
        told = take_out_links(text, links, taken)
        if faults:
            told = f"{told.rstrip()}\n\n{sentences.describe_missing_files(faults)}"
        return told, tuple(files.values())

    def _take_one(
        self, session_id: SessionId, link: FileLink, files: dict[str, OutboundFile]
    ) -> None:
        path = self._find(session_id, link.spellings)
        if path.text in files:
            return
        if len(files) >= FILES_MAX:
            raise FileRefusedError(f"At most {FILES_MAX} files go with one answer.")
        with self._shelf.workspaces.open_file(session_id, path) as descriptor:
            size = os.fstat(descriptor).st_size
            if size > FILE_BYTES_MAX:
                raise FileRefusedError(f"It is larger than {FILE_BYTES_MAX // 1_000_000} MB.")
            content = read_at(descriptor, 0, FILE_BYTES_MAX + 1)
        if not content or len(content) > FILE_BYTES_MAX:
            raise FileRefusedError("It is empty." if not content else "It grew meanwhile.")
        written = content.decode("utf-8", "surrogateescape")
        if self._take_out(written) != written:
            raise FileRefusedError("It holds a secret of this service.")
        name = clean_file_name(self._take_out(path.names[-1]))
        media_type = find_media_type(content, name)
        sha256 = self._shelf.outgoing.put(content)
        files[path.text] = OutboundFile(name, media_type, len(content), sha256)

    def _find(self, session_id: SessionId, spellings: Sequence[str]) -> WorkspacePath:
        """The first spelling that names a file; raises what the first one came to."""
        first: ToolError | None = None
        for spelling in spellings:
            try:
                path = parse_file_path(spelling)
                with self._shelf.workspaces.open_file(session_id, path):
                    return path
            except ToolError as error:
                first = first or error
        assert first is not None, "a link has at least one spelling"
        raise first


def _count_parts(channel: Channel, text: str) -> int:
    """How many messages the channel would make of a text; 0 where it fails at it.

    Delivery plans the same text again, and says it plain where that fails.
    """
    try:
        return len(channel.plan(OutboundBody(text)))
    except Exception:  # boundary: delivery
        log.exception("answer_not_planned", channel=channel.name)
        return 0


def _reason(error: ToolError | OSError) -> str:
    told = os.strerror(error.errno or 0) if isinstance(error, OSError) else str(error)
    return told.rstrip(".")
