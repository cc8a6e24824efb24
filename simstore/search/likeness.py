"""Likeness: the tf-idf cosine of documents, and an exact join of all pairs that reach a threshold.

Boilerplate, templates and common words are alike in many documents; a version or a copy of a
document shares its rare words too. So each term weighs more the fewer documents it occurs in.

In the join the terms of each document stand in one order, rare ones in front. Its *prefix* ends
where what is left of its vector is shorter than a share of the threshold. Two documents whose
prefixes share no term share only terms behind the prefix of the one whose prefix ends earlier in
that order; their cosine is then at most the length of what is left of it. So only pairs that share
a term of both prefixes can be alike. Of those, only the ones are compared for which the terms
shared there and the longer of the two rests could make up the threshold.

References:
    Salton, Buckley: Term-weighting approaches in automatic text retrieval, Information Processing
    and Management 24, 1988 (logarithmic term frequency, inverse document frequency, cosine).
    Bayardo, Ma, Srikant: Scaling up all pairs similarity search, WWW 2007, section 4.
    Anastasiu, Karypis: L2AP: Fast cosine similarity search with prefix L-2 norm bounds, ICDE 2014,
    section 3.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simstore.search.resemblance import check_share

if TYPE_CHECKING:
    from simstore.fingerprint.features import FeatureCounts


# Chosen on the tuning part of labelled sets (docs/explanation/detection.md): versions and copies of
# one document reach both.
LEAST_LIKENESS = 0.58
LEAST_COSINE = 0.68
# Where many documents share most of their words, hardly a word is rare, and likeness says little
# of two that are nearly equal. This resemblance is enough without it (chosen as the others).
SURE_RESEMBLANCE = 0.65

_ROUNDING = 1e-9
# Entries of rows that are gathered at a time.
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class TermVectors:
    """Weighted terms of documents, each row of length 1 (compressed sparse rows).

    Attributes:
        offsets: Row d is ``offsets[d]:offsets[d + 1]``; int64, shape (documents + 1,).
        columns: Number of each term, int64, shape (entries,).
        weights: float64.
        width: Columns are below it.
    """

    offsets: NDArray[np.int64]
    columns: NDArray[np.int64]
    weights: NDArray[np.float64]
    width: int

    def take(self, rows: NDArray[np.int64]) -> TermVectors:
        """Return the vectors of some rows, in the order given."""
        lengths = np.diff(self.offsets)[rows]
        offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        places = np.arange(int(offsets[-1])) + np.repeat(self.offsets[rows] - offsets[:-1], lengths)
        return TermVectors(offsets, self.columns[places], self.weights[places], self.width)


def term_vectors(
    counts: FeatureCounts,
    document_counts: NDArray[np.int64] | None = None,
    total: int | None = None,
) -> TermVectors:
    """Weigh the terms of documents by how rare they are: (1 + ln tf) * ln((N + 1) / df).

    Args:
        counts: Terms of each document.
        document_counts: Documents of the store in which each term occurs, at least 1; None: as
            many as in ``counts``. Shape (terms,).
        total: Documents of the store, N; None: as many as in ``counts``.
    """
    width = len(counts.terms)
    if document_counts is None:
        document_counts = np.bincount(counts.columns, minlength=width)
    total = len(counts) if total is None else total
    rarity = np.log((total + 1) / np.maximum(document_counts, 1))
    return _vectors(counts, (1 + np.log(counts.counts)) * rarity[counts.columns])


def plain_vectors(counts: FeatureCounts) -> TermVectors:
    """Weigh the terms of documents by their count alone: 1 + ln tf."""
    return _vectors(counts, 1 + np.log(counts.counts))


def _vectors(counts: FeatureCounts, weights: NDArray[np.float64]) -> TermVectors:
    rows = np.repeat(np.arange(len(counts)), np.diff(counts.offsets))
    lengths = np.sqrt(np.bincount(rows, weights**2, len(counts)))
    weights /= np.maximum(lengths, np.finfo(np.float64).tiny)[rows]
    return TermVectors(counts.offsets, counts.columns, weights, len(counts.terms))


def likenesses(
    vectors: TermVectors, first: NDArray[np.int64], second: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the cosine of the weighted terms of given pairs of documents.

    Args:
        vectors: The documents.
        first: Row of one document of each pair, shape (pairs,).
        second: Row of the other.

    Returns:
        float64 in [0, 1], shape (pairs,); 0 where one has no term.
    """
    result = np.zeros(len(first), np.float64)
    if not len(first):
        return result
    sizes = np.diff(vectors.offsets)
    order = np.argsort(first, kind="stable")
    spread = np.zeros(vectors.width, np.float64)
    starts = np.flatnonzero(np.diff(first[order], prepend=-1))
    for start, end in zip(starts.tolist(), np.append(starts[1:], len(order)).tolist(), strict=True):
        own = slice(*vectors.offsets[first[order[start]] :][:2].tolist())
        spread[vectors.columns[own]] = vectors.weights[own]
        step = max(1, _BLOCK // max(int(sizes.max()), 1))
        for begin in range(start, end, step):
            part = order[begin : min(begin + step, end)]
            rows = second[part]
            lengths = sizes[rows]
            ends = np.cumsum(lengths)
            places = np.arange(int(ends[-1])) + np.repeat(
                vectors.offsets[rows] - (ends - lengths), lengths
            )
            products = spread[vectors.columns[places]] * vectors.weights[places]
            result[part] = np.bincount(
                np.repeat(np.arange(len(rows)), lengths), products, len(rows)
            )
        spread[vectors.columns[own]] = 0
    # Rows of equal terms come out a rounding away from 1.
    return np.where(result > 1 - _ROUNDING, 1.0, result)


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
    check_share("likeness", threshold)
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
