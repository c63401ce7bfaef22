"""Turns one document into text; runs as a child, since a document can hold or break a parser."""

from __future__ import annotations

import json
import os
import sys
from typing import Any, BinaryIO

from geode.errors import ToolError
from geode.tools.child_limits import limit_child
from geode.tools.documents.kinds import find_kind
from geode.tools.documents.units import Document

CPU_S = 20
MEMORY_BYTES = 1 << 30


def main() -> None:
    """Read one order from stdin and write what the document says, one JSON pair per line."""
    limit_child(cpu_s=CPU_S, memory_bytes=MEMORY_BYTES)
    order = json.load(sys.stdin)
    try:
        with os.fdopen(order["document"], "rb") as file:
            _write_units(open_document(file, order), order["bytes_max"])
    except ToolError as exc:
        _write("refused", str(exc))
    except (MemoryError, RecursionError):
        _write("refused", "The document needs more memory than one may take.")


def open_document(file: BinaryIO, order: dict[str, Any]) -> Document:
    """The document by its kind; only that kind's library is imported."""
    offset: int = order["offset"]
    kind = find_kind(file, order["name"])
    if order["sheet"] and kind != "sheets":
        raise ToolError(f"A {kind.upper()} file has no sheets; leave sheet out.")
    file.seek(0)
    match kind:
        case "pdf":
            from geode.tools.documents.pdf import open_pdf  # noqa: PLC0415 - one library of four

            return open_pdf(file, offset)
        case "docx":
            from geode.tools.documents.word import open_word  # noqa: PLC0415

            return open_word(file, offset)
        case "sheets":
            from geode.tools.documents.sheets import open_sheets  # noqa: PLC0415

            return open_sheets(file, offset, order["sheet"])
        case "csv":
            from geode.tools.documents.tables import open_table  # noqa: PLC0415

            return open_table(file, offset)


def _write_units(document: Document, bytes_max: int) -> None:
    _write("head", document.headline)
    size = 0
    for unit in document.units:
        weight = len(unit.text.encode("utf-8", "replace")) + 1
        if size and size + weight > bytes_max:
            _write("more", [document.noun, unit.number, unit.sheet])
            return
        # One unit may be larger than the whole room; the tool keeps its start and end.
        _write("unit", unit.text)
        size += weight
    _write("end", "")


def _write(kind: str, value: object) -> None:
    # Flushed each time: what was read counts even if the next page never ends.
    sys.stdout.write(json.dumps([kind, value]) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
