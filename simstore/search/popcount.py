"""Counting bits in compiled code."""

from __future__ import annotations

from typing import Any

import numpy as np


def bits_of(word: Any) -> Any:
    """Return how many bits of a uint64 are set; a part of kernels.

    It is written in the way that compilers know: they replace it by the machine's own instruction,
    and in a loop by one for several words.
    """
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + (
        (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)
