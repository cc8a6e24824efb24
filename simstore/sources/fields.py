"""Turn records with named fields, such as rows of a table or of an export, into documents."""

from __future__ import annotations

import base64
import binascii
import datetime
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from math import isfinite
from typing import Any
from uuid import UUID

from simstore.errors import InvalidParameter, printable
from simstore.model import LABELS, Document, Rejection
from simstore.model.documents import EXPORT_FIELD, EXPORT_VERSION
from simstore.model.times import seconds
from simstore.sources.documents import DEEPEST, KEY_FIELDS, TEXT_FIELDS, metadata_of
from simstore.sources.reader import HistoryFields, ReadOptions, SourceFields
from simstore.text.decoding import storable, well_formed

# When it was seen, when it was published, what it links to.
_History = tuple[int | None, int | None, tuple[str, ...]]
_UNKNOWN: _History = (None, None, ())
# Of the fields of a record that are named in a message, and of the letters of one.
_MOST_NAMES, _LONGEST_NAME = 12, 40
# How the text is named; other callers name it otherwise.
TEXT_REMEDY = " (text_field names the text)"


class RecordFields:
    """Makes documents of records.

    The key is the first of the fields ``key``, ``id``, ``url`` and ``doc_id``, else ``NAME:NUMBER``
    (from 1); the text is the first of ``text``, ``content`` and ``body``. Where there is none of
    these, and one field alone is called so but for case and blanks around it (``Text``), that is
    it, and so with the key then. The labels (``title``,
    ``collection``) are kept as such, all other fields as metadata. A record of ``simstore export``
    says which field is which, and where ``key_field`` is not given, is read so.

    Args:
        name: The source's name, for keys.
        options: The fields that hold key and text, times and links. A dotted path leads into
            objects, where no field has the path itself for its name; a record without the field
            that is named for the key has none.
        key_required: A record without a key is none, whatever field would hold it.
        is_lean: Documents have their key and text alone; what else records hold is not looked at.
        empty_is_none: A key of no characters is none: a cell of a table of text is always there.
    """

    def __init__(
        self,
        name: str,
        options: ReadOptions,
        *,
        key_required: bool = False,
        is_lean: bool = False,
        empty_is_none: bool = False,
    ) -> None:
        self._name = name
        self._is_lean = is_lean
        self._empty_is_none = empty_is_none
        self._key_required = key_required or bool(options.key_field)
        self._key_fields: tuple[str, ...] = (
            (options.key_field,) if options.key_field else KEY_FIELDS
        )
        self._text_fields = (options.text_field,) if options.text_field else TEXT_FIELDS
        self._names = {name.casefold() for name in (*self._key_fields, *self._text_fields)}
        self._is_text_named = bool(options.text_field)
        self._history_fields = options.history_fields
        self._source_fields = options.source_fields
        self._max_bytes = options.max_document_bytes

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
        key_fields = self._key_fields
        for text_name in self._text_fields:
            place = _holder(record, text_name)
            if place is not None:
                text = place[0].pop(place[1])
                break
        else:
            text_name = "" if self._is_text_named else written_otherwise(TEXT_FIELDS, record)
            if not text_name:
                return no_text(self._text_fields, record)
            text = record.pop(text_name)
        # Where such a key was none before, documents keep the keys that they were given then.
        if key_fields == KEY_FIELDS and (self._key_required or text_name not in self._text_fields):
            key_fields = (*KEY_FIELDS, written_otherwise(KEY_FIELDS, record))
        if not isinstance(text, str):
            return f"the field {text_name} is not a string"
        key, is_empty = None, False
        for key_name in key_fields:
            place = _holder(record, key_name)
            if place is not None and place[0][place[1]] is not None:
                value = place[0].pop(place[1])
                if self._empty_is_none and value == "":
                    is_empty = True
                    continue
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
                near = "" if is_empty else _near(self._key_fields, record)
                state = "empty" if is_empty else "missing"
                return f"no key: the field {' or '.join(self._key_fields)} is {state}{near}"
            key = f"{self._name}:{position + 1}"
        if self._is_lean:
            return Document(
                key, well_formed(text), position=position, byte_offset=start, end_offset=end
            )
        try:
            history = (
                _take_history(record, self._history_fields) if self._history_fields else _UNKNOWN
            )
            if self._source_fields:
                _name_about(record, self._source_fields)
            labels: dict[str, Any] = {name: _take_line(record, name) for name in LABELS}
            metadata = metadata_of(record) if record else record
        except ValueError as error:
            return str(error)
        return Document(
            key,
            well_formed(text),
            **labels,
            metadata=metadata,
            position=position,
            byte_offset=start,
            end_offset=end,
            seen_at=history[0],
            published_at=history[1],
            links=history[2],
        )

    def row(
        self, cells: Iterable[tuple[str, Any]], position: int, offset: int = 0
    ) -> Document | Rejection:
        """Return the document of a row of a table, or its rejection; long texts are rejected.

        Args:
            cells: Names of columns and values; see :func:`of_table`.
            position: Number of the row in its table.
            offset: Where it stands.
        """
        try:
            record = of_table(self._with_text(cells))
        except UnicodeDecodeError:
            problem = "the field of the text or the key holds bytes that are not UTF-8"
            return Rejection(self._name, position, offset, offset, problem)
        made = self.document(record, position, offset, offset)
        reason = made if isinstance(made, str) else too_long(made.text, self._max_bytes)
        if isinstance(made, Document) and reason is None:
            return made
        return Rejection(self._name, position, offset, offset, reason or "")

    def _with_text(self, cells: Iterable[tuple[str, Any]]) -> Iterable[tuple[str, Any]]:
        """Decode bytes of the text and the key: some writers of Parquet annotate no strings."""
        for name, value in cells:
            if isinstance(value, bytes) and name.strip().casefold() in self._names:
                yield name, value.decode()
            else:
                yield name, value


