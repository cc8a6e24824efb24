"""JSON Lines: one object a line, with a text, a key and any other fields."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedReader
from typing import Any

from simstore.model import Document, Rejection
from simstore.sources.dates import seconds
from simstore.sources.exported import TOO_DEEP, is_exported, read_exported, well_formed_value
from simstore.sources.source import HEAD_BYTES, MAX_DOCUMENT_BYTES, Record
from simstore.sources.streams import DamagedStream
from simstore.text.decoding import UTF8_BOM, well_formed

KEY_FIELDS = ("key", "id", "url", "doc_id")
TEXT_FIELDS = ("text", "content", "body")


@dataclass(frozen=True, slots=True)
class HistoryFields:
    """The fields of a record that say when it was seen and what it links to.

    A field that is named is no metadata; a record may lack it.

    Attributes:
        seen: When the source saw the document; None: no field says so.
        published: When the document was published.
        links: Keys that it links to: a string, or a list of strings.
    """

    seen: str | None = None
    published: str | None = None
    links: str | None = None

    def __bool__(self) -> bool:
        return bool(self.seen or self.published or self.links)


_NO_HISTORY = HistoryFields()
# When it was seen, when it was published, what it links to, since when it was seen.
History = tuple[int | None, int | None, tuple[str, ...], int | None]
_UNKNOWN: History = (None, None, (), None)


def read_jsonl(
    stream: BufferedReader,
    name: str,
    *,
    position: int = 0,
    byte_offset: int = 0,
    max_document_bytes: int | None = MAX_DOCUMENT_BYTES,
    key_field: str | None = None,
    text_field: str | None = None,
    history_fields: HistoryFields = _NO_HISTORY,
) -> Iterator[Record]:
    """Yield the records of a JSON Lines file.

    The key is the first of the fields ``key``, ``id``, ``url`` and ``doc_id``, else ``NAME:LINE``
    (from 1); the text is the first of ``text``, ``content`` and ``body``. ``title`` and
    ``collection`` are kept as such, all other fields as metadata; records of ``simstore export``
    say which field is which, and where ``key_field`` is not given, they are read so. Blank lines
    are skipped.

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
    key_fields = (key_field,) if key_field else KEY_FIELDS
    text_fields = (text_field,) if text_field else TEXT_FIELDS
    offset = byte_offset
    while True:
        try:
            line, size = _read_line(stream, max_document_bytes)
        except DamagedStream as error:
            yield Rejection(name, position, offset, offset, error.reason)
            return
        if not size:
            return
        end = offset + size
        if line.strip():
            reason = None
            if size > len(line):
                reason = (
                    f"the line has {size:,} bytes, more than the limit of {max_document_bytes:,}"
                )
            else:
                found = _parse(
                    line, name, position, key_fields, text_fields, bool(key_field), history_fields
                )
                if isinstance(found, str):
                    reason = found
                else:
                    key, text, title, collection, metadata, history = found
                    yield Document(
                        key, text, title, collection, metadata, position, offset, end, *history
                    )
            if reason is not None:
                yield Rejection(name, position, offset, end, reason, line[:HEAD_BYTES])
        position += 1
        offset = end


def _read_line(stream: BufferedReader, limit: int | None) -> tuple[bytes, int]:
    """Return a line, cut where it is longer than the limit, and its whole size."""
    if limit is None:
        line = stream.readline()
        return line, len(line)
    # The line end, CR LF at most, does not count.
    line = stream.readline(limit + 2)
    size = len(line)
    if len(line.rstrip(b"\r\n")) <= limit and line.endswith(b"\n"):
        return line, size
    part = line
    while part and not part.endswith(b"\n"):
        part = stream.readline(1 << 20)
        size += len(part)
    return (line if size <= limit else line[:limit]), size


def _parse(
    line: bytes,
    name: str,
    position: int,
    key_fields: tuple[str, ...],
    text_fields: tuple[str, ...],
    key_required: bool,
    history_fields: HistoryFields,
) -> tuple[str, str, str | None, str | None, dict[str, Any], History] | str:
    """Return key, text, title, collection, metadata, times and links; or why it is rejected."""
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
    if not isinstance(record, dict):
        return f"a JSON {type(record).__name__}, not an object"
    if is_exported(record) and not key_required:
        try:
            return read_exported(record)
        except ValueError as error:
            return str(error)
    text_name = next((field for field in text_fields if field in record), None)
    if text_name is None:
        return f"no text: none of the fields {', '.join(text_fields)}"
    text = record.pop(text_name)
    if not isinstance(text, str):
        return f"the field {text_name} is not a string"
    key_name = next((field for field in key_fields if record.get(field) is not None), None)
    if key_name is None:
        if key_required:
            return f"no key: the field {key_fields[0]} is missing"
        key = f"{name}:{position + 1}"
    else:
        value = record.pop(key_name)
        if isinstance(value, bool) or not isinstance(value, str | int | float) or value == "":
            return f"the field {key_name} is no key: a string or a number, not empty"
        key = str(value)
    try:
        history = _take_history(record, history_fields) if history_fields else _UNKNOWN
    except ValueError as error:
        return str(error)
    named = {}
    for field in ("title", "collection"):
        if isinstance(record.get(field), str):
            named[field] = well_formed(record.pop(field)).replace("\x00", "\ufffd")
    try:
        metadata = well_formed_value(record)
    except ValueError as error:
        return str(error)
    return (
        key if key_name is None else well_formed(key),
        well_formed(text),
        named.get("title"),
        named.get("collection"),
        metadata,
        history,
    )


def _take_history(record: dict[str, Any], fields: HistoryFields) -> History:
    """Take the fields of times and links out of a record.

    Raises:
        ValueError: One is no time, or no list of keys.
    """
    times = []
    for name in (fields.seen, fields.published):
        value = record.pop(name, None) if name else None
        try:
            times.append(None if value is None else seconds(value))
        except ValueError as error:
            raise ValueError(f"the field {name}: {error}") from None
    found = record.pop(fields.links, None) if fields.links else None
    links = [found] if isinstance(found, str) else found or []
    if not isinstance(links, list) or not all(isinstance(link, str) for link in links):
        raise ValueError(f"the field {fields.links} is no list of keys, each a string")
    return times[0], times[1], tuple(well_formed(link) for link in links), None
