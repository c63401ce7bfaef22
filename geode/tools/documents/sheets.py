"""Reads the sheets of a workbook: values as they were saved, formulas where there is no value."""

from __future__ import annotations

import datetime
import zipfile
import zlib
from collections.abc import Iterator
from itertools import chain, islice, repeat
from typing import Any, BinaryIO, TypeAlias, cast

import openpyxl
from openpyxl.utils.exceptions import InvalidFileException
from python_calamine import (
    CalamineError,
    CalamineSheet,
    CalamineWorkbook,
    PasswordError,
    SheetMetadata,
    SheetTypeEnum,
    SheetVisibleEnum,
)

from geode.errors import FileRefusedError
from geode.tools.documents.units import Document, Unit, write_row

SHEETS_NAMED_MAX = 100
FORMULAS_BYTES_MAX = 20_000_000
"""Unpacked; in a larger workbook formulas that were never calculated stay blank."""
_FAULTS = (
    *(InvalidFileException, zipfile.BadZipFile, SyntaxError, KeyError, zlib.error, RuntimeError),
    *(ValueError, TypeError, AttributeError, IndexError, OSError, EOFError, OverflowError),
)
"""What broken files make the second library raise."""


Formulas: TypeAlias = dict[str, dict[int, dict[int, str]]]
"""What is written in cells, by sheet, row and column; both from zero."""


def open_sheets(file: BinaryIO, offset: int, sheet: str) -> Document:
    """The named sheet, or all of them, from that row on; raises `FileRefusedError`."""
    try:
        workbook = CalamineWorkbook.from_filelike(file)
    except PasswordError as exc:
        raise FileRefusedError(
            "The workbook is encrypted with a password; a copy without one can be read."
        ) from exc
    except (CalamineError, OSError) as exc:
        raise FileRefusedError("The workbook is damaged and cannot be read.") from exc
    known = [each for each in workbook.sheets_metadata if each.typ is SheetTypeEnum.WorkSheet]
    if sheet and sheet not in {each.name for each in known}:
        names = ", ".join(repr(each.name) for each in known[:SHEETS_NAMED_MAX]) or "none"
        raise FileRefusedError(f"There is no sheet {sheet!r}; there are: {names}.")
    chosen = [each for each in known if not sheet or each.name == sheet]
    shown = ", ".join(_describe(each) for each in known[:SHEETS_NAMED_MAX])
    noun = "sheet" if len(known) == 1 else "sheets"
    units = _read_sheets(workbook, chosen, _read_formulas(file), offset)
    return Document(f"workbook, {len(known):,} {noun}: {shown}", "row", units)


def _describe(sheet: SheetMetadata) -> str:
    return sheet.name if sheet.visible is SheetVisibleEnum.Visible else f"{sheet.name} (hidden)"


def _read_sheets(
    workbook: CalamineWorkbook, chosen: list[SheetMetadata], formulas: Formulas, offset: int
) -> Iterator[Unit]:
    for each in chosen:
        heading = f"## Sheet {_describe(each)}\n"
        written = formulas.get(each.name, {})
        try:
            for number, row in _read_rows(workbook.get_sheet_by_name(each.name), written, offset):
                yield Unit(number, f"{heading}{number}: {row}", each.name)
                heading = ""
        except CalamineError:
            yield Unit(offset, f"{heading}(the rest of this sheet is damaged)", each.name)
            heading = ""
        if heading:
            told = "no value in it" if offset == 1 else f"no value from row {offset:,} on"
            yield Unit(1, f"{heading}({told})", each.name)
        offset = 1


def _read_rows(
    sheet: CalamineSheet, written: dict[int, dict[int, str]], offset: int
) -> Iterator[tuple[int, str]]:
    """The rows in which something stands, each with its number from one."""
    left = sheet.start[1] if sheet.start else 0
    last = max([sheet.end[0] if sheet.end else -1, *written])
    rows = chain(sheet.iter_rows(), repeat([]))
    for row, cells in islice(enumerate(rows), offset - 1, last + 1):
        texts = [*[""] * left, *map(_write_value, cells)]
        for column, formula in sorted(written.get(row, {}).items()):
            texts += [""] * (column + 1 - len(texts))
            texts[column] = texts[column] or formula
        if text := write_row(texts):
            yield row + 1, text


def _read_formulas(file: BinaryIO) -> Formulas:
    """The formulas of an XLSX that is small enough; best effort."""
    try:
        file.seek(0)
        with zipfile.ZipFile(file) as package:
            size = sum(part.file_size for part in package.infolist())
        if size > FORMULAS_BYTES_MAX:
            return {}
        workbook = openpyxl.load_workbook(file, read_only=True, data_only=False)
        return {str(sheet.title): _list_formulas(sheet) for sheet in workbook.worksheets}
    except _FAULTS:
        return {}


def _list_formulas(sheet: Any) -> dict[int, dict[int, str]]:
    # The library has no types of its own.
    found: dict[int, dict[int, str]] = {}
    for cells in cast("Iterator[tuple[Any, ...]]", sheet.iter_rows()):
        for cell in cells:
            if cell.data_type == "f" and isinstance(cell.value, str):
                found.setdefault(cell.row - 1, {})[cell.column - 1] = cell.value
    return found


def _write_value(value: object) -> str:
    match value:
        case bool():
            return "TRUE" if value else "FALSE"
        case float():
            return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.15g}"
        case datetime.datetime():
            return value.isoformat(" ", "seconds")
        case _:
            return str(value)
