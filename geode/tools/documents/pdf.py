"""Reads the text of a PDF page by page; a page without text is said to have none."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import BinaryIO

from pypdf import PageObject, PasswordType, PdfReader
from pypdf.errors import DependencyError, PyPdfError

from geode.errors import FileRefusedError
from geode.tools.documents.units import Document, Unit

_FAULTS = (
    *(PyPdfError, ValueError, KeyError, IndexError, TypeError, AttributeError, AssertionError),
    *(RecursionError, OverflowError, ArithmeticError, OSError, zlib.error),
)
"""What broken files make the library raise."""
NO_TEXT = "(no text on this page: it may be a scan or a picture)"
_DAMAGED = "The PDF is damaged and cannot be read."
_LOCKED = "The PDF is encrypted with a password; a copy without one can be read."


def open_pdf(file: BinaryIO, offset: int) -> Document:
    """The document from that page on; raises `FileRefusedError`."""
    try:
        reader = PdfReader(file, strict=False)
        if reader.is_encrypted and reader.decrypt("") is PasswordType.NOT_DECRYPTED:
            raise FileRefusedError(_LOCKED)
        count = len(reader.pages)
    except DependencyError as exc:
        raise FileRefusedError("The PDF is encrypted in a way that is not read.") from exc
    except _FAULTS as exc:
        raise FileRefusedError(_DAMAGED) from exc
    if count == 0:
        raise FileRefusedError("The PDF has no pages.")
    if offset > count:
        raise FileRefusedError(f"The PDF has {count:,} pages; page {offset:,} does not exist.")
    noun = "page" if count == 1 else "pages"
    return Document(f"PDF, {count:,} {noun}", "page", _read_pages(reader, offset, count))


def _read_pages(reader: PdfReader, offset: int, count: int) -> Iterator[Unit]:
    for number in range(offset, count + 1):
        try:
            text = _read_page(reader.pages[number - 1])
        except _FAULTS:
            text = "(this page is damaged and cannot be read)"
        yield Unit(number, f"## Page {number}\n{text or NO_TEXT}")


def _read_page(page: PageObject) -> str:
    lines = (line.rstrip() for line in page.extract_text().splitlines())
    return "\n".join(lines).strip()
