"""The feature vocabulary: terms, counts kept by deltas, feature counts of documents, ranks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, bindparam, delete, func, insert, literal, select, update

from simstore.storage import codecs
from simstore.storage.documents import chunks
from simstore.storage.schema import document_features, feature, generation_rank, vocabulary_delta

_MANY_DELTAS = 64

FeatureRow = tuple[NDArray[np.int64], NDArray[np.int64]]


def feature_ids(connection: Connection, scheme_id: int, terms: Sequence[bytes]) -> dict[bytes, int]:
    """Return the numbers of the terms that the vocabulary knows."""
    c = feature.c
    found: dict[bytes, int] = {}
    for part in chunks(terms):
        rows = connection.execute(
            select(c.term, c.feature_id).where(c.scheme_id == scheme_id, c.term.in_(part))
        )
        found.update((term, number) for term, number in rows)
    return found


def add_terms(connection: Connection, scheme_id: int, terms: Sequence[bytes]) -> dict[bytes, int]:
    """Add terms that the vocabulary does not know; return their numbers."""
    if not terms:
        return {}
    c = feature.c
    largest = connection.execute(select(func.max(c.feature_id))).scalar_one() or 0
    connection.execute(
        insert(feature),
        [
            {"scheme_id": scheme_id, "term": term, "document_count": 0, "total_count": 0}
            for term in terms
        ],
    )
    # Writers take turns: what is above the largest number of before is ours.
    rows = connection.execute(select(c.term, c.feature_id).where(c.feature_id > largest))
    return {row[0]: row[1] for row in rows}


def add_delta(
    connection: Connection,
    scheme_id: int,
    ids: NDArray[np.int64],
    document_counts: NDArray[np.int64],
    total_counts: NDArray[np.int64],
) -> None:
    """Append a change of counts; it is merged later."""
    changed = (document_counts != 0) | (total_counts != 0)
    if changed.any():
        packed = codecs.pack_delta(ids[changed], document_counts[changed], total_counts[changed])
        connection.execute(insert(vocabulary_delta), {"scheme_id": scheme_id, "delta": packed})


def delta_count(connection: Connection, scheme_id: int) -> int:
    """Return how many deltas are not merged."""
    c = vocabulary_delta.c
    statement = select(func.count()).select_from(vocabulary_delta).where(c.scheme_id == scheme_id)
    return connection.execute(statement).scalar_one()


def unmerged(connection: Connection, scheme_id: int) -> NDArray[np.int64]:
    """Return the sum of the deltas: feature numbers, document and total counts, shape (3, n)."""
    c = vocabulary_delta.c
    rows = connection.execute(select(c.delta).where(c.scheme_id == scheme_id)).scalars()
    total = np.empty((3, 0), np.int64)
    pending: list[NDArray[np.int64]] = []
    size = 0
    for packed in rows:
        pending.append(codecs.unpack_delta(packed))
        size += pending[-1].shape[1]
        if size > 4_000_000:
            total, pending, size = _sum_deltas([total, *pending]), [], 0
    return _sum_deltas([total, *pending])


def _sum_deltas(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    joined = np.concatenate(parts, axis=1)
    ids, inverse = np.unique(joined[0], return_inverse=True)
    sums = np.zeros((3, len(ids)), np.int64)
    sums[0] = ids
    np.add.at(sums[1], inverse, joined[1])
    np.add.at(sums[2], inverse, joined[2])
    return sums


def merge_deltas(connection: Connection, scheme_id: int) -> None:
    """Add the deltas to the counts of the terms, and drop them."""
    ids, document_counts, total_counts = unmerged(connection, scheme_id)
    if len(ids):
        c = feature.c
        connection.execute(
            update(feature)
            .where(c.feature_id == bindparam("_id"))
            .values(
                document_count=c.document_count + bindparam("_documents"),
                total_count=c.total_count + bindparam("_total"),
            ),
            [
                {"_id": number, "_documents": documents, "_total": total}
                for number, documents, total in zip(
                    ids.tolist(), document_counts.tolist(), total_counts.tolist(), strict=True
                )
            ],
        )
    connection.execute(delete(vocabulary_delta).where(vocabulary_delta.c.scheme_id == scheme_id))


def merge_many_deltas(connection: Connection, scheme_id: int) -> None:
    """Merge the deltas where so many have gathered that readers would feel it."""
    if delta_count(connection, scheme_id) >= _MANY_DELTAS:
        merge_deltas(connection, scheme_id)


def most_frequent(
    connection: Connection, scheme_id: int, size: int | None
) -> list[tuple[bytes, int, int, int]]:
    """Return every term that could be among the ``size`` most frequent, in no order.

    Args:
        connection: A snapshot; deltas that are not merged are counted.
        scheme_id: The scheme.
        size: How many terms the caller will rank; None: all.

    Returns:
        (term, number, document count, total count), counts above zero.
    """
    c = feature.c
    ids, document_changes, total_changes = unmerged(connection, scheme_id)
    statement = select(c.term, c.feature_id, c.document_count, c.total_count).where(
        c.scheme_id == scheme_id, c.total_count > 0
    )
    if size is not None:
        # A term that no delta names and that is below the first size + n of the merged counts
        # stays below size of them, whatever becomes of the n terms that deltas name.
        least = (
            select(c.total_count)
            .where(c.scheme_id == scheme_id)
            .order_by(c.total_count.desc())
            .limit(1)
            .offset(size + len(ids) - 1)
            .scalar_subquery()
        )
        statement = statement.where(c.total_count >= func.coalesce(least, literal(1)))
    found = {row[1]: (row[0], row[1], row[2], row[3]) for row in connection.execute(statement)}
    for part in chunks([number for number in ids.tolist() if number not in found]):
        rows = connection.execute(
            select(c.term, c.feature_id, c.document_count, c.total_count).where(
                c.feature_id.in_(part)
            )
        )
        found.update((row[1], (row[0], row[1], row[2], row[3])) for row in rows)
    for number, documents, total in zip(
        ids.tolist(), document_changes.tolist(), total_changes.tolist(), strict=True
    ):
        if number in found:
            term, _, held_documents, held_total = found[number]
            found[number] = (term, number, held_documents + documents, held_total + total)
    return [row for row in found.values() if row[3] > 0]


def pending_documents(connection: Connection, scheme_id: int) -> dict[int, int]:
    """Return by how many documents each feature's count changes by deltas that are not merged."""
    ids, changes, _ = unmerged(connection, scheme_id)
    return dict(zip(ids.tolist(), changes.tolist(), strict=True))


