"""Changes of the vocabulary that are appended batch by batch, and merged when many have gathered.

Where documents keep their feature counts, features have numbers and a change names these. Where
they are counted again from the text, nothing needs the number of a feature, and a change names the
terms themselves: a batch is stored without a look at the table of terms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, bindparam, delete, select, update

from simstore.storage import codecs
from simstore.storage.damage import corrupt
from simstore.storage.documents import integers
from simstore.storage.rows import execute, fetch, insert_rows
from simstore.storage.tables import feature, vocabulary_delta
from simstore.storage.term_sums import TermSums

# So many changes are looked at together. Long ones are merged into the table of terms; small ones
# would rewrite the same rows of it again and again: they are made one change, until much of that
# has gathered.
_TOGETHER = 64
_LONG_BYTES = 2 << 20
_VERY_MANY = 8_192
# Entries that are held before they are summed.
_HELD = 4_000_000

_ADD = (
    "ON CONFLICT (scheme_id, term) DO UPDATE SET "
    "document_count = feature.document_count + excluded.document_count, "
    "total_count = feature.total_count + excluded.total_count"
)


@dataclass(frozen=True, slots=True)
class Pending:
    """The sum of the changes that are not merged.

    Attributes:
        numbered: Feature numbers, ascending, document and total counts; int64, shape (3, n).
        named: Term to document and total count.
    """

    numbered: NDArray[np.int64]
    named: Mapping[bytes, tuple[int, int]]

    def __len__(self) -> int:
        return len(self.numbered[0]) + len(self.named)


def add_numbered(
    connection: Connection,
    scheme_id: int,
    ids: NDArray[np.int64],
    document_counts: NDArray[np.int64],
    total_counts: NDArray[np.int64],
) -> None:
    """Append a change of the counts of numbered features."""
    changed = (document_counts != 0) | (total_counts != 0)
    if changed.any():
        add_packed(
            connection,
            scheme_id,
            codecs.pack_delta(ids[changed], document_counts[changed], total_counts[changed]),
        )


def add_packed(connection: Connection, scheme_id: int, packed: bytes) -> None:
    """Append a change that is packed."""
    insert_rows(connection, vocabulary_delta, ("scheme_id", "delta"), [(scheme_id, packed)])


def unmerged(connection: Connection, scheme_id: int) -> Pending:
    """Return the sum of the changes that are not merged.

    Raises:
        CorruptStore: One is damaged.
    """
    try:
        return _unmerged(connection, scheme_id)
    except ValueError as error:
        raise corrupt(connection, f"a delta of the vocabulary is damaged ({error})") from error


def _unmerged(connection: Connection, scheme_id: int) -> Pending:
    c = vocabulary_delta.c
    rows = connection.execute(select(c.delta).where(c.scheme_id == scheme_id)).scalars()
    numbered = np.empty((3, 0), np.int64)
    pending: list[NDArray[np.int64]] = []
    held = 0
    named = TermSums()
    for packed in rows:
        if codecs.names_terms(packed):
            named.add_packed(codecs.unpack_named_counts(packed))
            continue
        pending.append(codecs.unpack_delta(packed))
        held += pending[-1].shape[1]
        if held > _HELD:
            numbered, pending, held = _sum_numbered([numbered, *pending]), [], 0
    return Pending(_sum_numbered([numbered, *pending]), named.sums())


def merge(connection: Connection, scheme_id: int) -> None:
    """Add the changes to the counts of the terms, and drop them."""
    pending = unmerged(connection, scheme_id)
    ids, document_counts, total_counts = pending.numbered
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
    insert_rows(
        connection,
        feature,
        ("scheme_id", "term", "document_count", "total_count"),
        [(scheme_id, term, *pending.named[term]) for term in sorted(pending.named)],
        _ADD,
    )
    connection.execute(delete(vocabulary_delta).where(vocabulary_delta.c.scheme_id == scheme_id))


def merge_many(connection: Connection, scheme_id: int, appended: int) -> None:
    """Merge the changes where so much has gathered that readers would feel it.

    Args:
        connection: A writer.
        scheme_id: The scheme.
        appended: Changes that this transaction has appended: what gathered before them was looked
            at before.
    """
    if not appended:
        return
    ((first, last),) = fetch(
        connection,
        "SELECT (SELECT min(delta_id) FROM vocabulary_delta), "
        "(SELECT max(delta_id) FROM vocabulary_delta)",
    )
    gathered = 0 if first is None else last - first + 1
    if gathered // _TOGETHER == max(gathered - appended, 0) // _TOGETHER:
        return
    ((size,),) = fetch(
        connection,
        "SELECT sum(length(delta)) FROM vocabulary_delta WHERE scheme_id = ?",
        scheme_id,
    )
    if gathered >= _VERY_MANY or (size or 0) >= _LONG_BYTES:
        merge(connection, scheme_id)
    else:
        # The first of all changes stays: its number tells how many have gathered.
        _make_one(connection, scheme_id, max(first, last - _TOGETHER - appended))


def _make_one(connection: Connection, scheme_id: int, after: int) -> None:
    """Make one of the small changes above a number that name terms, under that of the last."""
    rows = fetch(
        connection,
        "SELECT delta_id, delta FROM vocabulary_delta WHERE scheme_id = ? AND delta_id > ? "
        "AND length(delta) < ? ORDER BY delta_id",
        scheme_id,
        after,
        _LONG_BYTES // _TOGETHER,
    )
    named = [(number, packed) for number, packed in rows if codecs.names_terms(packed)]
    if len(named) < 2:
        return
    sums = TermSums()
    for _, packed in named:
        sums.add_packed(codecs.unpack_named_counts(packed))
    *others, last = (number for number, _ in named)
    execute(
        connection,
        "UPDATE vocabulary_delta SET delta = ? WHERE delta_id = ?",
        codecs.pack_named_delta(*sums.packed()),
        last,
    )
    execute(connection, f"DELETE FROM vocabulary_delta WHERE delta_id IN ({integers(others)})")  # noqa: S608 - integers


def _sum_numbered(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    joined = np.concatenate(parts, axis=1)
    ids, inverse = np.unique(joined[0], return_inverse=True)
    sums = np.zeros((3, len(ids)), np.int64)
    sums[0] = ids
    np.add.at(sums[1], inverse, joined[1])
    np.add.at(sums[2], inverse, joined[2])
    return sums
