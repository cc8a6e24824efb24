"""Choose a threshold whose neighbours score well too.

The threshold with the highest F1 on some labelled pairs owes part of that to their accidents. The
mean over the thresholds around each one owes less to them, and its maximum lies in the middle of
where the method works.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

# How far around a threshold to look: a tenth of the scale, whether of shares or of 64 bits.
SHARE_WIDTH = 0.1
RADIUS_WIDTH = 6.0
_ROUNDING = 1e-9


def steadied(
    thresholds: Sequence[float], scores: Sequence[float], width: float
) -> NDArray[np.float64]:
    """Return for each threshold the mean score of those no further away than a width.

    Args:
        thresholds: In any order, shape (thresholds,).
        scores: The score at each.
        width: Inclusive.
    """
    places = np.asarray(thresholds, np.float64)
    values = np.asarray(scores, np.float64)
    near = np.abs(places[:, None] - places) <= width + _ROUNDING
    means: NDArray[np.float64] = (near @ values) / np.maximum(near.sum(axis=1), 1)
    return means


def highest(means: NDArray[np.float64]) -> int:
    """Return the place of the highest mean; of several, the middle one.

    Args:
        means: At least one.
    """
    places = np.flatnonzero(means >= means.max() - _ROUNDING)
    return int(places[len(places) // 2])
