"""Records as bytes, from the process that reads a file to the one that wants its records.

A frame is a header (two sizes), a JSON object, and the texts of its records, one after the other in
UTF-8. The object has a ``kind``: ``records`` (perhaps none: reading goes on), ``end``, ``missing``
(an optional package) or ``failed`` (why reading ended).
"""

from __future__ import annotations

import json
import struct
from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from simstore.model import Document, Ignored, Rejection
from simstore.sources.source import Record

HEADER = struct.Struct(">IQ")
# A key or a title may hold bytes that are no UTF-8, as lone surrogates.
_ERRORS = "surrogatepass"
# Fields of a document but its key and its text.
_FIELDS = tuple(field.name for field in fields(Document))[2:]


def packed(kind: str, records: Sequence[Record] = (), **facts: Any) -> bytes:
    """Return a frame.

    Args:
        kind: What it is.
        records: The records in it.
        facts: What else it says: JSON values.
    """
    texts: list[bytes] = []
    rows = [_row(record, texts) for record in records]
    told = json.dumps(
        {"kind": kind, "records": rows, **facts}, ensure_ascii=False, separators=(",", ":")
    ).encode(errors=_ERRORS)
    size = sum(map(len, texts))
    return b"".join((HEADER.pack(len(told), size), told, *texts))


def unpacked(
    told: bytes | bytearray, texts: bytes | bytearray
) -> tuple[dict[str, Any], list[Record]]:
    """Return what a frame says, and its records.

    Args:
        told: Its JSON object.
        texts: The texts after it.
    """
    facts: dict[str, Any] = json.loads(str(told, errors=_ERRORS))
    records: list[Record] = []
    view = memoryview(texts)
    place = 0
    for row in facts.pop("records"):
        kind = row[0]
        if kind == "rejection":
            records.append(Rejection(*(*row[1:-1], b64decode(row[-1]))))
        elif kind == "passed over":
            records.append(Ignored(*row[1:]))
        else:
            _, key, size, *values = row
            text = str(view[place : place + size], errors=_ERRORS)
            place += size
            named = dict(zip(_FIELDS, values, strict=True))
            named["links"] = tuple(named["links"])
            records.append(Document(key, text, **named))
    return facts, records


def _row(record: Record, texts: list[bytes]) -> tuple[Any, ...]:
    """Return a record as a JSON array; a text is put to the others, and its size stays."""
    if isinstance(record, Document):
        texts.append(record.text.encode(errors=_ERRORS))
        rest = (getattr(record, name) for name in _FIELDS)
        return ("document", record.key, len(texts[-1]), *rest)
    place = (record.source, record.position, record.byte_offset, record.end_offset, record.reason)
    if isinstance(record, Rejection):
        return ("rejection", *place, b64encode(record.head).decode())
    return ("passed over", *place, record.seen_key, record.seen_at, record.is_source)
