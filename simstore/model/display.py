"""Show results in words and as tables of HTML: which fields, in which order, how long."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, fields
from html import escape
from itertools import islice
from typing import Any

_MOST_VALUE = 48
# Rows of a table in a notebook.
_MOST_ROWS = 20


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


def table_of(results: Iterable[Any], count: int | None = None) -> str:
    """Return the first results as a table of HTML.

    Args:
        results: Results of one kind.
        count: How many there are.
    """
    shown = list(islice(results, _MOST_ROWS))
    told = [dict(told_fields(one)) if hasattr(one, "__dataclass_fields__") else {"": one}
            for one in shown]  # fmt: skip
    names = list(dict.fromkeys(name for one in told for name in one))
    rows = [[brief(one[name]) if name in one else "" for name in names] for one in told]
    title = "" if count is None or count <= len(shown) else f"the first {len(shown)} of {count:,}"
    return html_table(title, names, rows)


def html_table(title: str, names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of HTML."""
    head = "".join(f"<th>{escape(name)}</th>" for name in names) if any(names) else ""
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows
    )
    caption = f"<caption>{escape(title)}</caption>" if title else ""
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
