"""The record of a scheme as JSON values, for where it is kept beside a store."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from simstore.fingerprint.scheme import SchemeRecord

_BYTES = ("stopwords", "hash_table")


def scheme_json(record: SchemeRecord) -> dict[str, Any]:
    """Return a record as JSON values; bytes are hexadecimal."""
    values = asdict(record)
    for name in _BYTES:
        values[name] = None if values[name] is None else values[name].hex()
    made: dict[str, Any] = json.loads(json.dumps(values))
    return made


def scheme_of_json(values: Mapping[str, Any]) -> SchemeRecord:
    """Return the record of :func:`scheme_json`.

    Raises:
        ValueError: A value is not what it should be.
        KeyError: One is missing.
        TypeError: There is one too many.
    """
    given = dict(values)
    for name in _BYTES:
        given[name] = None if given[name] is None else bytes.fromhex(given[name])
    given["known_answers"] = tuple(given["known_answers"])
    return SchemeRecord(**given)
