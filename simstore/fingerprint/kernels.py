"""Numba twins of NumPy forms: the same answers, compiled, for inputs that repay the compiler.

Numba is optional (``pip install 'simstore[fast]'``) and imported for big inputs only.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Entries below which importing Numba (0.2-0.4 s) costs more than it saves.
_WORTH_COMPILING = 2_000_000
_threshold: int | None = _WORTH_COMPILING


def disable() -> None:
    """Use the NumPy forms only."""
    _set_threshold(None)


def enable(worth_compiling: int = _WORTH_COMPILING) -> None:
    """Use the compiled forms, where Numba is installed, from so many entries on."""
    _set_threshold(worth_compiling)


def _set_threshold(entries: int | None) -> None:
    global _threshold
    _threshold = entries


def signed_sums_positive(
    offsets: NDArray[np.int64],
    rows: NDArray[np.int64],
    weights: NDArray[np.int64],
    signs: NDArray[np.int8],
    tie: int,
) -> NDArray[np.bool_] | None:
    """Return the bits of :func:`simstore.fingerprint.simhash.fingerprints` before packing.

    Returns:
        bool, shape (documents, M); None where the NumPy form serves better.
    """
    if _threshold is None or len(rows) < _threshold:
        return None
    kernel = _compiled_signed_sums()
    if kernel is None:
        return None
    result = np.empty((len(offsets) - 1, signs.shape[1]), np.bool_)
    kernel(
        np.ascontiguousarray(offsets, np.int64),
        np.ascontiguousarray(rows, np.int64),
        np.ascontiguousarray(weights, np.int64),
        np.ascontiguousarray(signs, np.int8),
        np.int64(0 if tie else 1),
        result,
    )
    return result


@cache
def _compiled_signed_sums() -> Callable[..., None] | None:
    try:
        import numba
    except ImportError:
        return None

    def signed_sums(
        offsets: Any, rows: Any, weights: Any, signs: Any, least: Any, result: Any
    ) -> None:
        bits = signs.shape[1]
        sums = np.zeros(bits, np.int64)
        for document in range(len(offsets) - 1):
            sums[:] = 0
            for entry in range(offsets[document], offsets[document + 1]):
                weight = weights[entry]
                row = rows[entry]
                for bit in range(bits):
                    sums[bit] += weight * signs[row, bit]
            for bit in range(bits):
                result[document, bit] = sums[bit] >= least

    compiled: Callable[..., None] = numba.njit(nogil=True)(signed_sums)
    return compiled
