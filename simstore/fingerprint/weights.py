"""Turn feature counts and document frequencies into integer weights for SimHash.

Integers, because their sums are exact in any order: a sum of floating-point weights near zero
could give another bit on another machine.
"""

from __future__ import annotations

import math
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from decimal import Context, Decimal

Weighting = Literal["log-tf", "tf", "uniform", "idf", "tf-idf", "log-tf-idf"]
WEIGHTINGS: tuple[str, ...] = get_args(Weighting)
# What a count weighs in the weightings that also look at the corpus.
COUNT_PART = {"idf": "uniform", "tf-idf": "tf", "log-tf-idf": "log-tf"}

SCALE = 1024
# round(1024 * (1 + ln 65536)); no document's top feature matters beyond.
_LARGEST_COUNT = 1 << 16
# Features of characters weigh their count up to this one, where they are damped.
_FULL_COUNT = 4


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
    return logarithmic_weights(int(capped.max(initial=1)))[capped]


def logarithmic_weights(largest: int) -> NDArray[np.int64]:
    """Return the ``log-tf`` weight of each count, from 0 (unused) to ``largest`` at least.

    It ends at 65,536, the cap of counts.
    """
    return _logarithmic(1 << (min(largest, _LARGEST_COUNT) - 1).bit_length())


@cache
def _logarithmic(largest: int) -> NDArray[np.int64]:
    """Return the weights of the counts from 0 (unused) to ``largest``."""
    scaled = [0] + [round(SCALE * (1 + math.log(n))) for n in range(1, largest + 1)]
    return np.array(scaled, np.int64)


def damped_weights(largest: int) -> NDArray[np.int64]:
    """Return the weight of each count of a feature of characters, damped.

    From 0 (unused) to ``largest`` at least, at most 65,536. Up to 4 the count itself, beyond
    4 * (1 + ln(count / 4)), in 1/1024, rounded: what a text says a few times weighs in full, a
    phrase that is repeated over and over does not outweigh all the rest. None up to 65,536 is
    within 1e-5 of a half.
    """
    return _damped(1 << (min(largest, _LARGEST_COUNT) - 1).bit_length())


@cache
def _damped(largest: int) -> NDArray[np.int64]:
    full = [SCALE * n for n in range(min(_FULL_COUNT, largest) + 1)]
    rest = range(len(full), largest + 1)
    scaled = [round(SCALE * _FULL_COUNT * (1 + math.log(n / _FULL_COUNT))) for n in rest]
    return np.array(full + scaled, np.int64)


def idf_weights(document_counts: NDArray[np.int64], documents: int) -> NDArray[np.int64]:
    """Return the inverse document frequency of features: 1 + ln((1 + n) / (1 + df)), in 1/1024.

    Rounded to the nearest integer, ties to even; never below 1024 for df <= n. A feature that no
    document has (df = 0) weighs the most.

    Args:
        document_counts: Documents that have the feature, df; shape (features,).
        documents: Documents in all, n.
    """
    frequencies, places = np.unique(document_counts, return_inverse=True)
    made = [_idf(documents, int(df)) for df in frequencies.tolist()]
    return np.array(made, np.int64)[places]


@cache
def _arithmetic() -> Context:
    from decimal import Context  # few schemes weigh by frequencies

    return Context(prec=28)


@lru_cache(1 << 16)
def _logarithm(number: int) -> Decimal:
    # Correctly rounded, so the same everywhere, which math.log need not be.
    context = _arithmetic()
    return context.ln(context.create_decimal(number))


def _idf(documents: int, document_count: int) -> int:
    context = _arithmetic()
    ratio = context.subtract(_logarithm(1 + documents), _logarithm(1 + document_count))
    return int(context.to_integral_value(context.multiply(SCALE, context.add(1, ratio))))
