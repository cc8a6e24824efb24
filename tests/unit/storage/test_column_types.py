"""What columns of an SQLite file may hold is written out, and as the tables have it."""

from __future__ import annotations

from sqlalchemy import JSON

from simstore.storage.dialects.column_types import COLUMN_TYPES, JSON_COLUMNS
from simstore.storage.dialects.sqlite import kinds_of
from simstore.storage.tables import metadata

# SQLite's own tables of what there is use the name, too.
_SHARED = {"name": frozenset((str, bytes))}
# Names that statements give to columns.
_GIVEN: dict[str, frozenset[type]] = {"source_name": frozenset((bytes, type(None)))}
# Columns that a statement gives no value where an outer join finds no row.
_JOINED = frozenset((
    "generation_id", "scheme_id", "basis", "fingerprint_count", "packed_count", "edition", "name",
    "text_id", "cluster_id", "value",
))  # fmt: skip


def test_types_are_those_of_the_tables() -> None:
    found: dict[str, set[type]] = {}
    for table in metadata.tables.values():
        for column in table.c:
            kinds = found.setdefault(column.name, set())
            kinds.update(kinds_of(column.type))
            if column.nullable or column.name in _JOINED:
                kinds.add(type(None))
    known = {name: kinds | _SHARED.get(name, frozenset()) for name, kinds in found.items()}
    wanted = {**known, **_GIVEN}
    names = wanted.keys() | COLUMN_TYPES.keys()
    differing = {name for name in names if wanted.get(name) != COLUMN_TYPES.get(name)}
    assert {name: wanted.get(name) for name in differing} == {}


def test_columns_of_json_are_those_of_the_tables() -> None:
    every = [one for table in metadata.tables.values() for one in table.c]
    others = {one.name for one in every if not isinstance(one.type, JSON)}
    assert {one.name for one in every} - others == JSON_COLUMNS
