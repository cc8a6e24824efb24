"""CSV and TSV: a record a row, its fields named by the first row."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from simstore.model import Rejection
from simstore.sources.csv_rows import Rows
from simstore.sources.encoding_detection import recognised
from simstore.sources.encodings import (
    UTF8,
    Decoded,
    strictly_decoded,
    wide_encoding,
)
from simstore.sources.fields import TEXT_FIELDS, RecordFields
from simstore.sources.reader import ReadRequest
from simstore.sources.source import HEAD_BYTES, Record
from simstore.sources.streams import base_name

_DELIMITERS = ",;\t|"
_TABBED = (".tsv", ".tab")
_LAST_ASCII = 0x7F
# Fewer bytes beyond ASCII tell no encoding.
_TELLING_BYTES = 16
# Encodings in which what a byte means depends on those before it.
_WITH_STATES = ("iso2022",)


def read(stream: io.BufferedReader, request: ReadRequest) -> Iterator[Record]:
    """Yield the documents of the rows of CSV or TSV.

    The first row names the fields; what they mean: :class:`~.fields.RecordFields`. A row's key is
    ``NAME:ROW`` (from 1) where it has none. In a ``.tsv`` file the fields are separated by tabs,
    else by what separates most in the first row: a comma, a semicolon, a tab, or a bar. Quotes are
    those of RFC 4180. Rows of more or fewer fields than the first are rejected. A row that is
    longer than ``max_document_bytes``, as after a quote that is never closed, is rejected up to
    its first line end, and reading goes on there.

    A file that begins in another encoding than UTF-8 is read in the one that its byte order mark
    tells or that is recognised, which its documents tell (``encoding``, ``encoding_detected``,
    ``replaced_bytes``); in a file of UTF-8, or where the encoding is not certain, a row that is not
    UTF-8 is rejected.
    """
    name, options, position = request.name, request.options, request.position
    offset = request.byte_offset
    header = _header(request)
    if isinstance(header, str):
        if header and not position:
            yield Rejection(name, 0, 0, 0, header, request.head[:HEAD_BYTES])
        return
    if not position:
        # The first record comes after the row of names.
        offset = len(stream.read(header.size))
    fields = RecordFields(name, options)
    names = header.names
    rows = Rows(stream, header.delimiter, options.max_document_bytes, header.encoding)
    while (row := rows.next()) is not None:
        end = offset + row.size
        reason = row.reason
        if reason is None and row.cells:
            if len(row.cells) == len(names):
                cells: dict[str, Any] = dict(zip(names, row.cells, strict=True))
                if header.encoding != UTF8:
                    read = Decoded("", header.encoding, row.replaced, header.is_detected)
                    cells |= read.metadata
                made = fields.document(cells, position, offset, end)
                if isinstance(made, str):
                    reason = made
                else:
                    yield made
            else:
                reason = f"{len(row.cells)} fields; the first row has {len(names)}"
        if reason is not None:
            yield Rejection(name, position, offset, end, reason, row.head or rows.head())
        offset = end
        position += 1


@dataclass(frozen=True, slots=True)
class _Header:
    """The row of names, what separates them, its size in bytes, and the file's encoding."""

    names: list[str]
    delimiter: str
    size: int
    encoding: str
    is_detected: bool


def _header(request: ReadRequest) -> _Header | str:
    """Return the row of names; or why there is none, which is nothing for an empty file."""
    head, options = request.head, request.options
    told = wide_encoding(head) or options.named_encoding
    if told is not None and told.startswith(_WITH_STATES):
        return f"it is to be {told}; save it as UTF-8"
    encoding = told or _encoding(head)
    is_detected = told is None and encoding != UTF8
    best: _Header | None = None
    reason = ""
    for delimiter in "\t" if base_name(request.name).lower().endswith(_TABBED) else _DELIMITERS:
        row = Rows(io.BytesIO(head), delimiter, len(head), encoding, at_start=True).next()
        if row is None:
            return ""
        if row.reason is not None or not row.cells:
            reason = f"the first row does not name the fields: {row.reason or 'it is blank'}"
        elif best is None or len(row.cells) > len(best.names):
            best = _Header(_distinct(row.cells), delimiter, row.size, encoding, is_detected)
    if best is None:
        return reason
    wanted = (options.text_field,) if options.text_field else TEXT_FIELDS
    if not any(name in best.names for name in wanted):
        return f"no text: the first row names none of the fields {', '.join(wanted)}"
    return best


def _encoding(head: bytes) -> str:
    """Return the encoding of a file: UTF-8, if half of the lines that are not ASCII are."""
    lines = [line for line in head.split(b"\n")[:-1] or [head] if not line.isascii()]
    foreign = sum(strictly_decoded(line, UTF8) is None for line in lines)
    telling = sum(byte > _LAST_ASCII for line in lines for byte in line)
    if 2 * foreign <= len(lines) or telling < _TELLING_BYTES:
        return UTF8
    found = recognised(b"\n".join(lines))
    return UTF8 if found is None or found.startswith(_WITH_STATES) else found


def _distinct(names: list[str]) -> list[str]:
    """Return names of which each stands once."""
    found: dict[str, None] = {}
    # The last number that each name was given: the next is looked for behind it.
    numbers: dict[str, int] = {}
    for name in names:
        number, distinct = numbers.get(name, 1), name
        while distinct in found:
            number += 1
            distinct = f"{name}.{number}"
        numbers[name] = number
        found[distinct] = None
    return list(found)
