"""Verify near-duplicates: compare a text with many candidates at once, cheapest tests first.

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

from simstore.fingerprint.minhash import VALUES, estimates
from simstore.fingerprint.shingle_sets import ShingleSets, from_rows
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
        within: Largest distance, bits; None: any.
        by_text: Resemblance is that of the texts, not of the sketches.
        tells_resemblance: There are texts or sketches to tell it by.
    """

    rule: EdgeRule
    within: int | None
    by_text: bool
    tells_resemblance: bool


class CandidateComparison:
    """Decides which pairs of some texts, given by their places, have an edge.

    Args:
        texts: The texts.
        conditions: What an edge asks for.
        read: Returns the shingle sets of texts, by their digests.
    """

    def __init__(
        self, texts: Sequence[CandidateText], conditions: EdgeConditions, read: ReadSets
    ) -> None:
        self._conditions = conditions
        self._read = read
        numbers: dict[bytes, int] = {}
        self._digests = np.array(
            [numbers.setdefault(one.digest, len(numbers)) for one in texts], np.int64
        )
        # One text of each digest is enough: what it is compared by depends on the text alone.
        self._first: dict[int, CandidateText] = {}
        for number, one in zip(self._digests.tolist(), texts, strict=True):
            self._first.setdefault(number, one)
        self._features = np.array([one.feature_count for one in texts], np.int64)
        self._sizes = np.array(
            [-1 if one.shingle_count is None else one.shingle_count for one in texts], np.int64
        )
        self._sketched = np.array([one.sketch is not None for one in texts], np.bool_)
        self._sketches = np.zeros((len(texts), VALUES), np.uint16)
        self._printed = np.array([one.words is not None for one in texts], np.bool_)
        width = max((len(one.words) for one in texts if one.words is not None), default=1)
        self._words = np.zeros((len(texts), width), np.uint64)
        for place, one in enumerate(texts):
            if one.sketch is not None:
                self._sketches[place] = one.sketch
            if one.words is not None:
                self._words[place] = one.words
        self._pool = SetPool(len(numbers), self._sets, conditions.rule.min_resemblance or 0.0)

    @property
    def compared_count(self) -> int:
        """Return how many pairs of texts were compared exactly."""
        return self._pool.compared_count

    def expect(self, pairs: Sequence[tuple[int, NDArray[np.int64]]]) -> None:
        """Read the shingle sets of texts, and of others that each may have an edge to, at once."""
        if not self._conditions.by_text:
            return
        needed: set[int] = set()
        for one, others in pairs:
            away = distances(self._words[others], self._words[one])
            known = self._printed[others] & self._printed[one]
            kept = self._digests[others] != self._digests[one]
            kept &= self._may_hold(one, others, away, known)
            if kept.any():
                needed.add(int(self._digests[one]))
                needed.update(self._digests[others[kept]].tolist())
        numbers = np.array(sorted(needed), np.int64)
        for start in range(0, len(numbers), _HELD_TEXTS):
            self._pool.hold(numbers[start : start + _HELD_TEXTS])

    def edges(self, one: int, others: NDArray[np.int64]) -> dict[int, Verified]:
        """Return the edges of a text to others, by their places in the order given."""
        away = distances(self._words[others], self._words[one])
        known = self._printed[others] & self._printed[one]
        same = self._digests[others] == self._digests[one]
        left = np.flatnonzero(~same & self._may_hold(one, others, away, known))
        shares = np.ones(len(others))
        holds = same.copy()
        shares[left], holds[left] = self._judged(one, others[left])
        conditions = self._conditions
        basis: Basis = "text" if conditions.by_text else "sketch"
        if not conditions.tells_resemblance:
            basis = "distance"
        found = {}
        for place in np.flatnonzero(holds).tolist():
            distance = int(away[place]) if known[place] else None
            if same[place]:
                found[int(others[place])] = Verified(1.0, distance, "same")
            else:
                share = float(shares[place]) if conditions.tells_resemblance else None
                found[int(others[place])] = Verified(share, distance, basis)
        return found

    def _may_hold(
        self,
        one: int,
        others: NDArray[np.int64],
        away: NDArray[np.int64],
        known: NDArray[np.bool_],
    ) -> NDArray[np.bool_]:
        """Return which pairs may have an edge by their distances, sizes and sketches."""
        conditions = self._conditions
        result = np.ones(len(others), np.bool_)
        if conditions.within is not None:
            result &= known & (away <= conditions.within)
        least = conditions.rule.min_resemblance
        if least is None or self._sizes[one] < 0:
            return result
        sizes = self._sizes[others]
        result &= (sizes < 0) | (size_ratios(sizes, self._sizes[[one]]) >= least)
        if self._sketched[one]:
            asked = np.flatnonzero(result & self._sketched[others])
            equal = np.count_nonzero(self._sketches[others[asked]] == self._sketches[one], axis=1)
            result[asked] = equal >= conditions.rule.fewest_equal
        return result

    def _judged(
        self, one: int, others: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the resemblance of a text to others, and which have an edge."""
        conditions, rule = self._conditions, self._conditions.rule
        fewest = np.minimum(self._features[others], self._features[one])
        if not len(others):
            return np.empty(0), np.empty(0, np.bool_)
        if not conditions.tells_resemblance:
            return np.zeros(len(others)), fewest >= rule.least_features
        if conditions.by_text:
            shares, ratios = self._of_texts(one, others)
        else:
            sizes = np.maximum(self._sizes, 0)
            ratios = size_ratios(sizes[others], sizes[[one]])
            shares = estimates(self._sketches[others], self._sketches[one])
            shares[~(self._sketched[others] & self._sketched[one])] = 0.0
        if rule.min_resemblance is None:
            # What has no shingle is like nothing but itself.
            return shares, (ratios > 0) & rule.is_long_enough(shares, ratios, fewest)
        return shares, rule.holds(shares, ratios, fewest)

    def _of_texts(
        self, one: int, others: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return resemblances, -1 where they are too low to matter, and ratios of sizes."""
        number, parts = self._digests[one], []
        for start in range(0, len(others), _HELD_TEXTS):
            some = self._digests[others[start : start + _HELD_TEXTS]]
            self._pool.hold(np.unique(np.append(some, number)))
            parts.append(self._pool.resemblances(int(number), some))
        sizes = self._pool.sizes(self._digests[others])
        return np.concatenate(parts), size_ratios(sizes, self._pool.sizes(number[None]))

    def _sets(self, numbers: NDArray[np.int64]) -> ShingleSets:
        asked = [self._first[number] for number in numbers.tolist()]
        found = self._read({one.digest: one for one in asked})
        return from_rows([found[one.digest] for one in asked])
