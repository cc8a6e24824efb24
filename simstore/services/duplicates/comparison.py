"""Verify near-duplicates: compare many pairs of texts at once, cheapest tests first.

Distances, sizes and sketches of all pairs are compared in arrays; the shingle sets of what is left
by one loop (:class:`~simstore.search.set_pool.SetPool`). So a text that may be like thousands of
others, as a page of a template is, costs little for each, and so does each of thousands of texts
that may be like one other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.minhash import equal_values
from simstore.fingerprint.shingle_sets import ShingleSets, distinct_numbers, from_rows
from simstore.fingerprint.sketching import DEFAULT_SKETCHING, Sketching
from simstore.search.hamming import distances
from simstore.search.resemblance import EdgeRule, size_ratios
from simstore.search.set_pool import SetPool
from simstore.services.duplicates.candidate_text import CandidateText

Basis = Literal["same", "text", "sketch", "distance"]
ReadSets = Callable[[Mapping[bytes, CandidateText]], Mapping[bytes, NDArray[np.uint64]]]
# Others whose shingle sets are held at once.
_HELD_TEXTS = 4_096
# Pairs that are compared at a time.
_BLOCK_PAIRS = 1 << 16
_NOTHING = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class Verified:
    """The resemblance and distance of two texts with an edge.

    Attributes:
        resemblance: Of the two texts, 0 to 1; None where nothing tells it.
        distance: Of their fingerprints, bits; None where one has none.
        basis: ``same``: one text; ``text``: compared exactly; ``sketch``: estimated;
            ``distance``: there is nothing else to compare.
    """

    resemblance: float | None
    distance: int | None
    basis: Basis


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeConditions:
    """The conditions that an edge must meet.

    Attributes:
        rule: Of the resemblance; without a least one, any is enough.
        sketching: Makes the sketches by which it is estimated.
        within: Largest distance, bits; None: any.
        by_text: Resemblance is that of the texts, not of the sketches.
        tells_resemblance: There are texts or sketches to tell it by.
    """

    rule: EdgeRule
    sketching: Sketching = DEFAULT_SKETCHING
    within: int | None
    by_text: bool
    tells_resemblance: bool


class CandidateComparison:
    """Decides which pairs of some texts, given by their rows, have an edge.

    A text takes about 350 bytes, beside the shingle sets, of which a pool holds some.

    Args:
        conditions: What an edge asks for.
        read: Returns the shingle sets of texts, by their digests.
        width: Words of a fingerprint.
    """

    def __init__(self, conditions: EdgeConditions, read: ReadSets, width: int) -> None:
        self._conditions = conditions
        self._read = read
        self._numbers: dict[bytes, int] = {}
        # One text of each digest is enough: what it is compared by depends on the text alone.
        self._first: list[CandidateText] = []
        self._digests = np.empty(0, np.int64)
        self._features = np.empty(0, np.int64)
        self._sizes = np.empty(0, np.int64)
        self._sketched = np.empty(0, np.bool_)
        # Kernels read values of 16 bits, of whichever sketches.
        self._sketches = np.empty((0, conditions.rule.values), np.uint16)
        self._printed = np.empty(0, np.bool_)
        self._words = np.empty((0, width), np.uint64)
        self._pool = SetPool(0, self._sets, conditions.rule.min_resemblance or 0.0)

    def add(self, texts: Sequence[CandidateText]) -> NDArray[np.int64]:
        """Add texts; return their rows."""
        before, after = len(self._digests), len(self._digests) + len(texts)
        for one in texts:
            if self._numbers.setdefault(one.digest, len(self._numbers)) == len(self._first):
                self._first.append(one)
        numbers = [self._numbers[one.digest] for one in texts]
        sizes = [-1 if one.shingle_count is None else one.shingle_count for one in texts]
        sketches = np.zeros((len(texts), self._sketches.shape[1]), np.uint16)
        words = np.zeros((len(texts), self._words.shape[1]), np.uint64)
        for place, one in enumerate(texts):
            if one.sketch is not None:
                sketches[place] = one.sketch
            if one.words is not None:
                words[place] = one.words
        self._digests = np.append(self._digests, np.array(numbers, np.int64))
        self._features = np.append(
            self._features, np.array([one.feature_count for one in texts], np.int64)
        )
        self._sizes = np.append(self._sizes, np.array(sizes, np.int64))
        self._sketched = np.append(
            self._sketched, np.array([one.sketch is not None for one in texts], np.bool_)
        )
        self._sketches = np.concatenate((self._sketches, sketches))
        self._printed = np.append(
            self._printed, np.array([one.words is not None for one in texts], np.bool_)
        )
        self._words = np.concatenate((self._words, words))
        self._pool.grow(len(self._numbers))
        return np.arange(before, after)

    def expect(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> None:
        """Read the shingle sets of texts that may have an edge to each other, at once.

        Args:
            first: The row of the one text of each pair, shape (pairs,).
            second: The row of the other.
        """
        if not self._conditions.by_text or not len(first):
            return
        left = np.flatnonzero(self._may_hold(first, second))
        one, other = self._digests[first[left]], self._digests[second[left]]
        numbers = distinct_numbers(np.concatenate((one[one != other], other[one != other])))
        for start in range(0, len(numbers), _HELD_TEXTS):
            self._pool.hold(numbers[start : start + _HELD_TEXTS])

    def verified(
        self, first: NDArray[np.int64], second: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], list[Verified]]:
        """Return which pairs of texts have an edge, and the edges.

        Args:
            first: The row of the one text of each pair, shape (pairs,); the faster, the more of one
                text stand together.
            second: The row of the other.

        Returns:
            The places of the pairs, ascending, int64, and what was found of each.
        """
        places, edges = [_NOTHING], []
        for start in range(0, len(first), _BLOCK_PAIRS):
            part = slice(start, start + _BLOCK_PAIRS)
            holding, found = self._verified(first[part], second[part])
            places.append(holding + start)
            edges += found
        return np.concatenate(places), edges

    def _verified(
        self, first: NDArray[np.int64], second: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], list[Verified]]:
        conditions = self._conditions
        same = self._digests[first] == self._digests[second]
        left = np.flatnonzero(~same & self._may_hold(first, second))
        resemblances, holds = np.ones(len(first)), same.copy()
        resemblances[left], holds[left] = self._judged(first[left], second[left])
        chosen = np.flatnonzero(holds)
        one, other = first[chosen], second[chosen]
        away = distances(self._words[other], self._words[one]).tolist()
        known = (self._printed[other] & self._printed[one]).tolist()
        basis: Basis = "text" if conditions.by_text else "sketch"
        if not conditions.tells_resemblance:
            basis = "distance"
        tells = conditions.tells_resemblance
        return chosen, [
            Verified(1.0, bits if has else None, "same")
            if is_same
            else Verified(share if tells else None, bits if has else None, basis)
            for is_same, share, bits, has in zip(
                same[chosen].tolist(), resemblances[chosen].tolist(), away, known, strict=True
            )
        ]

    def _may_hold(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which pairs may have an edge by their distances, sizes and sketches."""
        conditions = self._conditions
        result = np.ones(len(first), np.bool_)
        if conditions.within is not None:
            result &= self._printed[second] & self._printed[first]
            away = distances(self._words[second], self._words[first])
            result &= away <= conditions.within
        least = conditions.rule.min_resemblance
        if least is None:
            return result
        sizes, others = self._sizes[first], self._sizes[second]
        result &= (sizes < 0) | (others < 0) | (size_ratios(others, sizes) >= least)
        sketched = (sizes >= 0) & self._sketched[first] & self._sketched[second]
        asked = np.flatnonzero(result & sketched)
        equal = equal_values(self._sketches, first[asked], second[asked])
        result[asked] = equal >= conditions.rule.fewest_equal
        return result

    def _judged(
        self, first: NDArray[np.int64], second: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the resemblance of pairs of texts, and which have an edge."""
        conditions, rule = self._conditions, self._conditions.rule
        fewest = np.minimum(self._features[second], self._features[first])
        if not conditions.tells_resemblance:
            return np.zeros(len(first)), fewest >= max(rule.least_features, 1)
        if conditions.by_text:
            shares = self._of_texts(first, second)
            sizes = self._pool.sizes(self._digests[first])
            others = self._pool.sizes(self._digests[second])
        else:
            sizes, others = np.maximum(self._sizes[first], 0), np.maximum(self._sizes[second], 0)
            shares = conditions.sketching.estimates(self._sketches[second], self._sketches[first])
            shares[~(self._sketched[second] & self._sketched[first])] = 0.0
        ratios = size_ratios(others, sizes)
        if rule.min_resemblance is None:
            # What has no shingle is like nothing but itself.
            return shares, (ratios > 0) & rule.is_long_enough(shares, ratios, fewest)
        return shares, rule.holds(shares, ratios, fewest)

    def _of_texts(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return resemblances, -1 where they are too low to matter.

        The shingle sets of all others are read once, some at a time.
        """
        one, other = self._digests[first], self._digests[second]
        shares = np.full(len(first), -1.0)
        numbers = distinct_numbers(other)
        for start in range(0, len(numbers), _HELD_TEXTS):
            some = numbers[start : start + _HELD_TEXTS]
            chosen = np.flatnonzero((other >= some[0]) & (other <= some[-1]))
            self._pool.hold(distinct_numbers(np.concatenate((some, one[chosen]))))
            shares[chosen] = self._pool.resemblances(one[chosen], other[chosen])
        return shares

    def _sets(self, numbers: NDArray[np.int64]) -> ShingleSets:
        asked = [self._first[number] for number in numbers.tolist()]
        found = self._read({one.digest: one for one in asked})
        return from_rows([found[one.digest] for one in asked])
