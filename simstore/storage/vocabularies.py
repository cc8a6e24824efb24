"""Read and write the vocabulary: terms, frequencies, ranks, and feature counts per document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from simstore.storage import codecs, sql, tables
from simstore.storage.connection import Connection
from simstore.storage.deltas import unmerged
from simstore.storage.documents import count as count_documents
from simstore.storage.rows import count_rows, delete_in, insert_rows, largest, select_in

FeatureRow = tuple[NDArray[np.int64], NDArray[np.int64]]


def feature_ids(connection: Connection, scheme_id: int, terms: Sequence[bytes]) -> dict[bytes, int]:
    """Return the numbers of the terms that the vocabulary knows."""
    statement = "SELECT term, feature_id FROM feature WHERE scheme_id = ? AND term IN ({})"
    return {row[0]: row[1] for row in select_in(connection, statement, terms, scheme_id)}


def add_terms(connection: Connection, scheme_id: int, terms: Sequence[bytes]) -> dict[bytes, int]:
    """Add terms that the vocabulary does not know; return their numbers."""
    if not terms:
        return {}
    c = tables.feature.c
    last = largest(connection, c.feature_id)
    insert_rows(
        connection,
        tables.feature,
        ("scheme_id", "term", "document_count", "total_count"),
        [(scheme_id, term, 0, 0) for term in terms],
    )
    # Writers take turns: what is above the largest number of before is ours.
    rows = connection.execute(sql.select(c.term, c.feature_id).where(c.feature_id > last))
    return {row[0]: row[1] for row in rows}


# Far more terms than a vocabulary has, and with those of its deltas still a number of 64 bits.
_MOST_TERMS = 1 << 62
_TERM_ROWS = "SELECT term, feature_id, document_count, total_count FROM feature"


def most_frequent(
    connection: Connection, scheme_id: int, size: int | None
) -> list[tuple[bytes, int, int, int]]:
    """Return every term that could be among the ``size`` most frequent, in no order.

    Args:
        connection: A snapshot; deltas that are not merged are counted.
        scheme_id: The scheme.
        size: How many terms the caller will rank; None: all.

    Returns:
        (term, number, document count, total count), counts above zero; the number is 0 where the
        term has none yet.
    """
    c = tables.feature.c
    pending = unmerged(connection, scheme_id)
    ids, document_changes, total_changes = pending.numbered
    statement = sql.select(c.term, c.feature_id, c.document_count, c.total_count).where(
        c.scheme_id == scheme_id, c.total_count > 0
    )
    if size is not None:
        # A term that no delta names and that is below the first size + n of the merged counts
        # stays below size of them, whatever becomes of the n terms that deltas name.
        least = (
            sql.select(c.total_count)
            .where(c.scheme_id == scheme_id)
            .order_by(c.total_count.desc())
            .limit(1)
            .offset(min(size, _MOST_TERMS) + len(pending) - 1)
            .scalar_subquery()
        )
        statement = statement.where(c.total_count >= sql.func.coalesce(least, sql.literal(1)))
    found: dict[int, tuple[Any, ...]] = {
        row[1]: tuple(row) for row in connection.execute(statement)
    }
    rows_of_ids = f"{_TERM_ROWS} WHERE feature_id IN ({{}})"
    missing = [number for number in ids.tolist() if number not in found]
    found.update((row[1], row) for row in select_in(connection, rows_of_ids, missing))
    for number, documents, total in zip(
        ids.tolist(), document_changes.tolist(), total_changes.tolist(), strict=True
    ):
        if number in found:
            term, _, held_documents, held_total = found[number]
            found[number] = (term, number, held_documents + documents, held_total + total)
    rows_of = {row[0]: row for row in found.values()}
    named = _rows_of_terms(connection, scheme_id, [t for t in pending.named if t not in rows_of])
    for term, (documents, total) in pending.named.items():
        held = rows_of.get(term) or named.get(term) or (term, 0, 0, 0)
        rows_of[term] = (term, held[1], held[2] + documents, held[3] + total)
    return [cast(tuple[bytes, int, int, int], row) for row in rows_of.values() if row[3] > 0]


def _rows_of_terms(
    connection: Connection, scheme_id: int, terms: Sequence[bytes]
) -> dict[bytes, tuple[bytes, int, int, int]]:
    """Return (term, number, document count, total count) of terms, merged counts only."""
    statement = f"{_TERM_ROWS} WHERE scheme_id = ? AND term IN ({{}})"
    return {row[0]: tuple(row) for row in select_in(connection, statement, terms, scheme_id)}


def pending_documents(connection: Connection, scheme_id: int) -> dict[int | bytes, int]:
    """Return by how many documents the counts of features change by deltas that are not merged.

    Returns:
        The number of a feature, or its term where the delta names that, to the change.
    """
    pending = unmerged(connection, scheme_id)
    ids, changes, _ = pending.numbered
    found: dict[int | bytes, int] = {
        term: documents for term, (documents, _) in pending.named.items()
    }
    found.update(zip(ids.tolist(), changes.tolist(), strict=True))
    return found


def document_counts(
    connection: Connection,
    scheme_id: int,
    terms: Sequence[bytes],
    pending: Mapping[int | bytes, int],
) -> NDArray[np.int64]:
    """Return how many documents each term occurs in, 0 for unknown ones, shape (terms,).

    Args:
        connection: A snapshot.
        scheme_id: The scheme.
        terms: The terms.
        pending: What :func:`pending_documents` returns in the same snapshot.
    """
    merged = _rows_of_terms(connection, scheme_id, terms)
    found = {term: row[2] + pending.get(row[1], 0) for term, row in merged.items()}
    return np.array([found.get(term, 0) + pending.get(term, 0) for term in terms], np.int64)


def terms_of(connection: Connection, feature_ids: Sequence[int]) -> dict[int, bytes]:
    """Return the terms of features."""
    statement = "SELECT feature_id, term FROM feature WHERE feature_id IN ({})"
    return dict(select_in(connection, statement, feature_ids))


def known_term_count(connection: Connection, scheme_id: int) -> int:
    """Return the number of terms that the vocabulary has ever held."""
    merged = count_rows(connection, tables.feature, tables.feature.c.scheme_id == scheme_id)
    named = list(unmerged(connection, scheme_id).named)
    return merged + len(named) - len(feature_ids(connection, scheme_id, named))


def largest_feature_id(connection: Connection, scheme_id: int) -> int:
    """Return the largest feature number, 0 where there is none."""
    return largest(connection, tables.feature.c.feature_id, tables.feature.c.scheme_id == scheme_id)


def counts_of_terms(
    connection: Connection, scheme_id: int
) -> Iterator[tuple[int, bytes, int, int]]:
    """Yield (number, term, document count, total count) of all terms, merged counts only."""
    c = tables.feature.c
    for row in connection.execute(
        sql.select(c.feature_id, c.term, c.document_count, c.total_count)
        .where(c.scheme_id == scheme_id)
        .order_by(c.feature_id)
    ):
        yield row[0], row[1], row[2], row[3]


def put_ranks(
    connection: Connection, generation_id: int, ranked: Sequence[tuple[int, int]]
) -> None:
    """Store the ranks of a generation: (feature number, total count) in rank order."""
    rows = [(generation_id, rank, *row) for rank, row in enumerate(ranked)]
    columns = ("generation_id", "rank", "feature_id", "total_count")
    insert_rows(connection, tables.generation_rank, columns, rows)


def ranks(connection: Connection, generation_id: int) -> list[tuple[int, int]]:
    """Return the ranks of a generation: (feature number, total count) in rank order."""
    r = tables.generation_rank.c
    rows = connection.execute(
        sql.select(r.feature_id, r.total_count)
        .where(r.generation_id == generation_id)
        .order_by(r.rank)
    )
    return [(row[0], row[1]) for row in rows]


def ranked_terms(connection: Connection, generation_id: int) -> list[bytes]:
    """Return the terms of a generation in rank order."""
    r, c = tables.generation_rank.c, tables.feature.c
    statement = (
        sql.select(c.term)
        .join(tables.generation_rank, r.feature_id == c.feature_id)
        .where(r.generation_id == generation_id)
        .order_by(r.rank)
    )
    return list(connection.execute(statement).scalars())


def drop_scheme(connection: Connection, scheme_id: int) -> None:
    """Delete the vocabulary of a scheme: terms, deltas and the documents' feature counts."""
    for table in (tables.vocabulary_delta, tables.document_features, tables.feature):
        connection.execute(sql.delete(table).where(table.c.scheme_id == scheme_id))


