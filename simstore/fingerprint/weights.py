"""Feature counts to integer weights.

Integers, because their sums are exact in any order: a sum of floating-point weights near zero
could give another bit on another machine.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

Weighting = Literal["tf", "log-tf", "uniform"]
WEIGHTINGS: tuple[str, ...] = get_args(Weighting)

SCALE = 1024
# round(1024 * (1 + ln 65536)); no document's top feature matters beyond.
_LARGEST_COUNT = 1 << 16


def integer_weights(counts: NDArray[np.int64], weighting: str) -> NDArray[np.int64]:
    """Return the weight of each count.

    ``tf``: the count; ``uniform``: 1; ``log-tf``: 1 + ln(count), in 1/1024, rounded, the count
    capped at 65,536. No 1024 * (1 + ln n) up to there is within 1e-9 of a half, so the rounding
    is the same with every mathematical library.
    """
    if weighting == "tf":
        return counts
    if weighting == "uniform":
        return np.ones_like(counts)
    capped = np.minimum(counts, _LARGEST_COUNT)
    largest = int(capped.max(initial=1))
    return _logarithmic(1 << (largest - 1).bit_length())[capped]


@cache
def _logarithmic(largest: int) -> NDArray[np.int64]:
    """Return the weights of the counts from 0 (unused) to ``largest``."""
    scaled = [0] + [round(SCALE * (1 + math.log(n))) for n in range(1, largest + 1)]
    return np.array(scaled, np.int64)
