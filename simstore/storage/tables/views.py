"""Define SQL views that list fingerprints with their 16-bit segment values.

``fingerprint_segments_64`` and ``fingerprint_segments_128`` have a row for each fingerprint
of a generation: those of the tail, those whose columns the store keeps, and of the others those of
documents. In a store of fingerprints alone, what is in runs has a row if its columns are kept.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, MetaData
from sqlalchemy.event import listens_for

from simstore.storage.tables.documents import metadata

VIEW_NAMES = ("fingerprint_segments_64", "fingerprint_segments_128")


def statements(dialect: str) -> list[str]:
    """Return the SQL statements that create the views, by the name of a database's dialect."""
    return [_statement(bits, is_postgresql=dialect == "postgresql") for bits in (64, 128)]


@listens_for(metadata, "after_create")
def _make_views(_metadata: MetaData, connection: Connection, **_options: Any) -> None:
    for statement in statements(connection.dialect.name):
        connection.exec_driver_sql(statement)


@listens_for(metadata, "before_drop")
def _drop_views(_metadata: MetaData, connection: Connection, **_options: Any) -> None:
    for name in VIEW_NAMES:
        connection.exec_driver_sql(f"DROP VIEW IF EXISTS {name}")


def _statement(bits: int, *, is_postgresql: bool) -> str:
    columns = [f"s{number}" for number in range(bits // 16)]
    listed = ", ".join(columns)
    value = (_value_postgresql if is_postgresql else _value_sqlite)(bits)
    computed = ", ".join(value.format(first=2 * number) for number in range(len(columns)))
    tail, kept, links = (f"{prefix}fingerprint_{bits}" for prefix in ("", "packed_", "document_"))
    return (
        f"CREATE VIEW fingerprint_segments_{bits} (generation_id, value, is_packed, {listed}) AS "  # noqa: S608
        f"SELECT generation_id, value, 0, {listed} FROM {tail} "
        f"UNION ALL SELECT generation_id, value, 1, {listed} FROM {kept} "
        # Where columns are kept they are read instead.
        f"UNION ALL SELECT DISTINCT generation_id, value, 1, {computed} FROM {links} AS l "
        "WHERE (SELECT count(*) FROM store WHERE keep_columns) = 0 "
        f"AND NOT EXISTS (SELECT 1 FROM {tail} AS t "
        "WHERE t.generation_id = l.generation_id AND t.value = l.value)"
    )


def _value_sqlite(bits: int) -> str:
    """Return the segment that begins at a byte, as SQL."""
    if bits == 64:
        return "(value >> (48 - 8 * {first})) & 65535"

    # SQLite reads no number from bytes, but hexadecimal digits.
    def digit(place: int) -> str:
        return f"instr('123456789ABCDEF', substr(hex(value), 2 * {{first}} + {place}, 1))"

    return " | ".join(f"({digit(place + 1)} << {12 - 4 * place})" for place in range(4))


def _value_postgresql(bits: int) -> str:
    if bits == 64:
        return "CAST((value >> (48 - 8 * {first})) & 65535 AS integer)"
    return "(get_byte(value, {first}) << 8) | get_byte(value, {first} + 1)"
