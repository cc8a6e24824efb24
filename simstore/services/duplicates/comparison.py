"""Verify near-duplicates: compare texts with many candidates at once, cheapest tests first.

Distances, sizes and sketches of all pairs are compared in arrays; the shingle sets of what is left
by one loop (:class:`~simstore.search.set_pool.SetPool`). So a text that may be like thousands of
others, as a page of a template is, costs little for each.
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

    @property
    def compared_count(self) -> int:
        """Return how many pairs of texts were compared exactly."""
        return self._pool.compared_count

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

    def expect(self, pairs: Sequence[tuple[int, NDArray[np.int64]]]) -> None:
        """Read the shingle sets of texts, and of others that each may have an edge to, at once."""
        if not self._conditions.by_text:
            return
        needed: set[int] = set()
        for one, others in pairs:
            if not len(others):
                continue
            kept = self._digests[others] != self._digests[one]
            kept &= self._may_hold(one, others)
            if kept.any():
                needed.add(int(self._digests[one]))
                needed.update(self._digests[others[kept]].tolist())
        numbers = np.array(sorted(needed), np.int64)
        for start in range(0, len(numbers), _HELD_TEXTS):
            self._pool.hold(numbers[start : start + _HELD_TEXTS])

    def edges(self, pairs: Sequence[tuple[int, NDArray[np.int64]]]) -> list[dict[int, Verified]]:
        """Return the edges of texts to others, by the rows of these in the order given.

        The shingle sets of all others are read once, some at a time.

        Args:
            pairs: The row of a text, and the rows of others, shape (others,).
        """
        found: list[dict[int, Verified]] = [{} for _ in pairs]
        # Most texts are like no other at all.
        asking = [place for place, (_, others) in enumerate(pairs) if len(others)]
        for place, edges in zip(asking, self._edges([pairs[n] for n in asking]), strict=True):
            found[place] = edges
        return found

    def _edges(self, pairs: Sequence[tuple[int, NDArray[np.int64]]]) -> list[dict[int, Verified]]:
        same = [self._digests[others] == self._digests[one] for one, others in pairs]
        left = [
            np.flatnonzero(~alike & self._may_hold(one, others))
            for (one, others), alike in zip(pairs, same, strict=True)
        ]
        asked = [(one, others[places]) for (one, others), places in zip(pairs, left, strict=True)]
        judged = self._judged(asked)
        found = []
        for (one, others), alike, places, (shares, holds) in zip(
            pairs, same, left, judged, strict=True
        ):
            resemblances = np.ones(len(others))
            kept = alike.copy()
            resemblances[places], kept[places] = shares, holds
            chosen = np.flatnonzero(kept)
            found.append(self._verified(one, others[chosen], alike[chosen], resemblances[chosen]))
        return found

    def _verified(
        self,
        one: int,
        others: NDArray[np.int64],
        same: NDArray[np.bool_],
        shares: NDArray[np.float64],
    ) -> dict[int, Verified]:
        conditions = self._conditions
        basis: Basis = "text" if conditions.by_text else "sketch"
        if not conditions.tells_resemblance:
            basis = "distance"
        away = distances(self._words[others], self._words[one])
        known = self._printed[others] & self._printed[one]
        found = {}
        for place, other in enumerate(others.tolist()):
            distance = int(away[place]) if known[place] else None
            if same[place]:
                found[other] = Verified(1.0, distance, "same")
            else:
                share = float(shares[place]) if conditions.tells_resemblance else None
                found[other] = Verified(share, distance, basis)
        return found

    def _may_hold(self, one: int, others: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which pairs may have an edge by their distances, sizes and sketches."""
        conditions = self._conditions
        result = np.ones(len(others), np.bool_)
        if conditions.within is not None:
            result &= self._printed[others] & self._printed[one]
            result &= distances(self._words[others], self._words[one]) <= conditions.within
        least = conditions.rule.min_resemblance
        if least is None or self._sizes[one] < 0:
            return result
        sizes = self._sizes[others]
        result &= (sizes < 0) | (size_ratios(sizes, self._sizes[[one]]) >= least)
        if self._sketched[one]:
            asked = np.flatnonzero(result & self._sketched[others])
            equal = equal_values(self._sketches, one, others[asked])
            result[asked] = equal >= conditions.rule.fewest_equal
        return result

    def _judged(
        self, pairs: Sequence[tuple[int, NDArray[np.int64]]]
    ) -> list[tuple[NDArray[np.float64], NDArray[np.bool_]]]:
        """Return the resemblance of texts to others, and which have an edge."""
        conditions, rule = self._conditions, self._conditions.rule
        by_text = conditions.by_text and conditions.tells_resemblance
        told = self._of_texts(pairs) if by_text else [np.empty(0)] * len(pairs)
        found = []
        for (one, others), shares in zip(pairs, told, strict=True):
            fewest = np.minimum(self._features[others], self._features[one])
            if not conditions.tells_resemblance:
                found.append((np.zeros(len(others)), fewest >= rule.least_features))
                continue
            if by_text:
                sizes = self._pool.sizes(self._digests[others])
                ratios = size_ratios(sizes, self._pool.sizes(self._digests[[one]]))
            else:
                sizes = np.maximum(self._sizes[others], 0)
                ratios = size_ratios(sizes, np.maximum(self._sizes[[one]], 0))
                shares = conditions.sketching.estimates(self._sketches[others], self._sketches[one])
                shares[~(self._sketched[others] & self._sketched[one])] = 0.0
            if rule.min_resemblance is None:
                # What has no shingle is like nothing but itself.
                holds = (ratios > 0) & rule.is_long_enough(shares, ratios, fewest)
            else:
                holds = rule.holds(shares, ratios, fewest)
            found.append((shares, holds))
        return found

    def _of_texts(
        self, pairs: Sequence[tuple[int, NDArray[np.int64]]]
    ) -> list[NDArray[np.float64]]:
        """Return resemblances, -1 where they are too low to matter."""
        shares = [np.full(len(others), -1.0) for _, others in pairs]
        every = [np.empty(0, np.int64), *(self._digests[others] for _, others in pairs)]
        numbers = distinct_numbers(np.concatenate(every))
        for start in range(0, len(numbers), _HELD_TEXTS):
            some = numbers[start : start + _HELD_TEXTS]
            asking = np.array([self._digests[one] for one, _ in pairs], np.int64)
            chosen = [
                np.flatnonzero((of_one >= some[0]) & (of_one <= some[-1])) for of_one in every[1:]
            ]
            needed = [place for place, rows in enumerate(chosen) if len(rows)]
            self._pool.hold(np.unique(np.concatenate((some, asking[needed]))))
            for place in needed:
                rows = chosen[place]
                shares[place][rows] = self._pool.resemblances(
                    int(asking[place]), every[1 + place][rows]
                )
        return shares

    def _sets(self, numbers: NDArray[np.int64]) -> ShingleSets:
        asked = [self._first[number] for number in numbers.tolist()]
        found = self._read({one.digest: one for one in asked})
        return from_rows([found[one.digest] for one in asked])
