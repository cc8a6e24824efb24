"""Resemblance and containment of two texts, from their shingle sets or from their sketches.

References:
    Broder: On the resemblance and containment of documents, SEQUENCES 1997, section 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Overlap:
    """How much of two texts is the same.

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