def no_text(wanted: Sequence[str], names: Iterable[str]) -> str:
    """Return why a record or a table has no text: what is looked for, and what is there.

    >>> no_text(("text", "content"), ["id", "story"])
    'no text: none of the fields text, content; there are id, story (text_field names the text)'

    Args:
        wanted: Fields that would hold the text.
        names: Fields that are there.
    """
    found = [printable(name)[:_LONGEST_NAME] for name in names]
    near = _near(wanted, found)
    more = [f"{len(found) - _MOST_NAMES:,} more"] if len(found) > _MOST_NAMES else []
    there = ", ".join([*found[:_MOST_NAMES], *more]) or "no fields"
    return f"no text: none of the fields {', '.join(wanted)}; there are {there}{near}{TEXT_REMEDY}"


def no_key(name: str | None, names: Sequence[str]) -> str | None:
    """Return why a table has no key: its columns lack the one that is named; None: they do not.

    >>> no_key("isbn", ["ISBN", "text"])
    'no key: no field isbn; there are ISBN, text; perhaps ISBN is meant (--key-field names the key)'

    Args:
        name: The column that is named for the key; None: none is.
        names: Columns that are there.
    """
    # A column may hold an object.
    if not name or name in names or name.partition(".")[0] in names:
        return None
    there = ", ".join(printable(one)[:_LONGEST_NAME] for one in names[:_MOST_NAMES])
    near = _near((name,), names)
    return (
        f"no key: no field {printable(name)}; there are {there}{near} (--key-field names the key)"
    )


def written_otherwise(usual: Sequence[str], names: Iterable[str]) -> str:
    """Return the field that is called as a usual one but for case and blanks around it.

    >>> written_otherwise(("text", "content"), ["ID", "Text "])
    'Text '

    Returns:
        Its name; empty where there is none, or several are called so.
    """
    folded: dict[str, list[str]] = {}
    for name in names:
        folded.setdefault(name.strip().casefold(), []).append(name)
    found = next((folded[name] for name in usual if name in folded), [])
    return found[0] if len(found) == 1 else ""


def _near(wanted: Sequence[str], names: Iterable[str]) -> str:
    """Return that a field may be meant whose name is nearly the one that is wanted."""
    if len(wanted) > 1:
        return ""
    from difflib import get_close_matches

    known = {name.casefold(): name for name in names}
    near = get_close_matches(wanted[0].casefold(), known, 1, 0.7)
    return f"; perhaps {printable(known[near[0]])} is meant" if near else ""


