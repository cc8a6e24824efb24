"""Add, remove and read stored fingerprints, and link them to their documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.simhash import to_words
from simstore.index.hamming import PACKED_BITS, among, distinct, sortable
from simstore.storage import generations, sql, tables
from simstore.storage.connection import Connection
from simstore.storage.damage import check_deleted
from simstore.storage.fingerprints import packed, packed_columns, tail
from simstore.storage.fingerprints.tail import (
    from_stored,
    held_words,
    stored_values,
    to_stored,
    words_of,
)
from simstore.storage.generations import FingerprintCounts, GenerationRow
from simstore.storage.rows import (
    chunks,
    count_rows,
    execute,
    fetch,
    insert_rows,
    integers,
    largest,
    numbers_after,
    select_in,
)
from simstore.storage.tables.names import links_name

if TYPE_CHECKING:
    from sqlalchemy import Table

    from simstore.storage.tables import FingerprintTables

# Integers that are written out in a statement: faster for many than parameters.
_INTEGERS = 5_000
# Ranges of fingerprints that are compared one after the other: 2 to this power.
_RANGE_BITS = 6


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
    words = to_words(fingerprints.values(), bits)
    link_rows(connection, bits, generation_id, list(fingerprints), words)


def link_rows(
    connection: Connection,
    bits: int,
    generation_id: int,
    document_ids: Sequence[int],
    words: NDArray[np.uint64],
    *,
    packed_count: int | None = None,
) -> FingerprintCounts | None:
    """Give documents their fingerprints in a generation; they must have none there yet.

    Args:
        connection: A writer.
        bits: Fingerprint length M.
        generation_id: The generation.
        document_ids: The documents.
        words: Their fingerprints, shape (documents, ceil(M / 64)).
        packed_count: Fingerprints of the generation that are in pages; None: it is looked up.

    Returns:
        As :func:`simstore.storage.generations.note_fingerprints`.
    """
    if not document_ids:
        return None
    distinct = np.unique(words, axis=0) if len(words) > 1 else words
    _, counts = _added(connection, bits, generation_id, distinct, packed_count)
    insert_rows(
        connection,
        tables.fingerprint_tables(bits).links,
        ("generation_id", "document_id", "value"),
        [
            (generation_id, document_id, value)
            for document_id, value in zip(document_ids, stored_values(words), strict=True)
        ],
    )
    return counts


def add(
    connection: Connection,
    bits: int,
    generation_id: int,
    words: NDArray[np.uint64],
    *,
    packed_count: int | None = None,
) -> int:
    """Put those fingerprints into the tail that are in no page; return how many are new.

    Args:
        connection: A writer.
        bits: Fingerprint length M.
        generation_id: The generation.
        words: Fingerprints, shape (n, ceil(M / 64)).
        packed_count: Fingerprints of the generation that are in pages; None: it is looked up.
    """
    return _added(connection, bits, generation_id, words, packed_count)[0]


def _added(
    connection: Connection,
    bits: int,
    generation_id: int,
    words: NDArray[np.uint64],
    packed_count: int | None,
) -> tuple[int, FingerprintCounts | None]:
    """Add fingerprints that are not there; return how many, and the counts after them."""
    if packed_count is None:
        packed_count = generations.packed_count(connection, generation_id)
    restored = 0
    if packed_count:
        words, restored = _restored(connection, bits, generation_id, words)
    added = tail.add(connection, bits, generation_id, words) + restored
    return added, generations.note_fingerprints(
        connection, generation_id, added=added, packed=restored
    )


def _restored(
    connection: Connection, bits: int, generation_id: int, words: NDArray[np.uint64]
) -> tuple[NDArray[np.uint64], int]:
    """Count those in again that are in runs and gone; return those in no run, and how many came."""
    is_new, restored = packed.restore(connection, bits, generation_id, words)
    if restored:
        packed_columns.add(connection, bits, generation_id, words[~is_new])
    return words[is_new], restored


def remove(connection: Connection, bits: int, generation_id: int, words: NDArray[np.uint64]) -> int:
    """Take fingerprints out of the tail and out of the runs; return how many were there."""
    unpacked = tail.remove(connection, bits, generation_id, words)
    taken = 0
    if unpacked < len(words) and generations.packed_count(connection, generation_id):
        taken = packed.remove(connection, bits, generation_id, words)
        packed_columns.remove(connection, bits, generation_id, words)
    counts = generations.note_fingerprints(
        connection, generation_id, added=-unpacked - taken, packed=-taken
    )
    if taken and counts is not None and not counts.packed_count:
        # An add reads runs only if some fingerprints are packed.
        packed.drop(connection, bits, generation_id)
    return unpacked + taken


def add_packed(
    connection: Connection, bits: int, row: GenerationRow, words: NDArray[np.uint64]
) -> int:
    """Put fingerprints, and the tail with them, into a run; return how many are new.

    Args:
        connection: A writer.
        bits: M, 64 or 128.
        row: The generation as it is in this transaction.
        words: Fingerprints, shape (n, M / 64).
    """
    waiting = list(tail.scan(connection, bits, row.generation_id))
    moved = sum(map(len, waiting))
    words, restored = distinct(np.concatenate((words, *waiting))), 0
    if row.packed_count:
        words, restored = _restored(connection, bits, row.generation_id, words)
    _pack(connection, bits, row.generation_id, words)
    if moved:
        tail.clear(connection, bits, row.generation_id)
    new = len(words) - moved + restored
    generations.note_fingerprints(
        connection, row.generation_id, added=new, packed=len(words) + restored
    )
    return new


def pack_some(connection: Connection, bits: int, row: GenerationRow, limit: int) -> int:
    """Move up to ``limit`` fingerprints of a generation from the tail into a run; return how many.

    Args:
        connection: A writer.
        bits: M, 64 or 128.
        row: The generation as it is in this transaction.
        limit: Most fingerprints.
    """
    parts = list(tail.scan(connection, bits, row.generation_id, limit))
    if not parts:
        return 0
    words = np.concatenate(parts)
    _pack(connection, bits, row.generation_id, words)
    if len(words) == row.fingerprint_count - row.packed_count:
        tail.clear(connection, bits, row.generation_id)
    else:
        tail.remove_up_to(connection, bits, row.generation_id, words[-1:])
    generations.note_fingerprints(connection, row.generation_id, packed=len(words))
    return len(words)


def _pack(connection: Connection, bits: int, generation_id: int, words: NDArray[np.uint64]) -> None:
    if len(words):
        packed.add(connection, bits, generation_id, words)
        packed_columns.add(connection, bits, generation_id, words)


def unpack(connection: Connection, bits: int, row: GenerationRow) -> int:
    """Move all fingerprints of a generation from runs into the tail; return how many.

    Args:
        connection: A writer.
        bits: M, 64 or 128.
        row: The generation as it is in this transaction.
    """
    moved = 0
    for words in packed.scan(connection, bits, row.generation_id):
        moved += tail.add(connection, bits, row.generation_id, words)
    packed.drop(connection, bits, row.generation_id)
    packed_columns.clear(connection, bits, row.generation_id)
    generations.note_fingerprints(connection, row.generation_id, packed=-row.packed_count)
    return moved


def unlink_many(connection: Connection, document_ids: Sequence[int]) -> None:
    """Take documents' fingerprints away in every generation.

    Fingerprints that no document has any more are deleted.
    """
    for row in generations.generations(connection, ("building", "standing", "retired")):
        for family in tables.FAMILIES:
            values = _unlink(connection, family, row.generation_id, document_ids)
            if values:
                bits = 64 if family is tables.FAMILIES[0] else 128
                remove(connection, bits, row.generation_id, words_of(values, bits))


def _unlink(
    connection: Connection,
    family: FingerprintTables,
    generation_id: int,
    document_ids: Sequence[int],
) -> list[Any]:
    """Delete the links of documents; return the stored fingerprints that have none any more."""
    name = family.links.name
    of_generation = f"FROM {name} WHERE generation_id = {int(generation_id)}"
    if not fetch(connection, f"SELECT 1 {of_generation} LIMIT 1"):
        return []
    values: set[int | bytes] = set()
    for part in chunks(document_ids, _INTEGERS):
        of_part = f"{of_generation} AND document_id IN ({integers(part)})"
        values.update(row[0] for row in fetch(connection, f"SELECT value {of_part}"))
        execute(connection, f"DELETE {of_part}")
    held = select_in(connection, f"SELECT value {of_generation} AND value IN ({{}})", list(values))
    return sorted(values.difference([row[0] for row in held]))


def drop_generation_rows(connection: Connection, generation_id: int, limit: int) -> bool:
    """Delete up to ``limit`` links, fingerprints or rows of pages of a generation.

    Returns:
        Whether some remain.
    """
    for family in tables.FAMILIES:
        of_values = ((family.tail, "value"), (family.kept, "value"))
        for table, column in ((family.links, "document_id"), *of_values):
            of_generation = table.c.generation_id == generation_id
            last = connection.execute(
                sql.select(table.c[column])
                .where(of_generation)
                .order_by(table.c[column])
                .limit(1)
                .offset(limit)
            ).scalar_one_or_none()
            if last is None:
                connection.execute(sql.delete(table).where(of_generation))
            else:
                of_part = table.c[column] < last
                deleted = connection.execute(
                    sql.delete(table).where(of_generation, of_part)
                ).rowcount
                check_deleted(connection, table.name, deleted)
                return True
    return any(packed.drop(connection, bits, generation_id, limit) for bits in PACKED_BITS)


def link_count(connection: Connection, bits: int, generation_id: int) -> int:
    """Return the number of documents that have a fingerprint in a generation."""
    links = tables.fingerprint_tables(bits).links
    return count_rows(connection, links, links.c.generation_id == generation_id)


def unlinked_documents(
    connection: Connection, bits: int, generation_id: int, limit: int, after: int = 0
) -> list[int]:
    """Return documents above ``after`` without a fingerprint in a generation, ascending."""
    links = tables.fingerprint_tables(bits).links.c
    linked = (
        sql.select(links.document_id)
        .where(
            links.generation_id == generation_id, links.document_id == tables.document.c.document_id
        )
        .exists()
    )
    return numbers_after(connection, tables.document.c.document_id, after, limit, ~linked)


def last_linked_document(connection: Connection, bits: int, generation_id: int) -> int:
    """Return the largest document number with a fingerprint in a generation, or 0."""
    links = tables.fingerprint_tables(bits).links.c
    return largest(connection, links.document_id, links.generation_id == generation_id)


def of_documents(
    connection: Connection, bits: int, generation_id: int, document_ids: Sequence[int]
) -> dict[int, int]:
    """Return the fingerprints of documents that have one in a generation."""
    statement = (
        f"SELECT document_id, value FROM {links_name(bits)} "  # noqa: S608 - ours
        "WHERE generation_id = ? AND document_id IN ({})"
    )
    rows = select_in(connection, statement, document_ids, generation_id)
    return {row[0]: from_stored(row[1]) for row in rows}


def linked_after(
    connection: Connection, bits: int, generation_id: int, scheme_id: int, sketch_id: int
) -> tuple[NDArray[np.uint64], int]:
    """Return the fingerprints of documents whose sketches came later than one.

    Args:
        connection: A snapshot.
        bits: Fingerprint length M.
        generation_id: The generation.
        scheme_id: The scheme of the sketches.
        sketch_id: The largest number of a sketch that is not looked at.

    Returns:
        uint64, shape (n, ceil(M / 64)), in the order of the sketches; and the largest number of
        one that was looked at.
    """
    links = links_name(bits)
    statement = (
        f"SELECT s.sketch_id, l.value FROM sketch s LEFT JOIN {links} l "  # noqa: S608 - ours
        "ON l.document_id = s.document_id AND l.generation_id = ? "
        "WHERE s.scheme_id = ? AND s.sketch_id > ? ORDER BY s.sketch_id"
    )
    rows = fetch(connection, statement, generation_id, scheme_id, sketch_id)
    values = [row[1] for row in rows if row[1] is not None]
    return held_words(connection, values, bits), rows[-1][0] if rows else sketch_id


def scan(connection: Connection, bits: int, generation_id: int) -> Iterator[NDArray[np.uint64]]:
    """Yield all distinct fingerprints of a generation in arrays of bounded size."""
    if generations.packed_count(connection, generation_id):
        yield from packed.scan(connection, bits, generation_id)
    yield from tail.scan(connection, bits, generation_id)


def documents_with(
    connection: Connection, bits: int, generation_id: int, values: Sequence[int]
) -> list[tuple[int, int, bytes]]:
    """Return (fingerprint, document number, key) of the documents with these fingerprints."""
    statement = (
        f"SELECT value, document_id, key FROM {links_name(bits)} "  # noqa: S608 - ours
        "JOIN document USING (document_id) WHERE generation_id = ? AND value IN ({})"
    )
    wanted = [to_stored(value, bits) for value in values]
    rows = select_in(connection, statement, wanted, generation_id)
    return [(from_stored(row[0]), row[1], row[2]) for row in rows]


def holders_of(
    connection: Connection, bits: int, generation_id: int, values: Sequence[int]
) -> list[tuple[int, int]]:
    """Return (fingerprint, document number) of the documents with these fingerprints."""
    statement = (
        f"SELECT value, document_id FROM {links_name(bits)} "  # noqa: S608 - ours
        "WHERE generation_id = ? AND value IN ({})"
    )
    wanted = [to_stored(value, bits) for value in values]
    rows = select_in(connection, statement, wanted, generation_id)
    return [(from_stored(row[0]), row[1]) for row in rows]


def lost_generations(connection: Connection) -> list[int]:
    """Return the numbers of generations that have fingerprints and no row of their own."""
    known = {number for (number,) in fetch(connection, "SELECT generation_id FROM generation")}
    found: set[int] = set()
    every = (
        table
        for family in tables.FAMILIES
        for table in (family.tail, family.kept, family.gone, family.links)
    )
    for table in every:
        after = 0
        # A generation a step: its rows are passed over.
        smallest = f"SELECT min(generation_id) FROM {table.name} WHERE generation_id > ?"  # noqa: S608
        while (number := fetch(connection, smallest, after)[0][0]) is not None:
            found.add(number)
            after = number
    return sorted(found - known)


def stray_links(connection: Connection, bits: int) -> int:
    """Return how many links name a document that is gone, in any generation."""
    links = tables.fingerprint_tables(bits).links
    owner = sql.select(tables.document.c.document_id).where(
        tables.document.c.document_id == links.c.document_id
    )
    return count_rows(connection, links, ~owner.exists())


def tail_rows(
    connection: Connection, bits: int, generation_id: int
) -> Iterator[tuple[int, tuple[int | None, ...]]]:
    """Yield (fingerprint, segment columns) of a generation, for ``fsck`` to compare."""
    table = tables.fingerprint_tables(bits).tail
    result = connection.sqlalchemy.execute(
        sql.select(table).where(table.c.generation_id == generation_id),
        execution_options={"yield_per": 10_000},
    )
    for row in result:
        yield from_stored(row[1]), tuple(row[2:])


def unheld_values(connection: Connection, bits: int, row: GenerationRow) -> tuple[int, int]:
    """Return how many fingerprints no document has, and how many links name no fingerprint.

    Raises:
        ValueError: A page is damaged.
    """
    unheld = unnamed = 0
    runs = packed.runs_of(connection, bits, row.generation_id) if row.packed_count else None
    for part in range(1 << min(bits, _RANGE_BITS)):
        first, last = _range(part, bits)
        links = _stored_between(connection, tables.fingerprint_tables(bits).links, row, first, last)
        linked = held_words(connection, links, bits)
        waiting = _stored_between(
            connection, tables.fingerprint_tables(bits).tail, row, first, last
        )
        held = held_words(connection, waiting, bits)
        if runs is not None:
            paged = runs.in_range(part, _RANGE_BITS)
            gone = packed.are_gone(connection, bits, row.generation_id, paged)
            held = np.concatenate((held, paged[~gone]))
        held = distinct(held)
        unheld += len(held) - int(_held_among(held, distinct(linked)).sum())
        unnamed += len(linked) - int(_held_among(linked, held).sum())
    return unheld, unnamed


def _held_among(words: NDArray[np.uint64], others: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Return whether each fingerprint is among others, which ascend."""
    return among(sortable(words), sortable(others))


def _range(part: int, bits: int) -> tuple[int, int]:
    """Return the first and last fingerprint of a range; the ranges cover all of M bits."""
    size = 1 << (bits - min(bits, _RANGE_BITS))
    return part * size, (part + 1) * size - 1


def _stored_between(
    connection: Connection, table: Table, row: GenerationRow, first: int, last: int
) -> list[Any]:
    """Return the stored fingerprints of a range, which does not lie across the sign."""
    bits = 128 if isinstance(table.c.value.type, sql.LargeBinary) else 64
    value = table.c.value
    statement = sql.select(value).where(
        table.c.generation_id == row.generation_id,
        value >= to_stored(first, bits),
        value <= to_stored(last, bits),
    )
    return list(connection.execute(statement).scalars())