def drop_unused(connection: Connection, scheme_id: int) -> int:
    """Forget terms that no document has, of a vocabulary whose changes are merged; return how many.

    For stores that name terms by themselves: where documents keep their counts by numbers, other
    processes remember the numbers of terms.
    """
    c = tables.feature.c
    unused = (c.scheme_id == scheme_id, c.document_count == 0, c.total_count == 0)
    return connection.execute(sql.delete(tables.feature).where(*unused)).rowcount


def put_features(
    connection: Connection,
    scheme_id: int,
    packed: Sequence[tuple[int, bytes]],
    *,
    replacing: Sequence[int] = (),
) -> None:
    """Store packed feature counts of documents: (document, counts).

    Args:
        connection: A writer.
        scheme_id: The scheme that counted.
        packed: Documents and their counts.
        replacing: Those of the documents that have some already.
    """
    drop_features(connection, scheme_id, replacing)
    insert_rows(
        connection,
        tables.document_features,
        ("scheme_id", "document_id", "features"),
        [(scheme_id, *row) for row in packed],
    )


def packed_features_of(
    connection: Connection, scheme_id: int, document_ids: Sequence[int]
) -> dict[int, bytes]:
    """Return the stored feature counts of documents that have some, packed."""
    statement = (
        "SELECT document_id, features FROM document_features "
        "WHERE scheme_id = ? AND document_id IN ({})"
    )
    return dict(select_in(connection, statement, document_ids, scheme_id))


