"""What kind of document a file is, by its bytes; a name only chooses between kinds of text."""

from __future__ import annotations

import zipfile
import zlib
from typing import BinaryIO, Literal, TypeAlias

from geode.errors import FileRefusedError
from geode.tools.content import name_binary

Kind: TypeAlias = Literal["pdf", "docx", "sheets", "csv"]

UNPACKED_BYTES_MAX = 300_000_000
"""What all parts of an Office file may hold when they are unpacked."""
PARTS_MAX = 10_000
_HEAD_BYTES = 8_192
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OLE_LOOK_BYTES = 50_000_000
"""The folder of an old Office file may stand anywhere in it."""
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_DECLARATIONS = (b"<!DOCTYPE", b"<!ENTITY")
_FAULTS = (zipfile.BadZipFile, zlib.error, RuntimeError, OSError, ValueError, EOFError)
"""What broken or encrypted archives make the library raise."""
_TABLE_SUFFIXES = (".csv", ".tsv", ".tab")


def find_kind(file: BinaryIO, name: str) -> Kind:
    """The kind; raises `FileRefusedError` with what the file is instead and what can be done."""
    file.seek(0)
    head = file.read(_HEAD_BYTES)
    if not head:
        raise FileRefusedError("The file is empty.")
    if b"%PDF-" in head[:1024]:
        return "pdf"
    if head.startswith(b"PK\x03\x04"):
        return _find_office_kind(file)
    if head.startswith(_OLE):
        return _judge_ole(file)
    if head.startswith(b"{\\rtf"):
        raise FileRefusedError("The file is RTF, which is not read; save it as DOCX or PDF.")
    if not head.startswith(_UTF16) and (binary := name_binary(head)) is not None:
        raise FileRefusedError(f"The file is {binary}; PDF, DOCX, XLSX and CSV are read.")
    if name.lower().endswith(_TABLE_SUFFIXES) or _looks_like_table(head):
        return "csv"
    raise FileRefusedError("The file is plain text and no table; read_file reads it.")


def _find_office_kind(file: BinaryIO) -> Kind:
    try:
        with zipfile.ZipFile(file) as package:
            return _judge_package(package)
    except _FAULTS as exc:
        raise FileRefusedError("The file is a damaged ZIP or Office file.") from exc


def _judge_package(package: zipfile.ZipFile) -> Kind:
    parts = package.infolist()
    size = sum(part.file_size for part in parts)
    if len(parts) > PARTS_MAX or size > UNPACKED_BYTES_MAX:
        raise FileRefusedError(
            f"The file unpacks to {size:,} bytes in {len(parts):,} parts, which is more than a "
            "document may have."
        )
    names = {part.filename for part in parts}
    if "word/document.xml" in names:
        kind: Kind = "docx"
    elif {"xl/workbook.xml", "xl/workbook.bin"} & names or _is_spreadsheet(package, names):
        kind = "sheets"
    elif "ppt/presentation.xml" in names:
        raise FileRefusedError("The file is a presentation (PPTX), which is not read; save as PDF.")
    elif "mimetype" in names and "content.xml" in names:
        raise FileRefusedError("The file is an OpenDocument text, which is not read; save as DOCX.")
    else:
        raise FileRefusedError("The file is a ZIP archive and no Office document.")
    _refuse_declarations(package)
    return kind


def _refuse_declarations(package: zipfile.ZipFile) -> None:
    """Office files declare no entities; one that does wants to unfold or to read other files."""
    for part in package.infolist():
        if not part.filename.lower().endswith((".xml", ".rels", ".vml")):
            continue
        with package.open(part) as stream:
            head = stream.read(_HEAD_BYTES).replace(b"\0", b"").upper()
        if any(word in head for word in _DECLARATIONS):
            raise FileRefusedError("The file declares XML entities, which no Office file does.")


def _is_spreadsheet(package: zipfile.ZipFile, names: set[str]) -> bool:
    """Whether an OpenDocument file says that it is a spreadsheet."""
    if "mimetype" not in names or "content.xml" not in names:
        return False
    with package.open("mimetype") as stream:
        return stream.read(100).strip() == b"application/vnd.oasis.opendocument.spreadsheet"


def _judge_ole(file: BinaryIO) -> Kind:
    """An old Excel file is read; an old Word file and an encrypted file of any kind are not."""
    file.seek(0)
    names = file.read(_OLE_LOOK_BYTES)
    if _wide("EncryptedPackage") in names:
        raise FileRefusedError(
            "The file is encrypted with a password; a copy without one can be read."
        )
    if _wide("WordDocument") in names or not (_wide("Workbook") in names or _wide("Book") in names):
        raise FileRefusedError("The file is of an old Office format; save it as DOCX or PDF.")
    return "sheets"


def _wide(name: str) -> bytes:
    return name.encode("utf-16-le")


def _looks_like_table(head: bytes) -> bool:
    if head.startswith(_UTF16):
        return False
    lines = [line for line in head.split(b"\n")[:-1] if line.strip()][:20]
    if len(lines) < 2:
        return False
    return any(
        (counts := {line.count(mark) for line in lines}) and min(counts) > 0 and len(counts) == 1
        for mark in (b",", b";", b"\t", b"|")
    )
