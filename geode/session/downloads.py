"""Fetches what people attached before a turn begins: bounded, typed by content, never fatal."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from geode.errors import ChannelError, FileUnavailableError, ToolError
from geode.log import get_logger
from geode.messages import FileRef, SessionId
from geode.ports import Channel
from geode.session.claims import FilesDue
from geode.session.secrecy import TakeOut
from geode.session.shelf import Shelf
from geode.store import inbox
from geode.store.attachments import Attachment
from geode.store.database import Store, Tx
from geode.tools.blocking import run_to_end
from geode.tools.media import find_media_type, is_html, is_meant_as_page, measure_picture
from geode.tools.names import clean_file_name
from geode.tools.paths import WorkspacePath

log = get_logger(__name__)

FOLDER = "attachments"
FILES_MAX = 10
"""Of the messages that one turn takes together."""
FILE_BYTES_MAX = 20_000_000
BURST_BYTES_MAX = 50_000_000
FILE_S_MAX = 30.0
BURST_S_MAX = 60.0
PARALLEL_MAX = 4
"""Downloads at a time in the whole process, each of which is held in memory."""
AGAIN_S = 1.0
PICTURE_BYTES_MAX = 3_932_160
"""What a provider takes, as its base64 may have 5 MiB."""
PICTURE_SIDE_MAX = 8_000

TOO_MANY = f"more than {FILES_MAX} files came at once, and this one was not fetched"
TOO_LARGE = f"it is larger than {FILE_BYTES_MAX // 1_000_000} MB"
TOO_MUCH = f"the files that came at once have more than {BURST_BYTES_MAX // 1_000_000} MB together"
TOO_SLOW = "it could not be fetched in time"
NO_CHANNEL = "its platform is not connected"
NOT_A_FILE = (
    "the platform gave a web page instead of the file, as it does when the bot may not read "
    "files; an operator can check its permissions"
)


@dataclass(slots=True)
class _Burst:
    """What the files of one turn may still take."""

    session_id: SessionId
    until: float
    bytes_left: int = BURST_BYTES_MAX


@dataclass(frozen=True, slots=True)
class _Wanted:
    """One file to fetch, with the operation that stores it."""

    file: FileRef
    operation: str


class Downloads:
    """The only place that fetches and stores what people attached."""

    def __init__(
        self, store: Store, channels: Mapping[str, Channel], shelf: Shelf, take_out: TakeOut = str
    ) -> None:
        self._store = store
        self._channels = channels
        self._shelf = shelf
        self._take_out = take_out
        self._slots = asyncio.Semaphore(PARALLEL_MAX)

    async def fetch(self, due: FilesDue) -> None:
        """Settle every file of the rows: stored, or given up with a note."""
        channel = self._channels.get(due.thread.platform)
        burst = _Burst(due.session_id, asyncio.get_running_loop().time() + BURST_S_MAX)
        count = 0
        tasks: list[list[asyncio.Task[Attachment]]] = []
        async with asyncio.TaskGroup() as group:
            for row in due.rows:
                of_row: list[asyncio.Task[Attachment]] = []
                for number, each in enumerate(row.attachments):
                    count += 1
                    wanted = _Wanted(self._clean(each.file), f"in-{row.id}-{number}")
                    work = self._settle(each, wanted, channel, burst, is_over=count > FILES_MAX)
                    of_row.append(group.create_task(work))
                tasks.append(of_row)

        def unit(tx: Tx) -> None:
            # No lease is held yet: another worker may have settled them meanwhile.
            for row, of_row in zip(due.rows, tasks, strict=True):
                inbox.settle_files(tx, row, [task.result() for task in of_row])

        await self._store.write("files", unit)

    def _clean(self, file: FileRef) -> FileRef:
        return replace(file, name=clean_file_name(self._take_out(file.name)))

    async def _settle(
        self,
        known: Attachment,
        wanted: _Wanted,
        channel: Channel | None,
        burst: _Burst,
        *,
        is_over: bool,
    ) -> Attachment:
        if known.is_settled:
            burst.bytes_left -= known.file.size_bytes if known.path else 0
            return known
        if is_over or channel is None:
            return _give_up(wanted.file, TOO_MANY if is_over else NO_CHANNEL)
        try:
            content = await self._fetch_one(channel, wanted.file, burst)
            return await run_to_end(partial(self._keep, wanted, content, burst.session_id))
        except (ChannelError, ToolError) as error:
            reason = self._take_out(str(error))
        except TimeoutError:
            reason = TOO_SLOW
        except OSError as error:
            reason = f"it could not be stored ({os.strerror(error.errno or 0)})"
        except Exception:  # boundary: channel event
            log.exception("file_not_fetched", session=burst.session_id)
            reason = "it could not be fetched"
        log.warning("file_not_there", session=burst.session_id, reason=reason)
        return _give_up(wanted.file, reason)

    async def _fetch_one(self, channel: Channel, file: FileRef, burst: _Burst) -> bytes:
        async with asyncio.timeout_at(burst.until), self._slots, asyncio.timeout(FILE_S_MAX):
            content = await _download(channel, file, burst)
            burst.bytes_left -= len(content)
            return content

    def _keep(self, wanted: _Wanted, content: bytes, session_id: SessionId) -> Attachment:
        """Store a file's bytes; blocks."""
        file = wanted.file
        if is_html(content) and not is_meant_as_page(file.media_type, file.name):
            raise FileUnavailableError(NOT_A_FILE)
        typed = FileRef(
            file.id, file.name, find_media_type(content, file.name), size_bytes=len(content)
        )
        # First, since the workspace says when a session keeps enough.
        path = self._shelf.workspaces.add_file(
            session_id, WorkspacePath((FOLDER, file.name)), content, wanted.operation
        )
        sha256, note = "", _find_fault(typed.media_type, content)
        if typed.media_type.startswith("image/") and not note:
            sha256 = self._shelf.kept(session_id).put(content)
        return Attachment(typed, is_settled=True, path=path.text, sha256=sha256, note=note)


