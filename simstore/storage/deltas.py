"""Append vocabulary changes batch by batch, and merge them when many have gathered.

Where documents keep their feature counts, features have numbers and a change names these. Where
they are counted again from the text, nothing needs the number of a feature, and a change names the
terms themselves: a batch is stored without a look at the table of terms.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count, pairwise

import numpy as np
from numpy.typing import NDArray

from simstore import compiled
from simstore.errors import CorruptStore
from simstore.fingerprint import packed_terms
from simstore.fingerprint.kernels import NUMBER_TERMS
from simstore.storage import codecs, sql, tables
from simstore.storage.connection import Connection
from simstore.storage.damage import corrupt
from simstore.storage.rows import execute, fetch, insert_rows, integers

# So many changes are looked at together. Long ones are merged into the table of terms; small ones
# would rewrite the same rows of it again and again: they are made one change, until much of that
# has gathered.
TOGETHER = 64
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
    insert_rows(connection, tables.vocabulary_delta, ("scheme_id", "delta"), [(scheme_id, packed)])


def add_summed(connection: Connection, scheme_id: int, changes: Sequence[bytes]) -> None:
    """Append the sum of changes by terms, each packed, as one."""
    if len(changes) > 1:
        changes = [codecs.pack_named_delta(*_summed([codecs.unpack_named_deltas(changes)]))]
    for packed in changes:
        add_packed(connection, scheme_id, packed)


def unmerged(connection: Connection, scheme_id: int) -> Pending:
    """Return the sum of the changes that are not merged.

    Raises:
        CorruptStore: One is damaged.
    """
    try:
        return _unmerged(connection, scheme_id)
    except ValueError as error:
        raise _damaged(connection, error) from error


def _damaged(connection: Connection, error: ValueError) -> CorruptStore:
    return corrupt(connection, f"a delta of the vocabulary is damaged ({error})")


def _unmerged(connection: Connection, scheme_id: int) -> Pending:
    c = tables.vocabulary_delta.c
    rows = connection.execute(sql.select(c.delta).where(c.scheme_id == scheme_id)).scalars()
    numbered = np.empty((3, 0), np.int64)
    pending: list[NDArray[np.int64]] = []
    held = 0
    named = TermSums()
    for packed in rows:
        if codecs.names_terms(packed):
            named.add_packed(codecs.unpack_named_deltas([packed]))
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
        c = tables.feature.c
        connection.execute(
            sql.update(tables.feature)
            .where(c.feature_id == sql.bindparam("_id"))
            .values(
                document_count=c.document_count + sql.bindparam("_documents"),
                total_count=c.total_count + sql.bindparam("_total"),
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
        tables.feature,
        ("scheme_id", "term", "document_count", "total_count"),
        [(scheme_id, term, *pending.named[term]) for term in sorted(pending.named)],
        _ADD,
    )
    connection.execute(
        sql.delete(tables.vocabulary_delta).where(tables.vocabulary_delta.c.scheme_id == scheme_id)
    )


def gather(connection: Connection, scheme_id: int) -> None:
    """Merge all pending changes by term into one, and drop terms whose counts add up to 0."""
    numbers = fetch(
        connection,
        "SELECT delta_id FROM vocabulary_delta WHERE scheme_id = ? ORDER BY delta_id",
        scheme_id,
    )
    if len(numbers) < 2:
        return
    counts = unmerged(connection, scheme_id).named
    terms = sorted(counts)
    sums = TermSums()
    sums.add(
        terms,
        np.array([counts[term][0] for term in terms], np.int64),
        np.array([counts[term][1] for term in terms], np.int64),
    )
    *others, (last,) = numbers
    execute(
        connection,
        "UPDATE vocabulary_delta SET delta = ? WHERE delta_id = ?",
        codecs.pack_named_delta(*sums.packed()),
        last,
    )
    gone = integers([number for (number,) in others])
    execute(connection, f"DELETE FROM vocabulary_delta WHERE delta_id IN ({gone})")  # noqa: S608 - integers


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
    if gathered // TOGETHER == max(gathered - appended, 0) // TOGETHER:
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
        _make_one(connection, scheme_id, max(first, last - TOGETHER - appended))


def _make_one(connection: Connection, scheme_id: int, after: int) -> None:
    """Make one of the small changes above a number that name terms, under that of the last."""
    rows = fetch(
        connection,
        "SELECT delta_id, delta FROM vocabulary_delta WHERE scheme_id = ? AND delta_id > ? "
        "AND length(delta) < ? ORDER BY delta_id",
        scheme_id,
        after,
        _LONG_BYTES // TOGETHER,
    )
    named = [(number, packed) for number, packed in rows if codecs.names_terms(packed)]
    if len(named) < 2:
        return
    try:
        sums = _summed([codecs.unpack_named_deltas([packed for _, packed in named])])
    except ValueError as error:
        raise _damaged(connection, error) from error
    *others, last = (number for number, _ in named)
    execute(
        connection,
        "UPDATE vocabulary_delta SET delta = ? WHERE delta_id = ?",
        codecs.pack_named_delta(*sums),
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


# Entries that are held before they are summed.
_HELD_TERMS = 1_000_000
# What an entry takes without a compiler, for a guess whether it pays.
_SECONDS_AN_ENTRY = 1e-6

# Terms, one after the other; where each begins and the last ends; document counts; total counts.
NamedCounts = tuple[bytes, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


class TermSums:
    """Counts summed term by term."""

    def __init__(self) -> None:
        self._held: list[NamedCounts] = []
        self._entries = 0

    def add(
        self, terms: Sequence[bytes], document_counts: NDArray[np.int64], totals: NDArray[np.int64]
    ) -> None:
        """Add the counts of terms."""
        self.add_packed((*packed_terms.packed(terms), document_counts, totals))

    def add_packed(self, counts: NamedCounts) -> None:
        """Add the counts of terms that are packed."""
        self._held.append(counts)
        self._entries += len(counts[2])
        if self._entries > _HELD_TERMS:
            self.packed()

    def packed(self) -> NamedCounts:
        """Return the sums, each term once, zeros too."""
        if len(self._held) != 1:
            summed = _summed(self._held)
            self._held, self._entries = [summed], 0
        return self._held[0]

    def sums(self) -> dict[bytes, tuple[int, int]]:
        """Return term to document and total count, where they are not zero."""
        # What was added alone may name a term twice.
        data, ends, documents, totals = _summed(self._held)
        return {
            data[first:end]: (of_documents, total)
            for (first, end), of_documents, total in zip(
                pairwise(ends.tolist()), documents.tolist(), totals.tolist(), strict=True
            )
            if of_documents or total
        }


def _summed(held: Sequence[NamedCounts]) -> NamedCounts:
    data = b"".join(counts[0] for counts in held)
    lengths = np.concatenate([np.empty(0, np.int64), *(np.diff(counts[1]) for counts in held)])
    ends = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    documents, totals = (
        np.concatenate([np.empty(0, np.int64), *(counts[part] for counts in held)])
        for part in (2, 3)
    )
    if compiled.pays(_SECONDS_AN_ENTRY * len(lengths)):
        numbers, firsts = _numbered_compiled(data, ends)
    else:
        numbers, firsts = _numbered(data, ends)
    sums = np.zeros((2, len(firsts)), np.int64)
    np.add.at(sums[0], numbers, documents)
    np.add.at(sums[1], numbers, totals)
    begins, sizes = ends[firsts], lengths[firsts]
    kept = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    places = np.arange(kept[-1]) + np.repeat(begins - kept[:-1], sizes)
    return np.frombuffer(data, np.uint8)[places].tobytes(), kept, sums[0], sums[1]


def _numbered(data: bytes, ends: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number the distinct terms; return the number of each entry and each number's first entry."""
    number_of: defaultdict[bytes, int] = defaultdict(count().__next__)
    size = len(ends) - 1
    terms = (data[first:end] for first, end in pairwise(ends.tolist()))
    numbers = np.fromiter(map(number_of.__getitem__, terms), np.int64, size)
    firsts = np.full(len(number_of), size, np.int64)
    np.minimum.at(firsts, numbers, np.arange(size))
    return numbers, firsts


def _numbered_compiled(
    data: bytes, ends: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Do what :func:`_numbered` does."""
    size = len(ends) - 1
    table = np.zeros(1 << (2 * size).bit_length(), np.int64)
    hashes, firsts = np.empty(size, np.uint64), np.empty(size, np.int64)
    numbers = np.empty(size, np.int64)
    found = NUMBER_TERMS(
        np.frombuffer(bytearray(data), np.uint8), ends, table, hashes, firsts, numbers
    )
    return numbers, firsts[:found]
