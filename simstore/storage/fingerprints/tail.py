"""Read and write the table of fingerprints that are not in index pages yet (the tail)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.simhash import to_integers
from simstore.index.segments import (
    segment_columns,
    segment_values,
)
from simstore.storage import sql, tables
from simstore.storage.connection import Connection
from simstore.storage.damage import corrupt
from simstore.storage.rows import (
    change_in,
    count_rows,
    fetch,
    insert_rows,
    select_in,
)
from simstore.storage.tables.names import tail_name

if TYPE_CHECKING:
    from sqlalchemy import Table

# Rows that are held in memory at a time.
_READ_ROWS = 262_144
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


def stored_values(words: NDArray[np.uint64]) -> list[Any]:
    """Return fingerprints of shape (n, words) as the tables hold them."""
    if words.shape[1] == 1:
        signed: list[Any] = words[:, 0].view(np.int64).tolist()
        return signed
    data = words.astype(">u8").tobytes()
    return [data[place : place + 16] for place in range(0, len(data), 16)]


def words_of(stored: Sequence[Any], bits: int) -> NDArray[np.uint64]:
    """Return stored values as words; the inverse of :func:`stored_values`."""
    if bits > 64:
        return np.frombuffer(b"".join(stored), ">u8").astype(np.uint64).reshape(-1, 2)
    return np.array(stored, np.int64).view(np.uint64).reshape(-1, 1)


def held_words(connection: Connection, stored: Sequence[Any], bits: int) -> NDArray[np.uint64]:
    """Return fingerprints that were read as words.

    Raises:
        CorruptStore: One is none.
    """
    try:
        return words_of(stored, bits)
    except (TypeError, ValueError) as error:
        raise corrupt(connection, f"a fingerprint of {bits} bits is none ({error})") from error


def add(connection: Connection, bits: int, generation_id: int, words: NDArray[np.uint64]) -> int:
    """Put fingerprints into the tail; return how many were not there. The caller counts them.

    Args:
        connection: A writer.
        bits: Fingerprint length M.
        generation_id: The generation.
        words: Fingerprints, in no page; shape (n, ceil(M / 64)).
    """
    return insert(connection, tables.fingerprint_tables(bits).tail, bits, generation_id, words)


def insert(
    connection: Connection,
    table: Table,
    bits: int,
    generation_id: int,
    words: NDArray[np.uint64],
) -> int:
    """Write fingerprints and their segments into a table of them; return how many were not there.

    Args:
        connection: A writer.
        table: The tail, or one of the same columns.
        bits: Fingerprint length M.
        generation_id: The generation.
        words: Fingerprints, shape (n, ceil(M / 64)).
    """
    if not len(words):
        return 0
    if len(words) == 1:
        (value,) = to_integers(words)
        rows = [(generation_id, to_stored(value, bits), *segment_values(value, bits))]
    else:
        # In the order of the keys: neighbours in the table are written together.
        words = words[
            np.argsort(words[:, 0].view(np.int64))
            if words.shape[1] == 1
            else np.lexsort(words.T[::-1])
        ]
        rows = [
            (generation_id, value, *row)
            for value, row in zip(
                stored_values(words), segment_columns(words, bits).tolist(), strict=True
            )
        ]
    return insert_rows(
        connection,
        table,
        ("generation_id", "value", *(f"s{number}" for number in range(len(rows[0]) - 2))),
        rows,
        "ON CONFLICT DO NOTHING",
    )


def remove(connection: Connection, bits: int, generation_id: int, words: NDArray[np.uint64]) -> int:
    """Take fingerprints out of the tail; return how many were there. The caller counts them."""
    return delete_values(connection, tables.fingerprint_tables(bits).tail, generation_id, words)


def delete_values(
    connection: Connection, table: Table, generation_id: int, words: NDArray[np.uint64]
) -> int:
    """Delete fingerprints from the tail, or a table of the same columns; return how many."""
    if not len(words):
        return 0
    return change_in(
        connection,
        f"DELETE FROM {table.name} WHERE generation_id = ? AND value IN ({{}})",  # noqa: S608 - our own
        stored_values(words),
        generation_id,
    )


def remove_up_to(
    connection: Connection, bits: int, generation_id: int, last: NDArray[np.uint64]
) -> None:
    """Take the fingerprints out of the tail whose keys are not above that of the last.

    Args:
        connection: A writer.
        bits: Fingerprint length M.
        generation_id: The generation.
        last: A fingerprint that :func:`scan` yielded, shape (1, ceil(M / 64)).
    """
    tail = tables.fingerprint_tables(bits).tail
    connection.execute(
        sql.delete(tail).where(
            tail.c.generation_id == generation_id, tail.c.value <= stored_values(last)[0]
        )
    )


def clear(connection: Connection, bits: int, generation_id: int) -> None:
    """Take all fingerprints of a generation out of the tail."""
    tail = tables.fingerprint_tables(bits).tail
    others = connection.execute(
        sql.select(sql.func.count()).select_from(
            sql.select(tail.c.generation_id)
            .where(tail.c.generation_id != generation_id)
            .limit(1)
            .subquery()
        )
    ).scalar_one()
    # Without a condition SQLite frees the whole table, instead of each row in five trees.
    condition = f" WHERE generation_id = {int(generation_id)}" if others else ""
    connection.exec_driver_sql(f"DELETE FROM {tail.name}{condition}")  # noqa: S608 - our own


def scan(
    connection: Connection, bits: int, generation_id: int, limit: int | None = None
) -> Iterator[NDArray[np.uint64]]:
    """Yield the fingerprints of the tail, in the order of their keys, in arrays of bounded size."""
    name = tail_name(bits)
    after: tuple[Any, ...] = ()
    left = limit
    while left is None or left > 0:
        most = _READ_ROWS if left is None else min(left, _READ_ROWS)
        rows = fetch(
            connection,
            f"SELECT value FROM {name} WHERE generation_id = ?"  # noqa: S608 - our own name
            f"{' AND value > ?' if after else ''} ORDER BY value LIMIT ?",
            generation_id,
            *after,
            most,
        )
        if rows:
            yield held_words(connection, [row[0] for row in rows], bits)
            after = rows[-1]
        if len(rows) < most:
            return
        left = None if left is None else left - len(rows)


def count(connection: Connection, bits: int, generation_id: int) -> int:
    """Count the fingerprints of the tail."""
    tail = tables.fingerprint_tables(bits).tail
    return count_rows(connection, tail, tail.c.generation_id == generation_id)


def among(
    connection: Connection, bits: int, generation_id: int, words: NDArray[np.uint64]
) -> NDArray[np.bool_]:
    """Return whether each fingerprint is in the tail; shape (n,)."""
    values = stored_values(words)
    statement = f"SELECT value FROM {tail_name(bits)} WHERE generation_id = ? AND value IN ({{}})"  # noqa: S608
    rows = select_in(connection, statement, list(dict.fromkeys(values)), generation_id)
    held = {value for (value,) in rows}
    return np.array([value in held for value in values], np.bool_)


def posting_count(
    connection: Connection, bits: int, generation_id: int, segment: int, values: Sequence[int]
) -> int:
    """Return how many fingerprints of the tail have one of some values in a segment."""
    statement = (
        f"SELECT count(*) FROM {tail_name(bits)} WHERE generation_id = ? "  # noqa: S608 - our own
        f"AND s{int(segment)} IN ({{}})"
    )
    return sum(row[0] for row in select_in(connection, statement, values, generation_id))


def candidates(
    connection: Connection,
    bits: int,
    generation_id: int,
    probes: Sequence[tuple[int, Sequence[int]]],
    limit: int | None,
) -> NDArray[np.uint64]:
    """Return the fingerprints of the tail that share a probe, once for each that they share.

    Args:
        connection: A snapshot.
        bits: Fingerprint length M.
        generation_id: The generation.
        probes: (segment, values to look up in it).
        limit: Where there are more than so many, some are left out; None: none are.

    Returns:
        uint64, shape (candidates, ceil(M / 64)), in no order; more than ``limit`` where some are
        left out.
    """
    rows: list[Any] = []
    for segment, values in probes:
        statement = (
            f"SELECT value FROM {tail_name(bits)} WHERE generation_id = ? "  # noqa: S608 - our own
            f"AND s{int(segment)} IN ({{}})" + ("" if limit is None else f" LIMIT {limit + 1}")
        )
        found = select_in(connection, statement, values, generation_id)
        rows += [row[0] for row in found]
        if limit is not None and len(rows) > limit:
            break
    return held_words(connection, rows, bits)
