"""The rule of a verified edge: when two texts are alike enough. Decided here and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class EdgeRule:
    """What makes an edge of two texts, whatever else there is.

    Attributes:
        min_resemblance: Least resemblance, above 0, at most 1, inclusive; None: none is enough.
        least_features: Where one of the texts has fewer features, one has to contain the other.
    """

    min_resemblance: float | None
    least_features: int

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
        result: NDArray[np.bool_] = (fewest_features >= self.least_features) | (
            resemblance >= ratios
        )
        return result

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

    def holds_for(self, resemblance: float, ratio: float, fewest_features: int) -> bool:
        """Return whether one pair has an edge: :meth:`holds` for a handful."""
        least = self.min_resemblance
        return (
            least is not None
            and resemblance >= least
            and self.is_long_enough_for(resemblance, ratio, fewest_features)
        )

    def is_long_enough_for(self, resemblance: float, ratio: float, fewest_features: int) -> bool:
        """Return :meth:`is_long_enough` for one pair."""
        return fewest_features >= self.least_features or resemblance >= ratio


def size_ratio(one: int, other: int) -> float:
    """Return the smaller size divided by the larger; 0 where both are 0."""
    return min(one, other) / max(one, other, 1)


def size_ratios(
    one_sizes: NDArray[np.int64], other_sizes: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the smaller size of each pair divided by the larger; 0 where both are 0."""
    lower, upper = np.minimum(one_sizes, other_sizes), np.maximum(one_sizes, other_sizes)
    ratio: NDArray[np.float64] = lower / np.maximum(upper, 1)
    return ratio
