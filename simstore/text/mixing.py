"""Hash 64-bit integers by mixing their bits (splitmix64), the same in every process."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Odd constants of splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number
# generators, OOPSLA 2014, section 5).
GAMMA = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)


def mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the values with their bits mixed, one to one (the last step of splitmix64)."""
    values = (values ^ (values >> np.uint64(30))) * MIX_1
    values = (values ^ (values >> np.uint64(27))) * MIX_2
    return values ^ (values >> np.uint64(31))
