"""Keep optional columns of fingerprints' 16-bit parts (segments), for users who query by SQL.

No look-up of simstore reads them: they are for users who query by SQL, through the views of
``storage/tables/views.py``. Whatever changes pages changes them in the same transaction.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from simstore.storage import sql, tables
from simstore.storage.connection import Connection
from simstore.storage.fingerprints import packed, tail
from simstore.storage.rows import count_rows, fetch

Rows = list[tuple[object, ...]]


def are_kept(connection: Connection) -> bool:
    """Return whether the store keeps the columns of packed fingerprints."""
    return bool(fetch(connection, "SELECT count(*) FROM store WHERE keep_columns")[0][0])


def add(connection: Connection, bits: int, generation_id: int, words: NDArray[np.uint64]) -> None:
    """Write the columns of fingerprints that have come into pages, where they are kept.

    Args:
        connection: A writer.
        bits: M, 64 or 128.
        generation_id: The generation.
        words: Fingerprints, shape (n, M / 64); what is there stays.
    """
    if are_kept(connection):
        tail.insert(connection, tables.fingerprint_tables(bits).kept, bits, generation_id, words)


def remove(
    connection: Connection, bits: int, generation_id: int, words: NDArray[np.uint64]
) -> None:
    """Delete the columns of fingerprints that have left the pages."""
    if are_kept(connection):
        tail.delete_values(connection, tables.fingerprint_tables(bits).kept, generation_id, words)


def clear(connection: Connection, bits: int, generation_id: int) -> None:
    """Delete the columns of all packed fingerprints of a generation."""
    kept = tables.fingerprint_tables(bits).kept
    connection.execute(sql.delete(kept).where(kept.c.generation_id == generation_id))


def keep(connection: Connection) -> int:
    """Write the columns of all packed fingerprints anew and keep them; return how many."""
    drop(connection)
    connection.execute(sql.update(tables.store).values(keep_columns=True))
    written = 0
    for generation_id, bits in fetch(
        connection,
        "SELECT generation_id, bits FROM generation JOIN scheme "
        "ON scheme.scheme_id = generation.scheme_id WHERE packed_count > 0",
    ):
        for words in packed.scan(connection, bits, generation_id):
            kept = tables.fingerprint_tables(bits).kept
            written += tail.insert(connection, kept, bits, generation_id, words)
    return written


def drop(connection: Connection) -> None:
    """Delete the columns of all packed fingerprints and keep them no longer."""
    connection.execute(sql.update(tables.store).values(keep_columns=False))
    for family in tables.FAMILIES:
        # Without a condition SQLite frees whole tables and indexes.
        connection.execute(sql.delete(family.kept))


def count(connection: Connection, bits: int, generation_id: int) -> int:
    """Count the fingerprints of a generation whose columns are kept beside pages."""
    kept = tables.fingerprint_tables(bits).kept
    return count_rows(connection, kept, kept.c.generation_id == generation_id)


def scan(
    connection: Connection, bits: int, generation_id: int, limit: int
) -> Iterator[tuple[NDArray[np.uint64], Rows]]:
    """Yield the fingerprints whose columns are kept, and these, in order, so many at a time.

    Raises:
        CorruptStore: A fingerprint is none.
    """
    kept = tables.fingerprint_tables(bits).kept
    names = ", ".join(column.name for column in kept.c if column.name != "generation_id")
    after: tuple[object, ...] = ()
    while rows := fetch(
        connection,
        f"SELECT {names} FROM {kept.name} WHERE generation_id = ? "  # noqa: S608 - our own names
        f"{'AND value > ? ' if after else ''}ORDER BY value LIMIT ?",
        generation_id,
        *after,
        limit,
    ):
        yield tail.held_words(connection, [row[0] for row in rows], bits), [row[1:] for row in rows]
        after = rows[-1][:1]
