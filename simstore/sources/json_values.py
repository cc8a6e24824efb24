"""JSON values that can be stored, and how much of them a document's metadata may be."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite
from typing import Any

from simstore.text.decoding import well_formed

DEEPEST = 64
MOST_BYTES = 1 << 20
TOO_DEEP = f"not usable: nested deeper than {DEEPEST} levels"
# Bytes of a character at most, as JSON, and of what stands around a value.
_OF_CHARACTER, _AROUND = 6, 16


def json_value(value: Any, depth: int = 0) -> Any:
    """Return a JSON value without lone surrogates.

    Raises:
        ValueError: It is nested too deeply, or holds a number that JSON has no form for.
    """
    # What most values are first: this runs for each field of each record.
    if isinstance(value, str):
        return value if value.isascii() else well_formed(value)
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, dict | list) and depth >= DEEPEST:
        raise ValueError(TOO_DEEP)
    if isinstance(value, dict):
        return {well_formed(name): json_value(item, depth + 1) for name, item in value.items()}
    if isinstance(value, list):
        return [json_value(item, depth + 1) for item in value]
    if isinstance(value, float) and not isfinite(value):
        raise ValueError(f"not JSON: {value}")
    return value


def metadata_of(record: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a record as the metadata of a document.

    Raises:
        ValueError: They are more than metadata may be, or no JSON values.
    """
    made: dict[str, Any] = json_value(record)
    check_metadata(made)
    return made


def as_json(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return metadata as they come back from a store; the same object where that changes nothing.

    Raises:
        ValueError: They are more than metadata may be, or no JSON values.
    """
    if type(metadata) is dict and _is_surely_short(metadata):
        return metadata
    check_metadata(metadata)
    found: dict[str, Any] = json.loads(json.dumps(dict(metadata), allow_nan=False))
    return found


def check_metadata(metadata: Mapping[str, Any]) -> None:
    """Raise where metadata are more than a store keeps of a document, whoever gives them.

    They may be nested 64 levels deep, themselves the first, and 1 MiB long as JSON in UTF-8.

    Raises:
        ValueError: They are more, or no JSON values.
    """
    if _is_surely_short(metadata):
        return
    level: list[Any] = [metadata]
    for _ in range(DEEPEST):
        level = [
            item
            for value in level
            for item in (value.values() if isinstance(value, Mapping) else value)
            if isinstance(item, Mapping | list | tuple)
        ]
        if not level:
            break
    else:
        raise ValueError(TOO_DEEP)
    try:
        text = json.dumps(dict(metadata), ensure_ascii=False, separators=(",", ":"))
    except TypeError as error:
        raise ValueError(str(error)) from None
    size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    if size > MOST_BYTES:
        raise ValueError(
            f"the metadata have {size:,} bytes as JSON, more than the limit of {MOST_BYTES:,}"
        )


def _is_surely_short(metadata: Mapping[str, Any]) -> bool:
    """Return whether metadata hold no other values, and cannot be too long; most are such."""
    size = 0
    for name, value in metadata.items():
        if type(value) is str:
            size += len(value)
        elif not (value is None or type(value) is bool or _is_plain_number(value)):
            return False
        size += len(name) + _AROUND if type(name) is str else MOST_BYTES
    return _OF_CHARACTER * size <= MOST_BYTES


def _is_plain_number(value: Any) -> bool:
    if type(value) is float:
        return isfinite(value)
    return type(value) is int and value.bit_length() <= 64
