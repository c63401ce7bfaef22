"""Reads CSV row by row, in whatever character set and with whatever mark between its cells."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator
from typing import BinaryIO

import charset_normalizer

from geode.errors import FileRefusedError
from geode.tools.documents.units import Document, Unit, write_row

SAMPLE_BYTES = 200_000
SAMPLE_LINES = 50
MARKS = (",", ";", "\t", "|")
FIELD_CHARS_MAX = 1_000_000
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def open_table(file: BinaryIO, offset: int) -> Document:
    """The table from that row on; raises `FileRefusedError`."""
    file.seek(0)
    sample = file.read(SAMPLE_BYTES)
    charset = find_charset(sample)
    mark = find_mark(sample.decode(charset, "replace"))
    file.seek(0)
    csv.field_size_limit(FIELD_CHARS_MAX)
    text = io.TextIOWrapper(file, charset, errors="replace", newline="")
    named = {"\t": "tab", ",": "comma", ";": "semicolon", "|": "bar"}[mark]
    headline = f"CSV, {charset}, cells divided by {named}"
    return Document(headline, "row", _read_rows(text, mark, offset))


def find_charset(sample: bytes) -> str:
    """The character set of a text by its mark, as UTF-8, or as the library guesses it."""
    for bom, charset in _BOMS:
        if sample.startswith(bom):
            return charset
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        guess = charset_normalizer.from_bytes(sample).best()
        return guess.encoding if guess is not None else "cp1252"
    return "utf-8"


def find_mark(sample: str) -> str:
    """The mark that divides most lines into the same number of cells; a comma when none does."""
    lines = sample.splitlines()[:SAMPLE_LINES]

    def judge(mark: str) -> tuple[int, int]:
        try:
            counts = [len(row) for row in csv.reader(lines, delimiter=mark) if row]
        except csv.Error:
            return (0, 0)
        usual = max(set(counts), key=counts.count, default=1)
        return (counts.count(usual), usual) if usual > 1 else (0, 0)

    return max(MARKS, key=judge)


def _read_rows(text: io.TextIOWrapper, mark: str, offset: int) -> Iterator[Unit]:
    number = 0
    try:
        for number, row in enumerate(csv.reader(text, delimiter=mark), 1):
            if number >= offset and (line := write_row(row)):
                yield Unit(number, f"{number}: {line}")
    except csv.Error as exc:
        yield Unit(number + 1, f"(row {number + 1:,} cannot be read: {exc})")
    if number < offset:
        raise FileRefusedError(f"The table has {number:,} rows; row {offset:,} does not exist.")