def check_columns(
    label: str, names: Collection[str], options: ReadOptions, remedy: Callable[[str], str]
) -> None:
    """Raise where a table has no column for the key or the text.

    Args:
        label: The table in the message.
        names: Its columns.
        options: The columns that are named for key and text.
        remedy: Returns how a column is named for ``key`` or ``text``.

    Raises:
        InvalidParameter: One has no column.
    """
    for what, chosen, usual in (
        ("key", options.key_field, KEY_FIELDS),
        ("text", options.text_field, TEXT_FIELDS),
    ):
        wanted = (chosen,) if chosen else usual
        # A column may hold an object.
        if any(name in names or name.partition(".")[0] in names for name in wanted):
            continue
        if chosen or not written_otherwise(usual, names):
            raise InvalidParameter(
                f"{label}: no column is called {' or '.join(wanted)}; {remedy(what)}"
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


def _name_about(record: dict[str, Any], fields: SourceFields) -> None:
    """Give the fields that say what a record is the names by which they are read.

    Another field of such a name is kept beside it. A title that is a number is a string.
    """
    for name in ("title", "author", "date", "url"):
        path = getattr(fields, name)
        if not path or path == name:
            continue
        value = _take(record, path)
        if value is None:
            continue
        if record.get(name) is not None:
            record[f"{name}_given"] = record[name]
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        record[name] = str(value) if name == "title" and is_number else value


def _take_history(record: dict[str, Any], fields: HistoryFields) -> _History:
    """Take the fields of times and links out of a record.

    Raises:
        ValueError: One is no time, or no list of keys.
    """
    seen, published = (_time(_take(record, name), name) for name in (fields.seen, fields.published))
    found = _take(record, fields.links)
    return seen, published, _keys([found] if isinstance(found, str) else found, fields.links)


def _take(record: dict[str, Any], path: str | None) -> Any:
    place = _holder(record, path) if path else None
    return place[0].pop(place[1]) if place is not None else None


def is_exported(record: dict[str, Any]) -> bool:
    """Return whether a record is one of an export."""
    version = record.get(EXPORT_FIELD)
    return isinstance(version, int) and not isinstance(version, bool)


def read_exported(record: dict[str, Any], position: int, start: int, end: int) -> Document:
    """Return the document of a record of an export.

    What the store found out of it (its digest, its cluster) is left out.

    Args:
        record: Names to JSON values; metadata may be JSON text, as in tables.
        position: Number of the record in its source.
        start: Where it begins.
        end: Where the next one begins.

    Raises:
        ValueError: It has no text, or a field is not what an export writes.
    """
    if record[EXPORT_FIELD] != EXPORT_VERSION:
        raise ValueError(
            f"an export of version {record[EXPORT_FIELD]}; this simstore reads version "
            f"{EXPORT_VERSION}"
        )
    key = _bytes_or_text(record, "key")
    if not key:
        raise ValueError("the field key is no key: a string, not empty")
    text = _bytes_or_text(record, "text")
    if text is None:
        raise ValueError("no text: the record was exported without")
    first, last = (_time(record.get(name), name) for name in ("first_seen", "last_seen"))
    published = first if record.get("first_seen_basis") == "published" else None
    return Document(
        key,
        text,
        **{name: _line(record, name) for name in LABELS},
        metadata=_metadata(record),
        position=position,
        byte_offset=start,
        end_offset=end,
        seen_at=last,
        published_at=published,
        links=_links(record),
        seen_since=first if published is None else None,
    )


def _line(record: dict[str, Any], name: str) -> str | None:
    line = _string(record, name)
    return None if line is None else storable(line)


def _metadata(record: dict[str, Any]) -> dict[str, Any]:
    held = record.get("metadata") or {}
    if isinstance(held, str):
        try:
            held = json.loads(held)
        except (ValueError, RecursionError):
            raise ValueError("the field metadata is no JSON") from None
    if not isinstance(held, dict):
        raise ValueError("the field metadata is no object")
    return metadata_of(held)


def _bytes_or_text(record: dict[str, Any], name: str) -> str | None:
    """Return a field, from its bytes where they are no UTF-8; None where there is none."""
    if record.get(f"{name}_base64") is not None:
        return _decoded(record[f"{name}_base64"], f"{name}_base64")
    return _string(record, name)


def _decoded(value: Any, name: str) -> str:
    try:
        return base64.b64decode(value, validate=True).decode("utf-8", "surrogateescape")
    except (TypeError, ValueError, binascii.Error):
        raise ValueError(f"the field {name} is no base64") from None


def _string(record: dict[str, Any], name: str) -> str | None:
    value = record.get(name)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"the field {name} is not a string")
    return None if value is None else well_formed(value)


def _links(record: dict[str, Any]) -> tuple[str, ...]:
    held = record.get("links_base64")
    if held is None:
        return _keys(record.get("links"), "links")
    if not isinstance(held, list):
        raise ValueError("the field links_base64 is no list")
    return tuple(_decoded(link, "links_base64") for link in held)


def _time(value: Any, field: str | None) -> int | None:
    """Return the time of a field in seconds; raise ValueError where it is none."""
    try:
        return None if value is None else seconds(value)
    except ValueError as error:
        raise ValueError(f"the field {field}: {error}") from None


def _keys(value: Any, field: str | None) -> tuple[str, ...]:
    """Return the keys of a field; raise ValueError where it is no list of them."""
    links = value or []
    if not isinstance(links, list) or not all(isinstance(link, str) for link in links):
        raise ValueError(f"the field {field} is no list of keys, each a string")
    return tuple(map(well_formed, links))