def document_counts(
    connection: Connection,
    scheme_id: int,
    terms: Sequence[bytes],
    pending: Mapping[int, int],
) -> NDArray[np.int64]:
    """Return how many documents each term occurs in, 0 for unknown ones, shape (terms,).

    Args:
        connection: A snapshot.
        scheme_id: The scheme.
        terms: The terms.
        pending: What :func:`pending_documents` returns in the same snapshot.
    """
    c = feature.c
    found: dict[bytes, int] = {}
    for part in chunks(terms):
        rows = connection.execute(
            select(c.term, c.feature_id, c.document_count).where(
                c.scheme_id == scheme_id, c.term.in_(part)
            )
        )
        found.update((term, merged + pending.get(number, 0)) for term, number, merged in rows)
    return np.array([found.get(term, 0) for term in terms], np.int64)


def terms_of(connection: Connection, feature_ids: Sequence[int]) -> dict[int, bytes]:
    """Return the terms of features."""
    c = feature.c
    found: dict[int, bytes] = {}
    for part in chunks(feature_ids):
        rows = connection.execute(select(c.feature_id, c.term).where(c.feature_id.in_(part)))
        found.update((number, term) for number, term in rows)
    return found


def known_term_count(connection: Connection, scheme_id: int) -> int:
    """Return the number of terms that the vocabulary has ever held."""
    statement = select(func.count()).select_from(feature).where(feature.c.scheme_id == scheme_id)
    return connection.execute(statement).scalar_one()


