"""Records that ``simstore export`` writes, as documents again."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

from simstore.model import Document
from simstore.sources.dates import seconds
from simstore.sources.json_values import metadata_of
from simstore.text.decoding import storable, well_formed

# The field that says that a record is one of an export, and the version of its form.
EXPORT_FIELD = "simstore_record"
EXPORT_VERSION = 1


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
    title, collection = (
        None if (line := _string(record, name)) is None else storable(line)
        for name in ("title", "collection")
    )
    first, last = _time(record, "first_seen"), _time(record, "last_seen")
    published = first if record.get("first_seen_basis") == "published" else None
    return Document(
        key,
        text,
        title,
        collection,
        _metadata(record),
        position,
        start,
        end,
        last,
        published,
        _links(record),
        first if published is None else None,
    )


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


def _time(record: dict[str, Any], name: str) -> int | None:
    value = record.get(name)
    try:
        return None if value is None else seconds(value)
    except ValueError as error:
        raise ValueError(f"the field {name}: {error}") from None


def _links(record: dict[str, Any]) -> tuple[str, ...]:
    held = record.get("links_base64")
    if held is not None:
        if not isinstance(held, list):
            raise ValueError("the field links_base64 is no list")
        return tuple(_decoded(link, "links_base64") for link in held)
    links = record.get("links") or []
    if not isinstance(links, list) or not all(isinstance(link, str) for link in links):
        raise ValueError("the field links is no list of keys, each a string")
    return tuple(map(well_formed, links))
