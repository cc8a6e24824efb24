"""Integrity checks that the database itself offers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sqlalchemy import Connection, LargeBinary, Table, func, select

from simstore.search.pages import among, distinct
from simstore.storage import generations, segment_pages
from simstore.storage.dialects.connection import forms_of
from simstore.storage.documents import chunks
from simstore.storage.generations import GenerationRow
from simstore.storage.tables import (
    FingerprintTables,
    document,
    fingerprint_page,
    fingerprint_tables,
)
from simstore.storage.tail import from_stored, held_words, to_stored

# Key, digest, bytes and number of features.
DocumentFacts = tuple[bytes, bytes, int, int]
# Ranges of fingerprints that are compared one after the other: 2 to this power.
_RANGE_BITS = 6


def file_problems(connection: Connection) -> Iterator[str]:
    """Yield what the database itself finds damaged."""
    yield from forms_of(connection).problems(connection)


def document_facts(connection: Connection, document_ids: Sequence[int]) -> dict[int, DocumentFacts]:
    """Return key, digest, bytes and number of features of documents."""
    c = document.c
    found = {}
    for part in chunks(document_ids):
        for row in connection.execute(
            select(c.document_id, c.key, c.digest, c.byte_count, c.token_count).where(
                c.document_id.in_(part)
            )
        ):
            found[row[0]] = (row[1], row[2], row[3], row[4])
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


def unheld_values(connection: Connection, bits: int, row: GenerationRow) -> tuple[int, int]:
    """Return how many fingerprints no document has, and how many links name no fingerprint.

    Raises:
        ValueError: A page is damaged.
    """
    unheld = unnamed = 0
    for first, last in _ranges(bits):
        links = _stored_between(connection, fingerprint_tables(bits).links, row, first, last)
        linked = held_words(connection, links, bits)
        tail = _stored_between(connection, fingerprint_tables(bits).tail, row, first, last)
        held = held_words(connection, tail, bits)
        if row.packed_count:
            paged = segment_pages.read_range(connection, bits, row.generation_id, first, last)
            held = np.concatenate((held, paged))
        held = distinct(held)
        unheld += len(held) - int(among(held, distinct(linked)).sum())
        unnamed += len(linked) - int(among(linked, held).sum())
    return unheld, unnamed


def _ranges(bits: int) -> Iterator[tuple[int, int]]:
    """Yield the first and last fingerprint of ranges that cover all of M bits."""
    parts_bits = min(bits, _RANGE_BITS)
    size = 1 << (bits - parts_bits)
    for number in range(1 << parts_bits):
        yield number * size, (number + 1) * size - 1


def _stored_between(
    connection: Connection, table: Table, row: GenerationRow, first: int, last: int
) -> list[Any]:
    """Return the stored fingerprints of a range, which does not lie across the sign."""
    bits = 128 if isinstance(table.c.value.type, LargeBinary) else 64
    value = table.c.value
    statement = select(value).where(
        table.c.generation_id == row.generation_id,
        value >= to_stored(first, bits),
        value <= to_stored(last, bits),
    )
    return list(connection.execute(statement).scalars())


def stray_pages(connection: Connection) -> int:
    """Return how many pages belong to no generation."""
    known = sum(
        segment_pages.row_count(connection, row.generation_id)
        for row in generations.generations(connection, ("building", "standing", "retired"))
    )
    statement = select(func.count()).select_from(fingerprint_page)
    return connection.execute(statement).scalar_one() - known
