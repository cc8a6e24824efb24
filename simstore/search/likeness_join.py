"""An exact join by likeness: all pairs of documents whose likeness reaches a threshold.

The terms of each document stand in one order, rare ones in front. Its *prefix* ends where what is
left of its vector is shorter than a share of the threshold. Two documents whose prefixes share no
term share only terms behind the prefix of the one whose prefix ends earlier in that order; their
cosine is then at most the length of what is left of it. So only pairs that share a term of both
prefixes can be alike. Of those, only the ones are compared for which the terms shared there and the
longer of the two rests could make up the threshold.

References:
    Bayardo, Ma, Srikant: Scaling up all pairs similarity search, WWW 2007, section 4.
    Anastasiu, Karypis: L2AP: Fast cosine similarity search with prefix L-2 norm bounds, ICDE 2014,
    section 3.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simstore.errors import InvalidParameter
from simstore.search.likeness import TermVectors, likenesses

# Meetings in the index that are held at a time.
_BLOCK = 1 << 20
# A sum of squares is rounded; a bound that it gives is taken this much lower.
_SLACK = 1e-9
# What is left behind a prefix is shorter than this share of the threshold. The longer the
# prefixes, the more documents meet, and the fewer of them are compared.
_REST = 0.5


@dataclass(frozen=True, slots=True)
class AlikePairs:
    """Pairs of documents and their likeness.

    Attributes:
        first: Row of the first document, int64, shape (pairs,).
        second: Row of the second, larger; pairs ascend by (first, second).
        likeness: Cosine of their vectors, float64, shape (pairs,).
        candidate_count: Pairs that were compared.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    likeness: NDArray[np.float64]
    candidate_count: int

    def __len__(self) -> int:
        return len(self.first)


def alike_pairs(vectors: TermVectors, threshold: float) -> AlikePairs:
    """Return every pair of documents whose likeness is at least the threshold.

    A document without terms is like nothing.

    Args:
        vectors: The documents.
        threshold: Least likeness, above 0, at most 1, inclusive.

    Raises:
        InvalidParameter: The threshold is out of its range.
    """
    if not 0 < threshold <= 1:
        raise InvalidParameter(f"likeness {threshold}: it must be above 0 and at most 1")
    none = np.empty(0, np.int64)
    found = [(none, none, np.empty(0, np.float64))]
    compared = 0
    for earlier, later in _candidates(vectors, threshold):
        compared += len(earlier)
        shares = likenesses(vectors, earlier, later)
        kept = shares >= threshold
        found.append((earlier[kept], later[kept], shares[kept]))
    first, second, shares = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.lexsort((second, first))
    return AlikePairs(first[order], second[order], shares[order], compared)


def _candidates(
    vectors: TermVectors, threshold: float
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield pairs of rows, the earlier and the later, that may be alike.

    Each pair comes once: all meetings of a later row are in one block.
    """
    count = len(vectors.offsets) - 1
    rows, columns, weights, rests = _prefixes(vectors, threshold)
    # Entries of one term stand together, ascending by row: those before an entry meet it.
    by_term = np.lexsort((rows, columns))
    postings, posting_weights = rows[by_term], weights[by_term]
    heads = np.flatnonzero(np.diff(columns[by_term], prepend=-1))
    heads = np.repeat(heads, np.diff(np.append(heads, len(by_term))))
    by_row = np.argsort(postings, kind="stable")
    probes, starts = postings[by_row], heads[by_row]
    lengths = by_row - starts
    row_ends = np.searchsorted(probes, np.arange(count), "right")
    met = np.concatenate(([0], np.cumsum(lengths)))
    row = 0
    while row < count:
        begin = int(row_ends[row - 1]) if row else 0
        row = max(int(np.searchsorted(met[row_ends], met[begin] + _BLOCK, "right")), row + 1)
        part = slice(begin, int(row_ends[row - 1]))
        if met[part.stop] == met[begin]:
            continue
        ends = np.cumsum(lengths[part])
        places = np.arange(int(ends[-1])) + np.repeat(
            starts[part] - (ends - lengths[part]), lengths[part]
        )
        pairs = np.repeat(probes[part], lengths[part]) * count + postings[places]
        shares = np.repeat(posting_weights[by_row[part]], lengths[part]) * posting_weights[places]
        order = np.argsort(pairs)
        firsts = np.flatnonzero(np.diff(pairs[order], prepend=-1))
        shared = np.add.reduceat(shares[order], firsts)
        pairs = pairs[order[firsts]]
        earlier, later = pairs % count, pairs // count
        kept = shared + np.maximum(rests[earlier], rests[later]) >= threshold - _SLACK
        yield earlier[kept], later[kept]


def _prefixes(
    vectors: TermVectors, threshold: float
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return row, column and weight of each entry of the prefixes, and the rest of each row.

    The rest is the length of what is left of a row's vector behind its prefix.
    """
    count = len(vectors.offsets) - 1
    rows = np.repeat(np.arange(count), np.diff(vectors.offsets))
    spread = np.bincount(vectors.columns, minlength=vectors.width)
    # The rarest term has rank 0; where two are equally rare, any order serves that is one order.
    ranks = np.empty(vectors.width, np.int64)
    ranks[np.argsort(spread, kind="stable")] = np.arange(vectors.width)
    order = np.lexsort((ranks[vectors.columns], rows))
    columns, weights = vectors.columns[order], vectors.weights[order]
    # What is left of a row from an entry on: the row's sum without all that stands before it.
    before = np.concatenate(([0.0], np.cumsum(weights**2)))
    left = before[vectors.offsets[1:]][rows] - before[:-1]
    inside = left >= (_REST * threshold) ** 2 - _SLACK
    rests = np.zeros(count, np.float64)
    behind = np.flatnonzero(~inside)
    np.maximum.at(rests, rows[behind], left[behind])
    # A term that occurs in one document only meets nothing.
    kept = np.flatnonzero(inside & (weights > 0) & (spread[columns] > 1))
    return rows[kept], columns[kept], weights[kept], np.sqrt(np.maximum(rests, 0) + _SLACK)
