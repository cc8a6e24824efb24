"""Check the database for corruption: its file or indexes, and the values of each column."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import JSON, Column, Float, Integer, LargeBinary

from simstore.storage.connection import Connection
from simstore.storage.dialects.sqlite import LISTS
from simstore.storage.generations import LARGEST_GENERATION
from simstore.storage.rows import dialect_of, fetch, select_in
from simstore.storage.tables import (
    metadata,
)

# Key, digest, bytes and number of features.
DocumentFacts = tuple[bytes, bytes, int, int]


def file_problems(connection: Connection) -> Iterator[str]:
    """Yield the damage that the database's own check finds."""
    yield from dialect_of(connection).problems(connection)


def document_facts(connection: Connection, document_ids: Sequence[int]) -> dict[int, DocumentFacts]:
    """Return key, digest, bytes and number of features of documents."""
    statement = (
        "SELECT document_id, key, digest, byte_count, token_count FROM document "
        "WHERE document_id IN ({})"
    )
    rows = select_in(connection, statement, document_ids)
    return {row[0]: (row[1], row[2], row[3], row[4]) for row in rows}


# The years 1 to 9999, in seconds since 1970.
_TIMES = (-62_135_596_800, 253_402_300_799)
_TIME_COLUMNS = frozenset(("first_seen", "last_seen", "version_seen", "not_seen_since"))
# Numbers of any sign and size: hashes, keys of pages, an order, the clock of a file system.
_ANY_COLUMNS = frozenset(("value", "page", "major", "modified_ns"))
# What is counted from 1 on; other numbers are from 0 on.
_FROM_ONE_COLUMNS = frozenset((
    "document_id", "run_id", "source_id", "scheme_id", "generation_id", "text_id", "cluster_id",
    "revision", "bits", "version", "attempt", "bands", "band_rows", "entry_id",
    "index_id", "sketch_id", "duplicate_id", "token_id", "reject_id",
))  # fmt: skip
# More than any store counts.
_LARGEST = 10**15
# Parts of the numbers of pages, and hashes.
_LARGEST_OF = {
    "generation_id": LARGEST_GENERATION,
}
# Bytes of the digest of a text.
_DIGEST_BYTES = 16
_TABLES_OF_DIGESTS = frozenset((
    "document", "snapshot", "duplicate", "seen_record", "cluster_text", "cluster_change",
))  # fmt: skip
# Words that neither a constraint of the table nor storage.history knows.
_WORDS = {
    "store.on_duplicate": ("keep", "flag", "skip"),
    "ingest_run.kind": ("ingest", "remove", "expire"),
    "duplicate.basis": ("same", "text", "sketch", "distance"),
    "query_match.basis": ("text", "sketch"),
}
# References that the tables do not declare: a number and the column it is of.
_REFERENCES = (("source", "run_id", "ingest_run", "run_id"),)


def broken_columns(connection: Connection) -> Iterator[str]:
    """Yield the columns that hold invalid values, each with the number of rows."""
    for table in metadata.sorted_tables:
        refused = [
            (column.name, problem, condition)
            for column in table.c
            for problem, condition in _refused(connection, column)
        ]
        if not refused:
            continue
        sums = ", ".join(
            f"coalesce(sum(CASE WHEN {condition} THEN 1 ELSE 0 END), 0)"
            for _, _, condition in refused
        )
        (counts,) = fetch(connection, f"SELECT {sums} FROM {table.name}")  # noqa: S608 - ours
        for (name, problem, _), count in zip(refused, counts, strict=True):
            if count:
                yield f"{table.name}.{name}: {count:,} are {problem}"
    for table_name, name, of_table, of_name in _REFERENCES:
        statement = (
            f"SELECT count(*) FROM {table_name} t WHERE t.{name} IS NOT NULL AND NOT EXISTS "  # noqa: S608
            f"(SELECT 1 FROM {of_table} o WHERE o.{of_name} = t.{name})"
        )
        ((count,),) = fetch(connection, statement)
        if count:
            yield f"{table_name}.{name}: {count:,} name nothing in {of_table}"


def broken_digests(connection: Connection) -> Iterator[str]:
    """Yield the tables that hold digests of a wrong length."""
    for name in sorted(_TABLES_OF_DIGESTS):
        statement = f"SELECT count(*) FROM {name} WHERE length(digest) <> {_DIGEST_BYTES}"  # noqa: S608
        ((count,),) = fetch(connection, statement)
        if count:
            yield f"{name}.digest: {count:,} are not of {_DIGEST_BYTES} bytes"


def broken_names_of_sources(connection: Connection) -> Iterator[str]:
    """Yield the runs whose sources are not names, where :func:`broken_columns` finds nothing."""
    for name in ("ingest_run", "query_run"):
        statement = f"SELECT run_id, CAST(sources AS text) FROM {name}"  # noqa: S608 - ours
        for number, names in fetch(connection, statement):
            if not all(isinstance(one, str) for one in json.loads(names)):
                yield f"{name}.sources: of run {number} not all are names"


def _refused(connection: Connection, column: Column[Any]) -> Iterator[tuple[str, str]]:
    """Yield what values of a column are that it may not hold, and the condition for them in SQL."""
    dialect = dialect_of(connection)
    name = f'"{column.name}"'
    wrong_type = dialect.wrong_type(column)
    if wrong_type is not None:
        yield "of another type", f"{name} IS NOT NULL AND {wrong_type}"
    if isinstance(column.type, JSON):
        form = "array" if column.name in LISTS else "object"
        kind = f"coalesce({dialect.json_type(column)}, '') <> '{form}'"
        yield f"no JSON {form}", f"{name} IS NOT NULL AND {kind}"
        return
    right = "TRUE" if wrong_type is None else f"NOT {wrong_type}"
    limits = _limits(column)
    if limits is not None:
        yield (
            f"not from {limits[0]:,} to {limits[1]:,}",
            (f"{right} AND {name} NOT BETWEEN {limits[0]} AND {limits[1]}"),
        )
    words = _WORDS.get(f"{column.table.name}.{column.name}")
    if words is not None:
        listed = ", ".join(f"'{word}'" for word in words)
        yield f"not one of {', '.join(words)}", f"{right} AND {name} NOT IN ({listed})"


def _limits(column: Column[Any]) -> tuple[int, int] | None:
    """Return the least and the largest number that a column may hold; None: any, or no number."""
    if isinstance(column.type, Float):
        # Shares, and the seconds that a query took.
        return (0, _LARGEST) if column.name == "seconds" else (0, 1)
    if not isinstance(column.type, Integer) or isinstance(column.type, LargeBinary):
        return None
    # storage.history holds numbers of versions against each other.
    if column.name in _ANY_COLUMNS or str(column) == "snapshot.revision":
        return None
    if column.name in _TIME_COLUMNS:
        return _TIMES
    return (1 if column.name in _FROM_ONE_COLUMNS else 0), _LARGEST_OF.get(column.name, _LARGEST)
