"""What the database itself can say about its soundness."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlalchemy import Connection, func, select

from simstore.storage.documents import chunks
from simstore.storage.fingerprints import from_stored
from simstore.storage.schema import FingerprintTables, document, fingerprint_tables


def file_problems(connection: Connection) -> Iterator[str]:
    """Yield damaged pages, indexes that disagree with their tables, references to nothing."""
    if connection.dialect.name != "sqlite":
        return
    for (problem,) in connection.exec_driver_sql("PRAGMA integrity_check(20)"):
        if problem != "ok":
            yield str(problem)
    for row in connection.exec_driver_sql("PRAGMA foreign_key_check").fetchmany(20):
        yield f"table {row[0]}, row {row[1]}: refers to nothing in {row[2]}"


def document_facts(
    connection: Connection, document_ids: Sequence[int]
) -> dict[int, tuple[bytes, bytes, int]]:
    """Return key, digest and size of documents."""
    c = document.c
    found = {}
    for part in chunks(document_ids):
        for row in connection.execute(
            select(c.document_id, c.key, c.digest, c.byte_count).where(c.document_id.in_(part))
        ):
            found[row[0]] = (row[1], row[2], row[3])
    return found


def stray_links(connection: Connection, bits: int) -> int:
    """Return how many links name a document that is gone, in any generation."""
    links = fingerprint_tables(bits).links
    there = select(document.c.document_id).where(document.c.document_id == links.c.document_id)
    statement = select(func.count()).select_from(links).where(~there.exists())
    return connection.execute(statement).scalar_one()


def tail_rows(
    connection: Connection, bits: int, generation_id: int
) -> Iterator[tuple[int, tuple[int | None, ...]]]:
    """Yield (fingerprint, segment columns) of a generation, for ``fsck`` to compare."""
    tables: FingerprintTables = fingerprint_tables(bits)
    tail = tables.tail
    result = connection.execute(
        select(tail).where(tail.c.generation_id == generation_id),
        execution_options={"yield_per": 10_000},
    )
    for row in result:
        yield from_stored(row[1]), tuple(row[2:])


def unheld_values(connection: Connection, bits: int, generation_id: int) -> tuple[int, int]:
    """Return how many fingerprints no document has, and how many links name no fingerprint."""
    tables = fingerprint_tables(bits)
    tail, links = tables.tail, tables.links
    held = (
        select(links.c.value)
        .where(links.c.generation_id == generation_id, links.c.value == tail.c.value)
        .exists()
    )
    named = (
        select(tail.c.value)
        .where(tail.c.generation_id == generation_id, tail.c.value == links.c.value)
        .exists()
    )
    return (
        connection.execute(
            select(func.count())
            .select_from(tail)
            .where(tail.c.generation_id == generation_id, ~held)
        ).scalar_one(),
        connection.execute(
            select(func.count())
            .select_from(links)
            .where(links.c.generation_id == generation_id, ~named)
        ).scalar_one(),
    )
