"""JSON values that can be stored."""

from __future__ import annotations

from math import isfinite
from typing import Any

from simstore.text.decoding import well_formed

_DEEPEST = 100
TOO_DEEP = "not usable: nested too deeply"


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
    if depth > _DEEPEST:
        raise ValueError(TOO_DEEP)
    if isinstance(value, dict):
        return {well_formed(name): json_value(item, depth + 1) for name, item in value.items()}
    if isinstance(value, list):
        return [json_value(item, depth + 1) for item in value]
    if isinstance(value, float) and not isfinite(value):
        raise ValueError(f"not JSON: {value}")
    return value