def largest_feature_id(connection: Connection, scheme_id: int) -> int:
    """Return the largest feature number, 0 where there is none."""
    statement = select(func.max(feature.c.feature_id)).where(feature.c.scheme_id == scheme_id)
    return connection.execute(statement).scalar_one() or 0


def counts_of_terms(
    connection: Connection, scheme_id: int
) -> Iterator[tuple[int, bytes, int, int]]:
    """Yield (number, term, document count, total count) of all terms, merged counts only."""
    c = feature.c
    for row in connection.execute(
        select(c.feature_id, c.term, c.document_count, c.total_count)
        .where(c.scheme_id == scheme_id)
        .order_by(c.feature_id)
    ):
        yield row[0], row[1], row[2], row[3]


def put_ranks(
    connection: Connection, generation_id: int, ranked: Sequence[tuple[int, int]]
) -> None:
    """Store the ranks of a generation: (feature number, total count) in rank order."""
    if ranked:
        connection.execute(
            insert(generation_rank),
            [
                {
                    "generation_id": generation_id,
                    "rank": rank,
                    "feature_id": n,
                    "total_count": total,
                }
                for rank, (n, total) in enumerate(ranked)
            ],
        )


def ranks(connection: Connection, generation_id: int) -> list[tuple[int, int]]:
    """Return the ranks of a generation: (feature number, total count) in rank order."""
    r = generation_rank.c
    rows = connection.execute(
        select(r.feature_id, r.total_count).where(r.generation_id == generation_id).order_by(r.rank)
    )
    return [(row[0], row[1]) for row in rows]


def ranked_terms(connection: Connection, generation_id: int) -> list[bytes]:
    """Return the terms of a generation in rank order."""
    r, c = generation_rank.c, feature.c
    statement = (
        select(c.term)
        .join(generation_rank, r.feature_id == c.feature_id)
        .where(r.generation_id == generation_id)
        .order_by(r.rank)
    )
    return list(connection.execute(statement).scalars())


def drop_scheme(connection: Connection, scheme_id: int) -> None:
    """Delete the vocabulary of a scheme: terms, deltas and the documents' feature counts."""
    for table in (vocabulary_delta, document_features, feature):
        connection.execute(delete(table).where(table.c.scheme_id == scheme_id))


def put_features(connection: Connection, scheme_id: int, packed: Mapping[int, bytes]) -> None:
    """Store packed feature counts of documents, replacing those of the same documents."""
    drop_features(connection, scheme_id, list(packed))
    if packed:
        rows: list[dict[str, Any]] = [
            {"document_id": number, "scheme_id": scheme_id, "features": features}
            for number, features in packed.items()
        ]
        connection.execute(insert(document_features), rows)


def packed_features_of(
    connection: Connection, scheme_id: int, document_ids: Sequence[int]
) -> dict[int, bytes]:
    """Return the stored feature counts of documents that have some, packed."""
    c = document_features.c
    found: dict[int, bytes] = {}
    for part in chunks(document_ids):
        rows = connection.execute(
            select(c.document_id, c.features).where(
                c.scheme_id == scheme_id, c.document_id.in_(part)
            )
        )
        found.update((number, packed) for number, packed in rows)
    return found


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
    c = document_features.c
    statement = select(func.max(c.document_id)).where(c.scheme_id == scheme_id)
    return connection.execute(statement).scalar_one() or 0


def drop_features(connection: Connection, scheme_id: int, document_ids: Sequence[int]) -> None:
    """Delete the stored feature counts of documents."""
    c = document_features.c
    for part in chunks(document_ids):
        connection.execute(
            delete(document_features).where(c.scheme_id == scheme_id, c.document_id.in_(part))
        )
