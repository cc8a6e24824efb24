"""Jaccard similarity (resemblance) and containment of texts, and the rule that accepts a pair.

Both come from the shingle sets of the texts or from their sketches. The rule is decided here and
nowhere else.

References:
    Broder: On the resemblance and containment of documents, SEQUENCES 1997, section 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from simstore.errors import InvalidParameter

# Values of a sketch of runs of words.
VALUES = 128
# Share of pairs at the least resemblance that are left out because of their sketches.
MISSED_BY_SKETCH = 1e-8


def check_share(name: str, least: float | None) -> None:
    """Raise InvalidParameter where a least share is not above 0 and at most 1; None is none.

    >>> from simstore.search.resemblance import check_share
    >>> check_share("min_resemblance", 0.5)

    Args:
        name: What it is called in the message.
        least: The share.
    """
    if least is not None and not 0 < least <= 1:
        raise InvalidParameter(f"{name} {least}: it must be above 0 and at most 1")


@dataclass(frozen=True, slots=True)
class Overlap:
    """Resemblance and containment of two texts.

    Attributes:
        resemblance: |A∩B| / |A∪B|, 0 to 1.
        containment: |A∩B| / |A|: how much of the first is in the second, 0 to 1.
        containment_reverse: |A∩B| / |B|: how much of the second is in the first, 0 to 1.
        basis: ``text``: exact, of the shingle sets; ``sketch``: estimated.
    """

    resemblance: float
    containment: float
    containment_reverse: float
    basis: Literal["text", "sketch"]


def overlap(first: NDArray[np.uint64], second: NDArray[np.uint64]) -> Overlap:
    """Return the exact overlap of two shingle sets.

    An empty set resembles nothing, another empty set neither.

    Args:
        first: Hashes of the shingles of A, ascending, distinct.
        second: Hashes of the shingles of B, ascending, distinct.
    """
    if not len(first) or not len(second):
        return Overlap(0.0, 0.0, 0.0, "text")
    few, many = (first, second) if len(first) <= len(second) else (second, first)
    places = np.minimum(np.searchsorted(many, few), len(many) - 1)
    common = int(np.count_nonzero(many[places] == few))
    return Overlap(
        common / (len(first) + len(second) - common),
        common / len(first),
        common / len(second),
        "text",
    )


def estimated_overlap(estimate: float, first_size: int, second_size: int) -> Overlap:
    """Return the overlap that follows from an estimated resemblance and the sizes of the sets.

    With resemblance s, the sets have s / (1 + s) * (|A| + |B|) shingles in common; no more than
    the smaller has.

    Args:
        estimate: Share of equal values of the two sketches.
        first_size: Distinct shingles of A.
        second_size: Distinct shingles of B.
    """
    if not first_size or not second_size:
        return Overlap(0.0, 0.0, 0.0, "sketch")
    common = estimate / (1 + estimate) * (first_size + second_size)
    common = min(common, first_size, second_size)
    return Overlap(estimate, common / first_size, common / second_size, "sketch")


@dataclass(frozen=True, slots=True)
class EdgeRule:
    """The rule for an edge of two texts: least resemblance, and containment of short texts.

    Attributes:
        min_resemblance: Least resemblance, above 0, at most 1, inclusive; None: none is enough.
        least_features: Where one of the texts has fewer features, one has to contain the other.
        joins_contained: That is enough; else such texts have no edge at all.
        values: Values of the sketches that the resemblance is estimated from.
    """

    min_resemblance: float | None
    least_features: int
    joins_contained: bool = True
    values: int = VALUES

    def may_hold(
        self, one_sizes: NDArray[np.int64], other_sizes: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Return which pairs may have an edge by the sizes of their shingle sets alone.

        Sets of very different sizes cannot resemble each other.

        Args:
            one_sizes: Distinct shingles of the one text of each pair, shape (pairs,).
            other_sizes: Those of the other.
        """
        result: NDArray[np.bool_] = size_ratios(one_sizes, other_sizes) >= (
            self.min_resemblance or 0.0
        )
        return result

    @property
    def fewest_equal(self) -> int:
        """Return how many values of two sketches are equal at least where texts have an edge.

        Fewer are taken to tell that the texts do not resemble each other enough; see
        :func:`fewest_equal_values`.
        """
        if self.min_resemblance is None:
            return 0
        return fewest_equal_values(self.min_resemblance, self.values)

    def resembles(self, resemblance: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which pairs reach the least resemblance."""
        if self.min_resemblance is None:
            return np.zeros(len(resemblance), np.bool_)
        result: NDArray[np.bool_] = resemblance >= self.min_resemblance
        return result

    def is_long_enough(
        self,
        resemblance: NDArray[np.float64],
        ratios: NDArray[np.float64],
        fewest_features: NDArray[np.int64],
    ) -> NDArray[np.bool_]:
        """Return which pairs are long enough to be judged, or one wholly contains the other.

        Of two sets, the smaller lies within the larger where their resemblance is the ratio of
        their sizes; an estimate may be above it.

        Args:
            resemblance: Of each pair, shape (pairs,).
            ratios: :func:`size_ratios` of them.
            fewest_features: Features of the text of each pair that has fewer.
        """
        result: NDArray[np.bool_] = fewest_features >= self.least_features
        return result | (resemblance >= ratios) if self.joins_contained else result

    def holds(
        self,
        resemblance: NDArray[np.float64],
        ratios: NDArray[np.float64],
        fewest_features: NDArray[np.int64],
    ) -> NDArray[np.bool_]:
        """Return which pairs have an edge by their resemblance; arguments as above."""
        return self.resembles(resemblance) & self.is_long_enough(
            resemblance, ratios, fewest_features
        )


@lru_cache(64)
def fewest_equal_values(resemblance: float, values: int = VALUES) -> int:
    """Return how many values of two sketches are equal, in all but one of 10**8 pairs, or more.

    Each value of two sketches is equal with a probability that is the resemblance of the sets, so
    the number of equal ones is binomial.

    Args:
        resemblance: Of the two sets, above 0, at most 1.
        values: Values of a sketch.
    """
    below = 0.0
    for equal in range(values):
        below += (
            math.comb(values, equal) * resemblance**equal * (1 - resemblance) ** (values - equal)
        )
        if below > MISSED_BY_SKETCH:
            return equal
    return values


def size_ratios(
    one_sizes: NDArray[np.int64], other_sizes: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the smaller size of each pair divided by the larger; 0 where both are 0."""
    lower, upper = np.minimum(one_sizes, other_sizes), np.maximum(one_sizes, other_sizes)
    ratio: NDArray[np.float64] = lower / np.maximum(upper, 1)
    return ratio
