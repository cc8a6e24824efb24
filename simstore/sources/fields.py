"""Records with named fields to documents: which field is the key, the text, a time, a link."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite
from typing import Any
from uuid import UUID

from simstore.model import Document
from simstore.sources.dates import seconds
from simstore.sources.exported import is_exported, read_exported
from simstore.sources.json_values import DEEPEST, metadata_of
from simstore.text.decoding import storable, well_formed

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


NO_HISTORY = HistoryFields()
# When it was seen, when it was published, what it links to.
_History = tuple[int | None, int | None, tuple[str, ...]]
_UNKNOWN: _History = (None, None, ())


class RecordFields:
    """Makes documents of records.

    The key is the first of the fields ``key``, ``id``, ``url`` and ``doc_id``, else ``NAME:NUMBER``
    (from 1); the text is the first of ``text``, ``content`` and ``body``. ``title`` and
    ``collection`` are kept as such, all other fields as metadata. A record of ``simstore export``
    says which field is which, and where ``key_field`` is not given, is read so.

    Args:
        name: The source's name, for keys.
        key_field: The one field that holds the key; a record without it has none. A dotted path
            leads into objects, where no field has the path itself for its name.
        text_field: The one field that holds the text; likewise.
        history_fields: The fields that hold times and links.
        key_required: A record without a key is none, whatever field would hold it.
    """

    def __init__(
        self,
        name: str,
        key_field: str | None = None,
        text_field: str | None = None,
        history_fields: HistoryFields = NO_HISTORY,
        *,
        key_required: bool = False,
    ) -> None:
        self._name = name
        self._key_required = key_required or bool(key_field)
        self._key_fields = (key_field,) if key_field else KEY_FIELDS
        self._text_fields = (text_field,) if text_field else TEXT_FIELDS
        self._history_fields = history_fields

    def document(
        self, record: dict[str, Any], position: int, start: int, end: int
    ) -> Document | str:
        """Return the document of a record, whose fields are taken out; or why it is none.

        Args:
            record: Names to JSON values.
            position: Number of the record in its source.
            start: Where it begins.
            end: Where the next one begins.
        """
        if is_exported(record) and not self._key_required:
            try:
                return read_exported(record, position, start, end)
            except ValueError as error:
                return str(error)
        for text_name in self._text_fields:
            place = _holder(record, text_name)
            if place is not None:
                text = place[0].pop(place[1])
                break
        else:
            return f"no text: none of the fields {', '.join(self._text_fields)}"
        if not isinstance(text, str):
            return f"the field {text_name} is not a string"
        key = None
        for key_name in self._key_fields:
            place = _holder(record, key_name)
            if place is not None and place[0][place[1]] is not None:
                value = place[0].pop(place[1])
                if isinstance(value, bool) or not isinstance(value, str | int | float):
                    value = ""
                if isinstance(value, float) and not isfinite(value):
                    value = ""
                key = well_formed(str(value))
                if not key:
                    return f"the field {key_name} is no key: a string or a number, not empty"
                break
        if key is None:
            if self._key_required:
                return f"no key: the field {' or '.join(self._key_fields)} is missing"
            key = f"{self._name}:{position + 1}"
        try:
            history = (
                _take_history(record, self._history_fields) if self._history_fields else _UNKNOWN
            )
            title, collection = _take_line(record, "title"), _take_line(record, "collection")
            metadata = metadata_of(record) if record else record
        except ValueError as error:
            return str(error)
        return Document(
            key,
            well_formed(text),
            title=title,
            collection=collection,
            metadata=metadata,
            position=position,
            byte_offset=start,
            end_offset=end,
            seen_at=history[0],
            published_at=history[1],
            links=history[2],
        )


def too_long(text: str, limit: int | None) -> str | None:
    """Return why a text is too long; None where it is not. The limit is in bytes of UTF-8."""
    # A character has four bytes at most.
    if limit is None or 4 * len(text) <= limit:
        return None
    size = len(text.encode("utf-8", "replace"))
    return (
        f"the text has {size:,} bytes, more than the limit of {limit:,}" if size > limit else None
    )


def of_table(cells: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return a row of a table as a record of JSON values.

    Times become ISO 8601, decimals and UUIDs strings; what is no number is None. Fields of bytes
    (pictures, sounds) are left out. What is nested deeper than metadata may be is cut below
    that, where it is too deep still: :class:`RecordFields` refuses the record.
    """
    return _of_fields(cells, 1)


def _of_fields(cells: Iterable[tuple[str, Any]], depth: int) -> dict[str, Any]:
    return {
        name: value if type(value) is str else _of_cell(value, depth)
        for name, value in cells
        if not isinstance(value, bytes)
    }


def _of_cell(value: Any, depth: int) -> Any:
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, Mapping | list | tuple) and depth >= DEEPEST:
        return []
    if isinstance(value, Mapping):
        return _of_fields(((str(name), item) for name, item in value.items()), depth + 1)
    if isinstance(value, list | tuple):
        return [_of_cell(item, depth + 1) for item in value if not isinstance(item, bytes)]
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal | UUID):
        return str(value)
    return well_formed(str(value))


def _holder(record: dict[str, Any], path: str) -> tuple[dict[str, Any], str] | None:
    """Return the object that holds a field, and its name there; None where there is none."""
    if path in record:
        return record, path
    if "." not in path:
        return None
    first, dot, rest = path.partition(".")
    while dot:
        inner = record.get(first)
        if isinstance(inner, dict) and (found := _holder(inner, rest)) is not None:
            return found
        more, dot, rest = rest.partition(".")
        first = f"{first}.{more}"
    return None


def _take_line(record: dict[str, Any], name: str) -> str | None:
    """Take a field out of a record where it is a string."""
    if not isinstance(record.get(name), str):
        return None
    return storable(record.pop(name))


def _take_history(record: dict[str, Any], fields: HistoryFields) -> _History:
    """Take the fields of times and links out of a record.

    Raises:
        ValueError: One is no time, or no list of keys.
    """
    times = []
    for name in (fields.seen, fields.published):
        value = _take(record, name)
        try:
            times.append(None if value is None else seconds(value))
        except ValueError as error:
            raise ValueError(f"the field {name}: {error}") from None
    found = _take(record, fields.links)
    links = [found] if isinstance(found, str) else found or []
    if not isinstance(links, list) or not all(isinstance(link, str) for link in links):
        raise ValueError(f"the field {fields.links} is no list of keys, each a string")
    return times[0], times[1], tuple(well_formed(link) for link in links)


def _take(record: dict[str, Any], path: str | None) -> Any:
    place = _holder(record, path) if path else None
    return place[0].pop(place[1]) if place is not None else None
