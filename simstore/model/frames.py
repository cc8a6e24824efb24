"""Convert results to pandas DataFrames."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from importlib import import_module
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from simstore.errors import InvalidParameter, MissingExtra
from simstore.model.display import fields_in_order

if TYPE_CHECKING:
    import pandas

# Columns and their types; the fields of a dataclass have them by their annotations.
Columns = Mapping[str, str]
_TYPES = {
    "bool": "bool",
    "int": "int64",
    "int | None": "Int64",
    "float": "float64",
    "float | None": "float64",
}
_TIMES = frozenset(
    ("first_seen", "last_seen", "updated_at", "ended_at", "rejected_at", "seen_at", "published_at")
)
_TIME = "time"
_CLUSTER_COLUMNS: Columns = {
    "cluster_id": "int64", "key": "object", "role": "object", "resemblance": "float64",
    "distance": "Int64", "likeness": "float64", "basis": "object", "document_id": "int64",
}  # fmt: skip
_Row = tuple[Any, ...]


def to_frame(found: Any, *, of: type | None = None) -> pandas.DataFrame:
    """Return results of a store as a DataFrame of pandas.

    >>> list(to_frame(store.query(text))["key"])
    ['ferry-2025', 'ferry-2026']

    Args:
        found: What a method of the store returned: one of :class:`QueryRun` and
            :class:`Clustering`, or any number of results of one kind: matches,
            results of samples, clusters, documents, duplicates, rejections and
            the like.
        of: Of which kind they are, ``Match`` for one; for columns where there
            are none of them.

    Returns:
        A row a match (a sample without matches has one, without a key), a row a
        document of a cluster, else a row a result, with its fields for columns.
        Columns without a value stand last. Numbers that may be missing are
        ``Int64`` or NaN, times UTC by the second, strings and all else Python's
        objects.

    Raises:
        InvalidParameter: They are no results.
        MissingExtra: pandas is not installed.
    """
    try:
        pandas = import_module("pandas")
    except ImportError:
        raise MissingExtra("a DataFrame", "pandas") from None
    held = getattr(type(found), "_HOLDS", None)
    if held is not None:
        found, of = getattr(found, held[0]), held[1]
    elif is_dataclass(found) and not isinstance(found, type):
        found = (found,)
    if not isinstance(found, Iterable) or isinstance(found, str | bytes | Mapping):
        found = (found,)
    results = iter(found)
    first = list(islice(results, 1))
    kind = of or (type(first[0]) if first else None)
    if kind is None:
        return pandas.DataFrame()
    if not is_dataclass(kind):
        raise InvalidParameter(f"{kind.__name__} is no result of a store")
    columns, rows_of = _shape(kind)
    rows = list(rows_of(_all_of(kind, chain(first, results))))
    values: Iterable[Sequence[Any]] = zip(*rows, strict=True) if rows else ((),) * len(columns)
    held_by = dict(zip(columns, values, strict=True))
    names = sorted(columns, key=lambda name: bool(rows) and _is_empty(held_by[name]))
    return pandas.DataFrame(
        {name: _column(pandas, list(held_by[name]), columns[name]) for name in names}
    )


def _is_empty(column: Iterable[Any]) -> bool:
    return all(value is None for value in column)


def _all_of(kind: type, results: Iterable[Any]) -> Iterator[Any]:
    for result in results:
        if not isinstance(result, kind):
            raise InvalidParameter(f"{type(result).__name__} among results of {kind.__name__}")
        yield result


def _shape(kind: Any) -> tuple[Columns, Callable[[Iterable[Any]], Iterator[_Row]]]:
    """Return the columns of a kind of results, and what makes rows of them."""
    shape = getattr(kind, "_SHAPE", "fields")
    if shape == "matches":
        return _match_shape(kind._PARTS[1])
    if shape == "places":
        # Clusters of the moment have no names, but places.
        return _CLUSTER_COLUMNS, lambda clusters: (
            row for place, one in enumerate(clusters, 1) for row in _member_rows(place, one.members)
        )
    if shape == "members":
        return _CLUSTER_COLUMNS, lambda clusters: (
            row for one in clusters for row in _member_rows(one.cluster_id, one.members)
        )
    parts = getattr(kind, "_PARTS", None)
    if parts is not None:
        name, part = parts
        own = {one: dtype for one, dtype in _fields_of(kind).items() if one != name}
        return own | _fields_of(part), lambda results: (
            (*_values(one, own), *_values(getattr(one, name), _fields_of(part))) for one in results
        )
    columns = _fields_of(kind)
    return columns, lambda results: (_values(result, columns) for result in results)


def _fields_of(kind: Any) -> dict[str, str]:
    return {
        field.name: _TIME if field.name in _TIMES else _TYPES.get(str(field.type), "object")
        for field in fields_in_order(kind)
    }


def _values(result: Any, names: Iterable[str]) -> _Row:
    return tuple(_cell(name, getattr(result, name)) for name in names)


def _match_shape(match: Any) -> tuple[Columns, Callable[[Iterable[Any]], Iterator[_Row]]]:
    """Return the columns of samples and their matches, of which a sample may have none."""
    columns = _fields_of(match)

    def rows(samples: Iterable[Any]) -> Iterator[_Row]:
        for sample in samples:
            if not sample.matches:
                yield (sample.key, None, *(None for _ in columns), sample.too_short)
            for rank, one in enumerate(sample.matches, 1):
                yield (sample.key, rank, *_values(one, columns), sample.too_short)

    nullable = {name: "Int64" if dtype == "int64" else dtype for name, dtype in columns.items()}
    return {"sample": "object", "rank": "Int64", **nullable, "too_short": "bool"}, rows


def _member_rows(cluster_id: int, members: Iterable[Any]) -> Iterator[_Row]:
    for place, member in enumerate(members):
        yield (
            cluster_id, member.key, "member" if place else "canonical",
            member.resemblance, member.distance, member.likeness, member.basis,
            member.document_id,
        )  # fmt: skip


def _cell(name: str, value: Any) -> Any:
    """Return a value for a cell; channels as a report writes them."""
    if name == "channels":
        return "+".join(value)
    return dict(value) if isinstance(value, Mapping) else value


def _column(pandas: Any, values: list[Any], dtype: str) -> Any:
    if dtype == _TIME:
        # Years from 1 to 9999 fit into whole seconds only.
        seconds = [np.datetime64("NaT") if v is None else np.datetime64(v, "s") for v in values]
        return pandas.Series(np.array(seconds, "datetime64[s]")).dt.tz_localize("UTC")
    if dtype == "float64":
        return pandas.Series(np.array(values, np.float64))
    return pandas.Series(values, dtype=dtype)
