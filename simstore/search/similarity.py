"""Similarity and distance measures of numbers, sets and vectors."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray


def value_ratio(first: int, second: int) -> float:
    """Return the smaller of two fingerprint values divided by the larger, 0 to 1.

    An old measure, kept for comparison: one different bit weighs the more, the higher it stands.
    Two zeros are equal, so their ratio is 1.

    Args:
        first: A fingerprint as a number, not negative.
        second: Another one.
    """
    larger = max(first, second)
    return min(first, second) / larger if larger else 1.0


def dice(resemblance: float) -> float:
    """Return 2 |A∩B| / (|A| + |B|) of two sets whose |A∩B| / |A∪B| is given; both 0 to 1.

    References:
        Dice: Measures of the amount of ecologic association between species, Ecology 26(3), 1945.
    """
    return 2 * resemblance / (1 + resemblance)


def dice_of_lists(first: NDArray[np.uint64], second: NDArray[np.uint64]) -> float | None:
    """Return twice the shingles of a list that are in another, by the shingles of both.

    Repeats count: each of the first list's shingles counts as often as it stands there, found
    where the second list has it at all. So the order of the lists matters, and where the first
    repeats itself the share may be above 1. The Dice of two sets knows neither.

    Args:
        first: Hashes of a text's shingles, in order, with repeats.
        second: Those of another.

    Returns:
        None where both are empty.
    """
    total = len(first) + len(second)
    return 2 * int(np.isin(first, second).sum()) / total if total else None


def cosine(first: NDArray[np.float64], second: NDArray[np.float64]) -> float | None:
    """Return the cosine of the angle between two vectors of the same dimensions.

    Args:
        first: Weights, none negative, shape (dimensions,).
        second: The same dimensions in the same order.

    Returns:
        0 to 1; 0 where one vector is zero, None where both are.

    References:
        Salton, Wong, Yang: A vector space model for automatic indexing, CACM 18(11), 1975.
    """
    squares = float(first @ first), float(second @ second)
    if not any(squares):
        return None
    if not all(squares):
        return 0.0
    # One root, so that equal vectors give exactly 1; rounding may leave others a little above it.
    return min(float(first @ second) / math.sqrt(squares[0] * squares[1]), 1.0)


def euclidean_distance(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Return the length of the difference of two vectors of the same dimensions, from 0 up."""
    difference = first - second
    return math.sqrt(difference @ difference)
