"""I-Match: a digest of the terms of a text that are neither common nor rare in a collection.

References:
    Chowdhury, Frieder, Grossman, McCabe: Collection statistics for fast duplicate document
    detection, ACM TOIS 20(2), 2002 (terms within a band of idf, sorted, in one digest). Kołcz,
    Chowdhury, Alspector: Improved robustness of signature-based near-replica detection via
    lexicon randomization, KDD 2004 (further lexicons, each without a random part of the terms; two
    texts match where one of their signatures agrees).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from simstore.errors import InvalidParameter
from simstore.fingerprint.feature_hash import xxh3
from simstore.fingerprint.features import FeatureCounts
from simstore.text.tokens import mix

SIGNATURE_BYTES = 16
# Share of the lexicon that each random lexicon is without.
LEFT_OUT = 1 / 3

Signature = bytes | None


def check_band(low: float, high: float) -> None:
    """Raise InvalidParameter unless ``0 <= low <= high <= 1``."""
    if not 0 <= low <= high <= 1:
        raise InvalidParameter(f"idf band {low:g} to {high:g}: both from 0 to 1, the lower first")


def in_lexicon(
    document_counts: NDArray[np.int64], documents: int, low: float, high: float
) -> NDArray[np.bool_]:
    """Return which terms are in the lexicon: those whose normalized idf lies within a band.

    The normalized idf of a term in d of n documents is ln(n / d) / ln n: 0 for a term of all
    documents, 1 for a term of one. A term of none is in no lexicon.

    Args:
        document_counts: Documents of the collection with each term, shape (terms,).
        documents: Documents of the collection, at least 2.
        low: Least normalized idf, inclusive.
        high: Largest normalized idf, inclusive.

    Returns:
        bool, shape (terms,).
    """
    check_band(low, high)
    if documents < 2:
        raise InvalidParameter(f"{documents} documents are too few to tell common terms from rare")
    known = document_counts > 0
    shares = np.log(np.maximum(document_counts, 1) / documents) / -math.log(documents)
    # A term of one document has 1 and a term of all has 0, whatever the logarithm's last bit says.
    shares = np.round(shares, 12)
    result: NDArray[np.bool_] = known & (shares >= low) & (shares <= high)
    return result


def signatures(terms: Sequence[bytes], lexicons: int, seed: int = 0) -> tuple[Signature, ...]:
    """Return the signatures of a text: of the whole lexicon, then of each random lexicon.

    A random lexicon is the whole one without a third of its terms, drawn by a hash of the term,
    the seed, and the lexicon's number: the same for every text and in every process.

    Args:
        terms: The distinct terms of the text that are in the lexicon, in any order.
        lexicons: Number of random lexicons.
        seed: Chooses the random lexicons; 0 to 2**64 - 1.

    Returns:
        ``lexicons + 1`` signatures of 16 bytes; None where no term is left.
    """
    ordered = sorted(terms)
    columns = np.arange(len(ordered))
    return _signatures(_parts(ordered), _kept(ordered, lexicons, seed), columns)


def signatures_of_rows(
    counts: FeatureCounts, in_lexicon: NDArray[np.bool_], lexicons: int, seed: int = 0
) -> Iterator[tuple[Signature, ...]]:
    """Yield the :func:`signatures` of each document of a batch.

    Args:
        counts: The terms of each document.
        in_lexicon: Which terms are in the lexicon, shape (terms,).
        lexicons: Number of random lexicons.
        seed: Chooses the random lexicons; 0 to 2**64 - 1.
    """
    chosen = np.flatnonzero(in_lexicon)
    terms = [counts.terms[column] for column in chosen.tolist()]
    order = sorted(range(len(terms)), key=terms.__getitem__)
    ordered = [terms[place] for place in order]
    parts, kept = _parts(ordered), _kept(ordered, lexicons, seed)
    # Place of each term in the order; -1: it is not in the lexicon.
    place_of = np.full(len(counts.terms), -1, np.int64)
    place_of[chosen[order]] = np.arange(len(order))
    for document in range(len(counts)):
        places = place_of[counts.row(document)[0]]
        yield _signatures(parts, kept, np.sort(places[places >= 0]))


def _parts(ordered: Sequence[bytes]) -> list[bytes]:
    """Return what is digested of each term: behind its length, so that no two lists are alike."""
    return [b"%d:%b" % (len(term), term) for term in ordered]


def _kept(ordered: Sequence[bytes], lexicons: int, seed: int) -> NDArray[np.bool_]:
    """Return which terms each random lexicon has, shape (lexicons, terms)."""
    hashes = xxh3(ordered, 64)[:, 0]
    found = np.empty((lexicons, len(ordered)), np.bool_)
    for number in range(1, lexicons + 1):
        salt = np.array([seed, number], np.uint64)
        drawn = mix(mix(hashes ^ mix(salt[:1])) + mix(salt[1:]))
        found[number - 1] = drawn >= np.uint64(round(LEFT_OUT * 2**64))
    return found


def _signatures(
    parts: Sequence[bytes], kept: NDArray[np.bool_], places: NDArray[np.int64]
) -> tuple[Signature, ...]:
    own = [parts[place] for place in places.tolist()]
    return _digest(own), *(_digest(compress(own, row.tolist())) for row in kept[:, places])


def agreements(first: Sequence[Signature], second: Sequence[Signature]) -> int:
    """Return how many signatures of two texts agree; one that is missing agrees with none.

    Args:
        first: Signatures of a text, by lexicon.
        second: Those of another by the same lexicons.
    """
    return sum(a is not None and a == b for a, b in zip(first, second, strict=True))


def _digest(parts: Iterable[bytes]) -> Signature:
    """Return BLAKE2b of parts that are not empty; None where there are none."""
    joined = b"".join(parts)
    return hashlib.blake2b(joined, digest_size=SIGNATURE_BYTES).digest() if joined else None
