"""Show results in words: which fields, in which order, how long."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, fields
from typing import Any

_MOST_VALUE = 48


def fields_in_order(kind: Any) -> list[Field[Any]]:
    """Return the fields of a dataclass of results, those in front that are told first."""
    place = {name: number for number, name in enumerate(getattr(kind, "_FIRST", ()))}
    return sorted(fields(kind), key=lambda field: place.get(field.name, len(place)))


def told_fields(result: Any) -> Iterator[tuple[str, Any]]:
    """Yield the fields of a result that say something: not None, and not what they usually are."""
    for field in fields_in_order(type(result)):
        value = getattr(result, field.name)
        usual = field.default
        if usual is MISSING and field.default_factory is not MISSING:
            usual = field.default_factory()
        if value is not None and (usual is MISSING or value != usual):
            yield field.name, value


def brief(value: Any) -> str:
    """Return a value in a few characters."""
    if isinstance(value, float):
        return repr(round(value, 4))
    if isinstance(value, str):
        shown = value if len(value) <= _MOST_VALUE else f"{value[:_MOST_VALUE]}..."
        return repr(shown)
    if isinstance(value, Mapping | Sequence) and not isinstance(value, bytes):
        found = repr(value)
        if len(found) <= _MOST_VALUE:
            return found
        return f"<{len(value):,} {_kind_of(value)}>"
    found = repr(value)
    return found if len(found) <= 2 * _MOST_VALUE else f"{found[: 2 * _MOST_VALUE]}..."


def _kind_of(values: Mapping[Any, Any] | Sequence[Any]) -> str:
    first = next(iter(values), None)
    return "values" if isinstance(values, Mapping) or first is None else type(first).__name__