def features_of(
    connection: Connection, scheme_id: int, document_ids: Sequence[int]
) -> dict[int, FeatureRow]:
    """Return the stored feature counts of documents that have some.

    Raises:
        ValueError: Some are damaged.
    """
    packed = packed_features_of(connection, scheme_id, document_ids)
    return {number: codecs.unpack_features(row) for number, row in packed.items()}


def last_counted_document(connection: Connection, scheme_id: int) -> int:
    """Return the largest document number with feature counts of a scheme, or 0."""
    c = tables.document_features.c
    return largest(connection, c.document_id, c.scheme_id == scheme_id)


def drop_features(connection: Connection, scheme_id: int, document_ids: Sequence[int]) -> None:
    """Delete the stored feature counts of documents."""
    c = tables.document_features.c
    delete_in(connection, c.document_id, document_ids, c.scheme_id == scheme_id)


# Features a row: some 100 kB packed.
_FEATURES = 1 << 16
# Feature numbers begin at 1; under this one stands the number of documents.
DOCUMENTS = 0

Frequencies = tuple[NDArray[np.int64], NDArray[np.int64]]


def present_frequencies(connection: Connection, scheme_id: int) -> Frequencies:
    """Return how many documents have each feature of the vocabulary at present.

    Returns:
        Ascending feature numbers and document counts above zero, each int64 of one shape; the
        first number is :data:`DOCUMENTS`, with the number of all documents.
    """
    c = tables.feature.c
    rows = connection.execute(
        sql.select(c.feature_id, c.document_count).where(c.scheme_id == scheme_id)
    ).all()
    merged = np.array([tuple(row) for row in rows], np.int64).reshape(-1, 2)
    ids, changes, _ = unmerged(connection, scheme_id).numbered
    numbers, places = np.unique(np.concatenate((merged[:, 0], ids)), return_inverse=True)
    counts = np.zeros(len(numbers), np.int64)
    np.add.at(counts, places, np.concatenate((merged[:, 1], changes)))
    held = counts > 0
    return (
        np.concatenate(([DOCUMENTS], numbers[held])),
        np.concatenate(([count_documents(connection)], counts[held])),
    )


def put_frequencies(connection: Connection, generation_id: int, frequencies: Frequencies) -> None:
    """Store the frequencies of a generation; see :func:`present_frequencies`."""
    numbers, counts = frequencies
    rows = []
    for part, start in enumerate(range(0, len(numbers), _FEATURES)):
        of_part = slice(start, start + _FEATURES)
        packed = codecs.pack_features(numbers[of_part], counts[of_part])
        rows.append((generation_id, part, packed))
    columns = ("generation_id", "part", "frequencies")
    insert_rows(connection, tables.generation_frequency, columns, rows)


def frequencies_of(connection: Connection, generation_id: int) -> Frequencies:
    """Return the frequencies of a generation; see :func:`present_frequencies`.

    Raises:
        ValueError: They are missing or damaged.
    """
    c = tables.generation_frequency.c
    rows = connection.execute(
        sql.select(c.frequencies).where(c.generation_id == generation_id).order_by(c.part)
    ).scalars()
    parts = [codecs.unpack_features(packed) for packed in rows]
    if not parts or not len(parts[0][0]) or parts[0][0][0] != DOCUMENTS:
        raise ValueError("missing")
    return np.concatenate([n for n, _ in parts]), np.concatenate([c for _, c in parts])
