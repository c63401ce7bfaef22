"""Documents as programs write them, and as nobody should: built by libraries or by hand."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime

import docx
import openpyxl
from pypdf import PdfReader, PdfWriter

SHEET = "xl/worksheets/sheet1.xml"
_PAGE = (
    b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R "
    b"/Resources << /Font << /F1 3 0 R >> >> >>"
)


def make_pdf(*pages: str) -> bytes:
    """A plain PDF by hand: lines of text on each page; an empty page has a drawing only."""
    objects = {
        1: b"<< /Type /Catalog /Pages 2 0 R >>",
        2: b"<< /Type /Pages /Kids [%s] /Count %d >>"
        % (b" ".join(b"%d 0 R" % (4 + 2 * n) for n in range(len(pages))), len(pages)),
        3: b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    }
    for number, page in enumerate(pages):
        lines = b" ".join(b"(%s) Tj 0 -14 Td" % x.encode("cp1252") for x in page.splitlines())
        drawn = b"BT /F1 12 Tf 72 720 Td %s ET" % lines if page else b"0 0 m 9 9 l S"
        objects[4 + 2 * number] = _PAGE % (5 + 2 * number)
        objects[5 + 2 * number] = b"<< /Length %d >>\nstream\n%s\nendstream" % (len(drawn), drawn)
    return _write_objects(objects)


def _write_objects(objects: Mapping[int, bytes]) -> bytes:
    out, table = bytearray(b"%PDF-1.4\n"), bytearray()
    for number, body in sorted(objects.items()):
        table += b"%010d 00000 n \n" % len(out)
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start, size = len(out), len(objects) + 1
    out += b"xref\n0 %d\n0000000000 65535 f \n%s" % (size, table)
    out += b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (size, start)
    return bytes(out)


def lock_pdf(content: bytes, password: str) -> bytes:
    """The same under a user password; an empty one locks the owner's rights only."""
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(content)))
    writer.encrypt(password, "owner", algorithm="AES-256")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def make_docx() -> bytes:
    """Headings, lists, a table with merged cells, a header, a footer and a comment."""
    document = docx.Document()
    document.add_heading("The Report", 0)
    document.add_heading("First chapter", 1)
    run = document.add_paragraph("Grüße from 東京").runs[0]
    document.add_paragraph("an item", style="List Bullet")
    table = document.add_table(2, 3)
    table.cell(0, 0).merge(table.cell(0, 1)).text = "merged"
    table.cell(0, 2).text = "a|b"
    table.cell(1, 0).text = "x"
    table.cell(1, 2).add_table(1, 1).cell(0, 0).text = "nested"
    document.sections[0].header.paragraphs[0].text = "Confidential"
    document.sections[0].footer.paragraphs[0].text = "Page footer"
    document.add_comment([run], text="check this", author="Ana")
    return _saved(document)


def make_tracked_docx() -> bytes:
    """A paragraph with an insertion, a deletion, a content control and a link field."""
    document = docx.Document()
    document.add_paragraph("PLACE")
    body = (
        '<w:p><w:r><w:t xml:space="preserve">kept </w:t></w:r>'
        "<w:ins><w:r><w:t>inserted</w:t></w:r></w:ins>"
        "<w:del><w:r><w:delText>deleted</w:delText></w:r></w:del>"
        "<w:r><w:instrText>HYPERLINK x</w:instrText></w:r></w:p>"
        "<w:sdt><w:sdtContent><w:p><w:r><w:t>controlled</w:t></w:r></w:p></w:sdtContent></w:sdt>"
    )
    return rewrite_part(
        _saved(document),
        "word/document.xml",
        lambda raw: raw.replace(b"<w:p><w:r><w:t>PLACE</w:t></w:r></w:p>", body.encode()),
    )


def _saved(document: object) -> bytes:
    out = io.BytesIO()
    document.save(out)  # pyright: ignore[reportAttributeAccessIssue]
    return out.getvalue()


def make_xlsx() -> bytes:
    """Values of every kind, a formula never calculated, merged cells, hidden and empty sheets."""
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "Numbers"
    moment = datetime(2026, 1, 2, 3, 4, tzinfo=UTC).replace(tzinfo=None)
    sheet.append(["Name", "Count", 3.5, True])
    sheet.append(["Grüße", 12, moment, date(2026, 1, 2)])
    sheet["B4"] = "=SUM(B1:B2)"
    sheet.merge_cells("A6:C7")
    sheet["A6"] = "merged"
    sheet["E9"] = "=1+1"
    hidden = book.create_sheet("Secret")
    hidden.sheet_state = "hidden"
    hidden["C5"] = "far | away"
    book.create_sheet("Blank")
    return _saved(book)


def make_rows_xlsx(count: int) -> bytes:
    """Many rows, written by hand: a library would take longer than the test."""
    book = openpyxl.Workbook()
    rows = "".join(
        f'<row r="{n}"><c r="A{n}"><v>{n}</v></c>'
        f'<c r="B{n}" t="inlineStr"><is><t>row {n}</t></is></c></row>'
        for n in range(1, count + 1)
    )
    data = f"<sheetData>{rows}</sheetData>".encode()
    return rewrite_part(
        _saved(book), SHEET, lambda raw: re.sub(rb"<sheetData ?/?>(</sheetData>)?", data, raw)
    )


def make_zip(parts: Mapping[str, bytes]) -> bytes:
    """An archive of these parts."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as package:
        for name, content in parts.items():
            package.writestr(name, content)
    return out.getvalue()


def rewrite_part(content: bytes, name: str, change: Callable[[bytes], bytes]) -> bytes:
    """The same archive with one part changed by a function of its bytes."""
    with zipfile.ZipFile(io.BytesIO(content)) as package:
        parts = {each: package.read(each) for each in package.namelist()}
    parts[name] = change(parts[name])
    return make_zip(parts)
