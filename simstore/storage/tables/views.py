"""Define SQL views that list all fingerprints with their 16-bit segment values.

``fingerprint_segments_64`` and ``fingerprint_segments_128`` have a row for each fingerprint
of a generation: those of the tail, and the packed ones, from their columns where the store keeps
these, else from the pages of the first segment.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, MetaData
from sqlalchemy.event import listens_for

from simstore.storage.tables.documents import metadata

# A row's number, search.pages: its bits below its generation, and below its segment. A row that two
# pages share has a number of its own above the most rows of a page: 4,096 less the records of the
# first of them.
_GENERATION_SHIFT = 31
_OF_FIRST_SEGMENT = (1 << 28) - 1
_S0 = (
    "((page >> 12) & 65535) "
    "+ CASE WHEN (page & 4095) >= 4089 AND place >= 4096 - (page & 4095) THEN 1 ELSE 0 END"
)
# The rows of pages, with their generation.
_PAGES = "generation CROSS JOIN scheme CROSS JOIN fingerprint_page"
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
    size = (bits - 16) // 8
    unpacked = (_unpacked_postgresql if is_postgresql else _unpacked_sqlite)(bits, size, columns)
    counted = ""
    if not is_postgresql:
        counted = (
            "WITH RECURSIVE counted (place) AS (SELECT 0 UNION ALL SELECT place + 1 FROM counted "  # noqa: S608
            f"WHERE place + 1 < (SELECT max(length(records)) FROM {_PAGES} "
            f"WHERE {_of_first_segment(bits)}) / {size}) "
        )
    return (
        f"CREATE VIEW fingerprint_segments_{bits} (generation_id, value, is_packed, {listed}) AS "  # noqa: S608
        f"{counted}SELECT generation_id, value, 0, {listed} FROM fingerprint_{bits} "
        f"UNION ALL SELECT generation_id, value, 1, {listed} FROM packed_fingerprint_{bits} "
        f"UNION ALL {unpacked}"
    )


def _of_first_segment(bits: int) -> str:
    """Return the condition for the rows of the first segment's pages, with their generation."""
    number = f"(CAST(generation.generation_id AS bigint) << {_GENERATION_SHIFT})"
    return (
        f"scheme.scheme_id = generation.scheme_id AND scheme.bits = {bits} "  # noqa: S608 - a part
        f"AND page BETWEEN {number} AND ({number} | {_OF_FIRST_SEGMENT}) "
        # Where columns are kept they are read instead.
        "AND (SELECT count(*) FROM store WHERE keep_columns) = 0"
    )


def _unpacked_sqlite(bits: int, size: int, columns: list[str]) -> str:
    # Records begin with their last bits. SQLite reads no number from bytes, but hexadecimal digits.
    def digit(place: int) -> str:
        return f"instr('123456789ABCDEF', substr(digits, {place}, 1))"

    values = []
    for number in range(1, len(columns)):
        first = 2 * (size - 2 * number) + 1
        shifts = (4, 0, 12, 8)
        parts = [f"({digit(first + place)} << {shift})" for place, shift in enumerate(shifts)]
        values.append(f"({' | '.join(parts)}) AS s{number}")
    if bits == 64:
        value = " | ".join(
            f"({column} << {48 - 16 * number})" for number, column in enumerate(columns)
        )
    else:
        every = f"x'{bytes(range(256)).hex()}'"
        joined = [f"substr({every}, (s0 >> 8) + 1, 1)", f"substr({every}, (s0 & 255) + 1, 1)"]
        joined += [f"substr(record, {place}, 1)" for place in range(size, 0, -1)]
        value = f"CAST({' || '.join(joined)} AS BLOB)"
    record = f"substr(records, {size} * place + 1, {size})"
    return (
        f"SELECT generation_id, {value}, 1, {', '.join(columns)} FROM ("  # noqa: S608
        f"SELECT generation_id, s0, record, {', '.join(values)} FROM ("
        f"SELECT generation.generation_id AS generation_id, {_S0} AS s0, "
        f"{record} AS record, hex({record}) AS digits FROM {_PAGES} CROSS JOIN counted "
        f"WHERE {_of_first_segment(bits)} AND {size} * place < length(records)))"
    )


def _unpacked_postgresql(bits: int, size: int, columns: list[str]) -> str:
    values = [
        f"CAST((get_byte(records, {size} * place + {low + 1}) << 8) "
        f"| get_byte(records, {size} * place + {low}) AS integer) AS s{number}"
        for number, low in enumerate(range(size - 2, -1, -2), start=1)
    ]
    if bits == 64:
        value = " | ".join(
            f"(CAST({column} AS bigint) << {48 - 16 * number})"
            for number, column in enumerate(columns)
        )
    else:
        digits = " || ".join(f"lpad(to_hex({column}), 4, '0')" for column in columns)
        value = f"decode({digits}, 'hex')"
    return (
        f"SELECT generation_id, {value}, 1, {', '.join(columns)} FROM ("  # noqa: S608
        f"SELECT generation.generation_id, CAST({_S0} AS integer) AS s0, "
        f"{', '.join(values)} FROM {_PAGES} "
        f"CROSS JOIN LATERAL generate_series(0, length(records) / {size} - 1) AS place "
        f"WHERE {_of_first_segment(bits)}) AS unpacked"
    )
