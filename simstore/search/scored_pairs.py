"""Scored pairs, and which of them each method finds.

Seven methods share the same pairs: ``simhash`` (distance at most the radius), ``minhash`` (the
sketches agree in a band and their estimate reaches the threshold), ``verified`` (found by one of
the two channels, and the resemblance reaches the threshold), ``likeness`` (found by one of the
two, and alike in what is rare), ``either`` (found by one of the two, and alike in what is rare or
of a resemblance that leaves no doubt), ``exact`` (the resemblance reaches the threshold, found or
not), ``exact-either`` (the likeness reaches the threshold or the resemblance leaves no doubt, found
or not). Two older ones join them where they are asked for: ``i-match`` (so many signatures agree)
and ``counting-bloom`` (the overlap of the counting Bloom filters reaches the threshold).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simstore.search.likeness import LEAST_COSINE, SURE_RESEMBLANCE

METHODS = ("simhash", "minhash", "verified", "likeness", "either", "exact", "exact-either")
# Methods of the literature that no store looks by.
OLDER = ("i-match", "counting-bloom")
# Those whose threshold is a likeness.
BY_LIKENESS = ("likeness", "either", "exact-either")
# Those that find what no channel does.
JOINED = ("exact", "exact-either")
NO_DISTANCE = 1 << 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredPairs:
    """Pairs of documents with all that the methods go by; shape (pairs,) each.

    A pair that is not here is found by no method and labelled by nobody.

    Attributes:
        first: Place of the first document.
        second: Place of the second, larger.
        labelled: They are labelled near-duplicates.
        distance: Hamming distance of the fingerprints; NO_DISTANCE without fingerprints.
        in_band: The sketches agree in a band.
        estimate: Resemblance estimated from the sketches.
        resemblance: Resemblance of the shingle sets; NaN where it is not known.
        likeness: Cosine of the rare terms; NaN where it is not known.
        cosine: Cosine of all terms; NaN where it is not known.
        agreeing: I-Match signatures that agree; 0 where nobody asked.
        filter_overlap: Overlap of the counting Bloom filters; NaN where nobody asked.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    labelled: NDArray[np.bool_]
    distance: NDArray[np.int64]
    in_band: NDArray[np.bool_]
    estimate: NDArray[np.float64]
    resemblance: NDArray[np.float64]
    likeness: NDArray[np.float64]
    cosine: NDArray[np.float64]
    agreeing: NDArray[np.int64]
    filter_overlap: NDArray[np.float64]


def found_by(pairs: ScoredPairs, method: str, threshold: float, radius: int) -> NDArray[np.bool_]:
    """Return which pairs a method finds.

    Args:
        pairs: The pairs.
        method: One of :data:`METHODS` or :data:`OLDER`.
        threshold: Its threshold, inclusive.
        radius: Radius of channel 1 where the method is not ``simhash``.
    """
    found: NDArray[np.bool_]
    if method == "simhash":
        found = pairs.distance <= threshold
    elif method == "minhash":
        found = pairs.in_band & (pairs.estimate >= threshold)
    elif method == "i-match":
        found = pairs.agreeing >= threshold
    elif method == "counting-bloom":
        found = pairs.filter_overlap >= threshold
    elif method == "exact":
        found = pairs.resemblance >= threshold
    elif method == "exact-either":
        found = (pairs.likeness >= threshold) | (pairs.resemblance >= SURE_RESEMBLANCE)
    else:
        found = (pairs.distance <= radius) | pairs.in_band
        if method == "verified":
            found &= pairs.resemblance >= threshold
        else:
            alike = (pairs.likeness >= threshold) & (pairs.cosine >= LEAST_COSINE)
            found &= (
                alike if method == "likeness" else alike | (pairs.resemblance >= SURE_RESEMBLANCE)
            )
    return found
