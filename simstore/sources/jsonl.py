"""JSON Lines: one object a line, with a text, a key and any other fields."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from io import BufferedReader
from typing import Any

from simstore.model import Rejection
from simstore.sources.fields import NO_HISTORY, HistoryFields, RecordFields
from simstore.sources.json_values import TOO_DEEP
from simstore.sources.lines import read_line
from simstore.sources.reader import ReadRequest
from simstore.sources.source import HEAD_BYTES, MAX_DOCUMENT_BYTES, Record
from simstore.sources.unpacking import DamagedStream
from simstore.text.decoding import UTF8_BOM

_BEGINNING = re.compile(rb'(?:\xef\xbb\xbf)?[ \t\r\n]*\{[ \t\r\n]*["}]')


class JsonlReader:
    """Reads JSON Lines; see :func:`read_jsonl`."""

    name = "jsonl"
    suffixes = (".jsonl", ".ndjson")
    needs_file = False
    record_ends = (b"\n",)

    def recognises(self, head: bytes) -> bool:
        """Return whether the bytes begin with an object."""
        return _BEGINNING.match(head) is not None

    def read(self, stream: BufferedReader, request: ReadRequest) -> Iterator[Record]:
        """Yield the records of a file."""
        options = request.options
        return read_jsonl(
            stream,
            request.name,
            position=request.position,
            byte_offset=request.byte_offset,
            max_document_bytes=options.max_document_bytes,
            key_field=options.key_field,
            text_field=options.text_field,
            history_fields=options.history_fields,
        )


def read_jsonl(
    stream: BufferedReader,
    name: str,
    *,
    position: int = 0,
    byte_offset: int = 0,
    max_document_bytes: int | None = MAX_DOCUMENT_BYTES,
    key_field: str | None = None,
    text_field: str | None = None,
    history_fields: HistoryFields = NO_HISTORY,
) -> Iterator[Record]:
    """Yield the records of a JSON Lines file.

    What the fields mean: :class:`~.fields.RecordFields`. Blank lines are skipped.

    Args:
        stream: Bytes from ``byte_offset`` on, which is a line's beginning.
        name: The source's name, for rejections and keys.
        position: Number of the first line that is read, blank lines included.
        byte_offset: Where the stream begins in the source.
        max_document_bytes: Longer lines are rejected, without being held; None: no limit.
        key_field: The one field that holds the key; a record without it is rejected.
        text_field: The one field that holds the text.
        history_fields: The fields that hold times and links; a record whose field is no time, or
            no list of keys, is rejected.
    """
    fields = RecordFields(name, key_field, text_field, history_fields)
    offset = byte_offset
    while True:
        try:
            line, size = read_line(stream, max_document_bytes)
        except DamagedStream as error:
            yield Rejection(name, position, offset, offset, error.reason)
            return
        if not size:
            return
        end = offset + size
        if not line.isspace():
            if size > len(line):
                found: Any = (
                    f"the line has {size:,} bytes, more than the limit of {max_document_bytes:,}"
                )
            else:
                found = _object(line)
                if not isinstance(found, str):
                    found = fields.document(found, position, offset, end)
            if isinstance(found, str):
                yield Rejection(name, position, offset, end, found, line[:HEAD_BYTES])
            else:
                yield found
        position += 1
        offset = end


def _object(line: bytes) -> dict[str, Any] | str:
    """Return the object of a line; or why there is none."""
    try:
        record = json.loads(line.removeprefix(UTF8_BOM).decode("utf-8"))
    except UnicodeDecodeError as error:
        return f"not UTF-8 at byte {error.start}"
    except json.JSONDecodeError as error:
        return f"not JSON: {error.msg} at column {error.colno}"
    except RecursionError:
        return TOO_DEEP
    except ValueError as error:
        return f"not usable: {error}"
    return record if isinstance(record, dict) else f"a JSON {type(record).__name__}, not an object"