async def _download(channel: Channel, file: FileRef, burst: _Burst) -> bytes:
    """The bytes, within every limit; a fault that may pass is tried once more."""
    bytes_max = min(FILE_BYTES_MAX, channel.limits.file_bytes_max, burst.bytes_left)
    if file.size_bytes > FILE_BYTES_MAX:
        raise FileUnavailableError(TOO_LARGE)
    if bytes_max <= 0 or file.size_bytes > burst.bytes_left:
        raise FileUnavailableError(TOO_MUCH)
    try:
        content = await channel.download(file, bytes_max)
    except FileUnavailableError:
        raise
    except ChannelError:
        await asyncio.sleep(AGAIN_S)
        content = await channel.download(file, bytes_max)
    if len(content) > min(bytes_max, burst.bytes_left):
        raise FileUnavailableError(TOO_LARGE if len(content) > bytes_max else TOO_MUCH)
    if not content:
        raise FileUnavailableError("it is empty")
    return content


def _give_up(file: FileRef, reason: str) -> Attachment:
    gone = FileRef(file.id, file.name, file.media_type, file.size_bytes)
    return Attachment(gone, is_settled=True, note=" ".join(reason.split()).rstrip("."))


def _find_fault(media_type: str, content: bytes) -> str:
    """Why a picture is not shown to a model; empty for everything else."""
    if not media_type.startswith("image/"):
        return ""
    picture = measure_picture(content)
    if picture is None:
        return "this kind of picture, or a damaged one, cannot be shown to you"
    if len(content) > PICTURE_BYTES_MAX:
        return f"a picture of more than {PICTURE_BYTES_MAX:,} bytes cannot be shown to you"
    if max(picture.width, picture.height) > PICTURE_SIDE_MAX:
        return f"a picture wider or higher than {PICTURE_SIDE_MAX:,} pixels cannot be shown to you"
    return ""
