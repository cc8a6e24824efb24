"""Counts summed term by term, of many changes of a vocabulary."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import count, pairwise

import numpy as np
from numpy.typing import NDArray

from simstore import compiled
from simstore.fingerprint.kernels import NUMBER_TERMS
from simstore.fingerprint.packed_terms import packed

# Entries that are held before they are summed.
_HELD = 1_000_000
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
        self.add_packed((*packed(terms), document_counts, totals))

    def add_packed(self, counts: NamedCounts) -> None:
        """Add the counts of terms that are packed."""
        self._held.append(counts)
        self._entries += len(counts[2])
        if self._entries > _HELD:
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
