"""What a form sends, read in pieces and bounded while it is read."""

from __future__ import annotations

import asyncio
import re
import unicodedata
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message, Receive

from channels.fields import mend_text
from channels.web.pages import FILES_MAX
from channels.web.parse import WORDS_CHARS_MAX

READ_S_MAX = 120.0
FIELD_BYTES_MAX = 4 * WORDS_CHARS_MAX + 1_024
FIELDS_MAX = 16
FILE_BYTES_MAX = 20_000_000
FORM_BYTES_MAX = FILES_MAX * FILE_BYTES_MAX + 1_000_000
WORDS_BYTES_MAX = 2 * FIELD_BYTES_MAX
"""Of a form that has no file."""
NAME_CHARS_MAX = 200
TOO_MUCH = 413
UNREADABLE = 400
TOO_SLOW = 408

_KEY = re.compile(r"[A-Za-z0-9_-]{1,64}")

PICTURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
)
"""What a picture begins with; only these are shown in the page, anything else is saved."""
UNTYPED = "application/octet-stream"


class FormRefusedError(Exception):
    """The form cannot be taken; the message is one sentence for the person."""

    def __init__(self, sentence: str, status: int = UNREADABLE) -> None:
        super().__init__(sentence)
        self.status = status


@dataclass(frozen=True, slots=True)
class SentFile:
    """A file of a form, spooled as long as the form is open."""

    name: str
    upload: UploadFile

    async def read(self) -> bytes:
        """Its content."""
        return await self.upload.read()


@asynccontextmanager
async def open_form(request: Request, *, files_max: int = 0) -> AsyncGenerator[FormData]:
    """The request's form; what it spooled is gone afterwards. Raises `FormRefusedError`."""
    bytes_max = FORM_BYTES_MAX if files_max else WORDS_BYTES_MAX
    bounded = Request(request.scope, _bound(request.receive, bytes_max))
    try:
        async with asyncio.timeout(READ_S_MAX):
            form = await bounded.form(
                max_files=files_max, max_fields=FIELDS_MAX, max_part_size=FIELD_BYTES_MAX
            )
    except TimeoutError:
        raise FormRefusedError("It took too long to arrive; send it again.", TOO_SLOW) from None
    except ClientDisconnect:
        raise FormRefusedError("It did not arrive whole; send it again.") from None
    except HTTPException as error:
        raise FormRefusedError(
            f"At most {FILES_MAX} files and {WORDS_CHARS_MAX:,} characters go in one message.",
            TOO_MUCH,
        ) from error
    try:
        yield form
    finally:
        await form.close()


def read_text(form: FormData, name: str) -> str:
    """One text of a form; empty when it was not sent."""
    value = form.get(name)
    said = value if isinstance(value, str) else ""
    # No store takes half of a character, and not every one takes the character zero.
    text = mend_text(said).replace("\r\n", "\n").replace("\0", "")
    if len(text) > WORDS_CHARS_MAX:
        raise FormRefusedError(
            f"A message has at most {WORDS_CHARS_MAX:,} characters; send the rest as a file.",
            TOO_MUCH,
        )
    return text


def read_key(form: FormData) -> str:
    """What makes two copies of one form one message."""
    key = read_text(form, "key")
    if not _KEY.fullmatch(key):
        raise FormRefusedError("The form is out of date; load the page again.")
    return key


def list_files(form: FormData) -> list[SentFile]:
    """The files of a form, in its order; an empty choice is none."""
    found: list[SentFile] = []
    for value in form.getlist("files"):
        if not isinstance(value, UploadFile) or not value.filename:
            continue
        name = clean_name(value.filename)
        if (value.size or 0) > FILE_BYTES_MAX:
            raise FormRefusedError(
                f"{name} is larger than {FILE_BYTES_MAX // 1_000_000} MB; leave it out.", TOO_MUCH
            )
        found.append(SentFile(name, value))
    return found


def clean_name(written: str) -> str:
    """A file's name in one spelling, without folders and without characters nobody sees."""
    last = written.replace("\\", "/").rpartition("/")[2]
    shown = "".join(c for c in unicodedata.normalize("NFC", mend_text(last)) if c.isprintable())
    return shown.strip(" .")[:NAME_CHARS_MAX] or "file"


def find_type(content: bytes) -> str:
    """The type of a picture by its first bytes, or what no browser opens."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for begin, kind in PICTURES if content.startswith(begin)), UNTYPED)


def _bound(receive: Receive, bytes_max: int) -> Receive:
    read = 0

    async def receive_bounded() -> Message:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        if read > bytes_max:
            raise FormRefusedError(
                f"One message takes at most {FORM_BYTES_MAX // 1_000_000} MB with its files, "
                f"and {WORDS_CHARS_MAX:,} characters.",
                TOO_MUCH,
            )
        return message

    return receive_bounded
