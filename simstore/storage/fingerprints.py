"""Fingerprints with their segment columns, and which documents have them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, bindparam, delete, func, insert, select
from sqlalchemy.dialects import postgresql, sqlite

from simstore.search.segments import segment_values, segment_widths
from simstore.storage.documents import chunks, integers
from simstore.storage.schema import (
    FAMILIES,
    document,
    fingerprint_tables,
    generation,
)

# Rows of a scan that are held in memory at a time.
_SCAN_ROWS = 262_144
_SIGN = 1 << 63


def to_stored(value: int, bits: int) -> int | bytes:
    """Return a fingerprint as the tables hold it: signed 64-bit, or 16 bytes above 64 bits."""
    if bits > 64:
        return value.to_bytes(16, "big")
    return value - (1 << 64) if value >= _SIGN else value


def from_stored(stored: int | bytes) -> int:
    """Return a fingerprint as a non-negative integer; the inverse of :func:`to_stored`."""
    if isinstance(stored, bytes):
        return int.from_bytes(stored, "big")
    return stored + (1 << 64) if stored < 0 else stored


def link_many(
    connection: Connection, bits: int, generation_id: int, fingerprints: Mapping[int, int]
) -> None:
    """Give documents their fingerprints in a generation; they must have none there yet.

    Args:
        connection: A writer.
        bits: Fingerprint length M.
        generation_id: The generation.
        fingerprints: Document number to fingerprint, a non-negative integer below 2**M.
    """
    if not fingerprints:
        return
    tables = fingerprint_tables(bits)
    names = [f"s{i}" for i in range(len(segment_widths(bits)))]
    rows = [
        {"generation_id": generation_id, "value": to_stored(value, bits)}
        | dict(zip(names, segment_values(value, bits), strict=True))
        for value in sorted(set(fingerprints.values()))
    ]
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    connection.execute(dialect.insert(tables.tail).on_conflict_do_nothing(), rows)
    connection.execute(
        insert(tables.links),
        [
            {
                "generation_id": generation_id,
                "document_id": document_id,
                "value": to_stored(value, bits),
            }
            for document_id, value in sorted(fingerprints.items())
        ],
    )


def unlink_many(connection: Connection, document_ids: Sequence[int]) -> None:
    """Take documents' fingerprints away in every generation.

    Fingerprints that no document has any more are deleted.
    """
    present = connection.execute(select(generation.c.generation_id)).scalars().all()
    for tables in FAMILIES:
        links, tail = tables.links.c, tables.tail.c
        for generation_id in present:
            values: set[int | bytes] = set()
            for part in chunks(document_ids):
                of_part = (links.generation_id == generation_id, links.document_id.in_(part))
                values.update(connection.execute(select(links.value).where(*of_part)).scalars())
                connection.execute(delete(tables.links).where(*of_part))
            if not values:
                continue
            held = (
                select(links.value)
                .where(links.generation_id == generation_id, links.value == tail.value)
                .exists()
            )
            connection.execute(
                delete(tables.tail).where(
                    tail.generation_id == generation_id, tail.value == bindparam("_value"), ~held
                ),
                [{"_value": value} for value in values],
            )


def drop_generation_rows(connection: Connection, generation_id: int, limit: int) -> bool:
    """Delete up to ``limit`` links and fingerprints of a generation; return whether some remain."""
    for tables in FAMILIES:
        for table, column in ((tables.links, "document_id"), (tables.tail, "value")):
            of_generation = table.c.generation_id == generation_id
            last = connection.execute(
                select(table.c[column])
                .where(of_generation)
                .order_by(table.c[column])
                .limit(1)
                .offset(limit)
            ).scalar_one_or_none()
            if last is None:
                connection.execute(delete(table).where(of_generation))
            else:
                connection.execute(delete(table).where(of_generation, table.c[column] < last))
                return True
    return False


def count(connection: Connection, bits: int, generation_id: int) -> int:
    """Return the number of distinct fingerprints in a generation."""
    tail = fingerprint_tables(bits).tail
    statement = select(func.count()).select_from(tail).where(tail.c.generation_id == generation_id)
    return connection.execute(statement).scalar_one()


def link_count(connection: Connection, bits: int, generation_id: int) -> int:
    """Return the number of documents that have a fingerprint in a generation."""
    links = fingerprint_tables(bits).links
    statement = (
        select(func.count()).select_from(links).where(links.c.generation_id == generation_id)
    )
    return connection.execute(statement).scalar_one()


def unlinked_documents(
    connection: Connection, bits: int, generation_id: int, limit: int, after: int = 0
) -> list[int]:
    """Return documents above ``after`` without a fingerprint in a generation, ascending."""
    links = fingerprint_tables(bits).links.c
    linked = (
        select(links.document_id)
        .where(links.generation_id == generation_id, links.document_id == document.c.document_id)
        .exists()
    )
    statement = (
        select(document.c.document_id)
        .where(document.c.document_id > after, ~linked)
        .order_by(document.c.document_id)
        .limit(limit)
    )
    return list(connection.execute(statement).scalars())


def last_linked_document(connection: Connection, bits: int, generation_id: int) -> int:
    """Return the largest document number with a fingerprint in a generation, or 0."""
    links = fingerprint_tables(bits).links.c
    statement = select(func.max(links.document_id)).where(links.generation_id == generation_id)
    return connection.execute(statement).scalar_one() or 0


def of_documents(
    connection: Connection, bits: int, generation_id: int, document_ids: Sequence[int]
) -> dict[int, int]:
    """Return the fingerprints of documents that have one in a generation."""
    links = fingerprint_tables(bits).links.c
    found: dict[int, int] = {}
    for part in chunks(document_ids):
        rows = connection.execute(
            select(links.document_id, links.value).where(
                links.generation_id == generation_id, links.document_id.in_(part)
            )
        )
        found.update((number, from_stored(value)) for number, value in rows)
    return found


def posting_count(
    connection: Connection, bits: int, generation_id: int, segment: int, values: Sequence[int]
) -> int:
    """Return how many fingerprints have one of these values in a segment."""
    name = fingerprint_tables(bits).tail.name
    total = 0
    for part in chunks(values):
        total += connection.exec_driver_sql(
            f"SELECT count(*) FROM {name} WHERE generation_id = {int(generation_id)} "  # noqa: S608 - integers
            f"AND s{int(segment)} IN ({integers(part)})"
        ).scalar_one()
    return total


def candidates(
    connection: Connection,
    bits: int,
    generation_id: int,
    probes: Sequence[tuple[int, Sequence[int]]],
) -> NDArray[np.uint64]:
    """Return the distinct fingerprints that share a probe.

    Args:
        connection: A snapshot.
        bits: Fingerprint length M.
        generation_id: The generation.
        probes: (segment, values to look up in it).

    Returns:
        uint64, shape (candidates, ceil(M / 64)), in no order.
    """
    tables = fingerprint_tables(bits)
    statements = [
        f"SELECT value FROM {tables.tail.name} WHERE generation_id = {int(generation_id)} "  # noqa: S608 - integers
        f"AND s{int(segment)} IN ({integers(part)})"
        for segment, values in probes
        for part in chunks(values)
    ]
    rows: list[Any] = []
    # SQLite takes at most 500 terms in a compound statement.
    for some in chunks(statements, 400):
        result = connection.exec_driver_sql(" UNION ALL ".join(some))
        rows += [row[0] for row in result.fetchall()]
    return _words(rows, bits, distinct=True)


def scan(connection: Connection, bits: int, generation_id: int) -> Iterator[NDArray[np.uint64]]:
    """Yield all distinct fingerprints of a generation in arrays of bounded size."""
    tail = fingerprint_tables(bits).tail
    result = connection.execute(
        select(tail.c.value).where(tail.c.generation_id == generation_id),
        execution_options={"yield_per": _SCAN_ROWS},
    )
    for part in result.scalars().partitions(_SCAN_ROWS):
        yield _words(list(part), bits, distinct=False)


def documents_with(
    connection: Connection, bits: int, generation_id: int, values: Sequence[int]
) -> list[tuple[int, int, bytes]]:
    """Return (fingerprint, document number, key) of the documents with these fingerprints."""
    tables = fingerprint_tables(bits)
    links = tables.links.c
    found = []
    for part in chunks([to_stored(value, bits) for value in values]):
        rows = connection.execute(
            select(links.value, document.c.document_id, document.c.key)
            .join(document, document.c.document_id == links.document_id)
            .where(links.generation_id == generation_id, links.value.in_(part))
        )
        found += [(from_stored(row[0]), row[1], row[2]) for row in rows]
    return found


def _words(rows: list[Any], bits: int, *, distinct: bool) -> NDArray[np.uint64]:
    """Return stored values as words; the same order, unless only distinct ones are wanted."""
    if bits > 64:
        joined = b"".join(set(rows) if distinct else rows)
        return np.frombuffer(joined, ">u8").astype(np.uint64).reshape(-1, 2)
    values = np.array(rows, np.int64).view(np.uint64)
    return (np.unique(values) if distinct else values).reshape(-1, 1)
