"""SQLite gives each value a type, not each column; here it is seen that they agree.

Whatever changed a file behind our back may have put a text where a number belongs. Every row that
is read comes by here: what reads it can rely on the tables, as it can on a database server.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from functools import cache
from typing import Any

from sqlalchemy import JSON, Boolean, Float, Integer, LargeBinary

from simstore.errors import CorruptStore
from simstore.storage.tables import metadata

Row = tuple[Any, ...]
_WORDS = {int: "a number", float: "a number", str: "a text", bytes: "bytes"}
# SQLite's own tables of what there is use the name, too.
_SHARED = {"name": frozenset((str, bytes))}
# Names that statements give to columns.
_GIVEN: dict[str, frozenset[type]] = {"source_name": frozenset((bytes, type(None)))}
# Columns that a statement gives no value where an outer join finds no row.
_JOINED = frozenset((
    "generation_id", "scheme_id", "basis", "fingerprint_count", "packed_count", "edition", "name",
    "text_id", "cluster_id", "value",
))  # fmt: skip
# Columns that are of another type than those of their name, and the names that they are read under.
OTHER_NAMES = {"idempotency.key": "named"}
# JSON that is a list; all other is an object.
LISTS = frozenset(("sources", "known_answers"))


class TypedRows:
    """What makes the rows of a connection: each value has the type of its column.

    A column is known by its name; the same name is of the same type in all tables, or of either
    of two. What a statement computes has a name of its own, and is not looked at.

    Args:
        label: The store, for messages.
    """

    def __init__(self, label: str) -> None:
        self._label = label
        self._description: object = None
        self._names: tuple[str, ...] = ()
        self._good: set[Row] = set()
        self._json: tuple[tuple[int, str], ...] = ()

    def __call__(self, cursor: sqlite3.Cursor, row: Row) -> Row:
        """Return the row.

        Raises:
            CorruptStore: A value is of another type than its column.
        """
        if cursor.description is not self._description:
            self._description = cursor.description
            self._names = tuple(column[0] for column in cursor.description)
            self._good, self._json = _known(self._names)
        kinds = tuple(map(type, row))
        if kinds not in self._good:
            self._look_at(kinds)
        for place, begins in self._json:
            if row[place] is not None and not row[place].startswith(begins):
                what = "list" if begins == "[" else "object"
                raise CorruptStore(
                    self._label, f"a column {self._names[place]} holds no JSON {what}"
                )
        return row

    def _look_at(self, kinds: tuple[type, ...]) -> None:
        for name, kind in zip(self._names, kinds, strict=True):
            wanted = kinds_of_columns().get(name)
            if wanted is not None and kind not in wanted:
                words = " or ".join(sorted({_WORDS[one] for one in wanted & _WORDS.keys()}))
                raise CorruptStore(
                    self._label, f"a column {name} holds {_WORDS.get(kind, 'nothing')}, not {words}"
                )
        self._good.add(kinds)


@cache
def kinds_of_columns() -> dict[str, frozenset[type]]:
    """Return the types of values in Python of all columns, by their names."""
    found: dict[str, set[type]] = {}
    for table in metadata.tables.values():
        columns = [one for one in table.c if str(one) not in OTHER_NAMES]
        for column in columns:
            kinds = found.setdefault(column.name, set())
            kinds.update(kinds_of(column.type))
            if column.nullable or column.name in _JOINED:
                kinds.add(type(None))
    known = {
        name: frozenset(kinds | _SHARED.get(name, frozenset())) for name, kinds in found.items()
    }
    return known | _GIVEN


@cache
def _json_names() -> frozenset[str]:
    """Return the names that only columns of JSON have."""
    every = [one for table in metadata.tables.values() for one in table.c]
    others = {one.name for one in every if not isinstance(one.type, JSON)}
    return frozenset(one.name for one in every) - others


def kinds_of(column_type: object) -> frozenset[type]:
    """Return the types in Python of the values that SQLite keeps of a column's type."""
    if isinstance(column_type, Float):
        return frozenset((float, int))
    if isinstance(column_type, Boolean | Integer):
        return frozenset((int,))
    if isinstance(column_type, LargeBinary):
        return frozenset((bytes,))
    return frozenset((str,))


@cache
def _known(names: tuple[str, ...]) -> tuple[set[Row], tuple[tuple[int, str], ...]]:
    """Return the types of rows of these columns that were found right, which grow, and the JSON.

    Of JSON the place in the row, and what it begins with.
    """
    found = tuple(
        (place, "[" if name in LISTS else "{")
        for place, name in enumerate(names)
        if name in _json_names()
    )
    return set(), found


def json_reader(label: str) -> Callable[[str], Any]:
    """Return what reads the JSON of a store.

    Args:
        label: The store, for messages.
    """

    def read(text: str) -> Any:
        try:
            return json.loads(text)
        except ValueError as error:
            raise CorruptStore(label, f"a value that should be JSON is none ({error})") from error

    return read
