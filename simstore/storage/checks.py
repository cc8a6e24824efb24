"""What the database itself can say about its soundness."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlalchemy import Connection, select

from simstore.storage.documents import chunks
from simstore.storage.schema import document


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
