"""Records that ``simstore export`` writes, as documents again."""

from __future__ import annotations

import base64
import binascii
from math import isfinite
from typing import Any

from simstore.sources.dates import seconds
from simstore.text.decoding import well_formed

# The field that says that a record is one of an export, and the version of its form.
EXPORT_FIELD = "simstore_record"
EXPORT_VERSION = 1
TOO_DEEP = "not usable: nested too deeply"
_DEEPEST = 100

Parsed = tuple[
    str,
    str,
    str | None,
    str | None,
    dict[str, Any],
    tuple[int | None, int | None, tuple[str, ...], int | None],
]


def is_exported(record: dict[str, Any]) -> bool:
    """Return whether a record is one of an export."""
    version = record.get(EXPORT_FIELD)
    return isinstance(version, int) and not isinstance(version, bool)


def read_exported(record: dict[str, Any]) -> Parsed:
    """Return key, text, title, collection, metadata, times and links of a record of an export.

    What the store found out of the document (its fingerprint, its cluster) is left out.

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
    title, collection = (_string(record, name) for name in ("title", "collection"))
    metadata = record.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise ValueError("the field metadata is no object")
    first, last = _time(record, "first_seen"), _time(record, "last_seen")
    published = first if record.get("first_seen_basis") == "published" else None
    since = first if published is None else None
    links = _links(record)
    return (
        key,
        text,
        title,
        collection,
        well_formed_value(metadata),
        (last, published, links, since),
    )


def well_formed_value(value: Any, depth: int = 0) -> Any:
    """Return a JSON value without lone surrogates.

    Raises:
        ValueError: It is nested too deeply, or holds a number that JSON has no form for.
    """
    if depth > _DEEPEST:
        raise ValueError(TOO_DEEP)
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, dict):
        return {
            well_formed(name): well_formed_value(item, depth + 1) for name, item in value.items()
        }
    if isinstance(value, list):
        return [well_formed_value(item, depth + 1) for item in value]
    if isinstance(value, float) and not isfinite(value):
        raise ValueError(f"not JSON: {value}")
    return value


def _bytes_or_text(record: dict[str, Any], name: str) -> str | None:
    """Return a field, from its bytes where they are no UTF-8; None where there is none."""
    if f"{name}_base64" in record:
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
    if "links_base64" in record:
        held = record["links_base64"]
        if not isinstance(held, list):
            raise ValueError("the field links_base64 is no list")
        return tuple(_decoded(link, "links_base64") for link in held)
    links = record.get("links") or []
    if not isinstance(links, list) or not all(isinstance(link, str) for link in links):
        raise ValueError("the field links is no list of keys, each a string")
    return tuple(map(well_formed, links))
