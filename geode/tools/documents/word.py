"""Reads a DOCX in the order of its text: headings, lists, tables, headers, footers, notes."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

import docx
from docx.opc.exceptions import PackageNotFoundError
from docx.oxml.parser import parse_xml

from geode.errors import FileRefusedError
from geode.tools.documents.units import Document, Unit, write_row

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_HOLDERS = frozenset(
    f"{_W}{name}" for name in ("sdt", "sdtContent", "customXml", "ins", "moveTo", "smartTag")
)
"""What stands around paragraphs and tables without being either."""
_SKIPPED = frozenset({_FALLBACK, *(f"{_W}{name}" for name in ("del", "moveFrom", "instrText"))})
_BREAKS = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-"}
_HEADING = re.compile(r"heading ([1-9])", re.IGNORECASE)
_FAULTS = (
    *(PackageNotFoundError, zipfile.BadZipFile, SyntaxError, zlib.error, KeyError, ValueError),
    *(AttributeError, TypeError, IndexError, AssertionError, OSError, EOFError, RecursionError),
)
"""What broken files make the libraries raise."""
_NOTES = {"footnotes": "Footnotes", "endnotes": "Endnotes", "comments": "Comments"}

Element = Any
"""lxml has no types of its own."""


def open_word(file: BinaryIO, offset: int) -> Document:
    """The document from that paragraph on; raises `FileRefusedError`."""
    try:
        document = docx.Document(file)
        texts = [text for text in _read_all(document) if text.strip()]
    except _FAULTS as exc:
        raise FileRefusedError("The DOCX is damaged and cannot be read.") from exc
    if texts and offset > len(texts):
        raise FileRefusedError(
            f"The DOCX has {len(texts):,} paragraphs; number {offset:,} does not exist."
        )
    units = (Unit(number, text) for number, text in enumerate(texts, 1) if number >= offset)
    told = f"{len(texts):,} paragraphs and tables" if texts else "without any text"
    return Document(f"DOCX, {told}", "paragraph", units)


def _read_all(document: Any) -> Iterator[str]:
    edges = list(dict.fromkeys(_read_edges(document)))
    yield from (text for text in edges if text.startswith("Header"))
    styles = {style.style_id: str(style.name or "") for style in document.styles}
    yield from _read_body(document.element.body, styles)
    yield from (text for text in edges if text.startswith("Footer"))
    yield from _read_notes(document)


def _read_body(parent: Element, styles: dict[str, str]) -> Iterator[str]:
    for element in parent.iterchildren():
        if element.tag == f"{_W}p":
            yield _write_paragraph(element, styles)
        elif element.tag == f"{_W}tbl":
            yield _write_table(element, styles)
        elif element.tag in _HOLDERS:
            yield from _read_body(element, styles)


def _write_paragraph(paragraph: Element, styles: dict[str, str]) -> str:
    text = _text_of(paragraph).strip()
    properties = paragraph.find(f"{_W}pPr")
    if not text or properties is None:
        return text
    style = properties.find(f"{_W}pStyle")
    name = styles.get(style.get(f"{_W}val", ""), "") if style is not None else ""
    if heading := _HEADING.match(name):
        return f"{'#' * (int(heading[1]) + 1)} {text}"
    if name.lower() == "title":
        return f"# {text}"
    is_listed = name.lower().startswith("list") or properties.find(f"{_W}numPr") is not None
    return f"- {text}" if is_listed else text


def _write_table(table: Element, styles: dict[str, str]) -> str:
    rows: list[str] = []
    for row in _children(table, "tr"):
        cells: list[str] = []
        for cell in _children(row, "tc"):
            text = "\n".join(_read_body(cell, styles))
            cells += [text, *[""] * (_span_of(cell) - 1)]
        rows.append(write_row(cells))
    return "\n".join(f"| {row} |" for row in rows if row)


def _children(parent: Element, name: str) -> Iterator[Element]:
    """The children of that name, also those inside content controls and tracked changes."""
    for element in parent.iterchildren():
        if element.tag == f"{_W}{name}":
            yield element
        elif element.tag in _HOLDERS:
            yield from _children(element, name)


def _span_of(cell: Element) -> int:
    """How many columns the cell takes; a merged one shows its text once."""
    span = cell.find(f"{_W}tcPr/{_W}gridSpan")
    written = span.get(f"{_W}val", "1") if span is not None else "1"
    return min(int(written), 64) if str(written).isdecimal() else 1


def _text_of(element: Element) -> str:
    """What stands in a paragraph now: insertions count, deletions and field codes do not."""
    if element.tag == f"{_W}t":
        return str(element.text or "")
    if element.tag in _BREAKS:
        return _BREAKS[element.tag]
    return "".join(_text_of(child) for child in element.iterchildren() if _is_shown(child))


def _is_shown(element: Element) -> bool:
    return isinstance(element.tag, str) and element.tag not in _SKIPPED


def _read_edges(document: Any) -> Iterator[str]:
    for section in document.sections:
        for noun, edge in (("Header", section.header), ("Footer", section.footer)):
            if edge.is_linked_to_previous:
                continue
            lines = [line for line in _read_body(edge._element, {}) if line]  # noqa: SLF001
            if lines:
                yield f"{noun}: {' / '.join(lines)}"


def _read_notes(document: Any) -> Iterator[str]:
    for relation in document.part.rels.values():
        title = _NOTES.get(str(relation.reltype).rpartition("/")[2])
        if title is None or relation.is_external:
            continue
        root = cast("Element", parse_xml(relation.target_part.blob))
        notes = [" ".join(_read_body(note, {})).strip() for note in root.iterchildren()]
        lines = [f"- {note}" for note in notes if note]
        if lines:
            yield "\n".join([f"## {title}", *lines])
