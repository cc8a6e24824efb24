"""I-Match and counting Bloom filters over all documents of a store."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.counting_bloom import filled_units, filter_places
from simstore.fingerprint.features import FeatureCounts
from simstore.fingerprint.imatch import SIGNATURE_BYTES, in_lexicon, signatures_of_rows
from simstore.fingerprint.shingle_sets import from_rows
from simstore.search.all_pairs import resemblances
from simstore.search.bands import pairs_of_columns

# Counters of each filter: texts of a thousand features seldom meet in one by chance.
_COUNTERS = 1 << 18
_LEAST_DOCUMENTS = 2


@dataclass(frozen=True, slots=True)
class OlderMethods:
    """How to apply them; the defaults are those of ``compare``.

    Attributes:
        lexicons: Random lexicons of I-Match.
        idf_band: Least and largest normalized idf of its lexicon.
        filter_hashes: Counters a feature.
    """

    lexicons: int = 10
    idf_band: tuple[float, float] = (0.2, 0.9)
    filter_hashes: int = 4


class MethodSignatures:
    """The I-Match signatures of documents.

    Args:
        counts: The terms of each document.
        options: How to make them.
    """

    def __init__(self, counts: FeatureCounts, options: OlderMethods | None = None) -> None:
        chosen = options or OlderMethods()
        shape = (len(counts), chosen.lexicons + 1, SIGNATURE_BYTES // 8)
        self._words = np.zeros(shape, np.uint64)
        self._made = np.zeros(shape[:2], np.bool_)
        if len(counts) < _LEAST_DOCUMENTS:
            return
        documents = np.bincount(counts.columns, minlength=len(counts.terms))
        lexicon = in_lexicon(documents, len(counts), *chosen.idf_band)
        rows = signatures_of_rows(counts, lexicon, chosen.lexicons)
        for row, signatures in enumerate(rows):
            for number, signature in enumerate(signatures):
                if signature is not None:
                    self._words[row, number] = np.frombuffer(signature, np.uint64)
                    self._made[row, number] = True

    def pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the pairs of documents of which a signature agrees."""
        first, second = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for number in range(self._made.shape[1]):
            rows = np.flatnonzero(self._made[:, number])
            found = pairs_of_columns([self._words[rows, number, 0]], len(rows))
            first.append(rows[found[:, 0]])
            second.append(rows[found[:, 1]])
        return np.concatenate(first), np.concatenate(second)

    def agreements(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many signatures of each pair agree; one that is missing agrees with none."""
        agreeing = np.zeros(len(first), np.int64)
        for number in range(self._made.shape[1]):
            words, made = self._words[:, number], self._made[:, number]
            same = (words[first] == words[second]).all(axis=1)
            agreeing += same & made[first] & made[second]
        return agreeing


def filter_overlaps(
    counts: FeatureCounts,
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    options: OlderMethods | None = None,
) -> NDArray[np.float64]:
    """Return the overlap of the counting Bloom filters of pairs of documents.

    Nothing finds such pairs but a look at all of them: they are found by others.

    Args:
        counts: The terms of each document.
        first: The first document of each pair.
        second: The second.
        options: How to make the filters.
    """
    hashes = (options or OlderMethods()).filter_hashes
    places = filter_places(counts.terms, counters=_COUNTERS, hashes=hashes)
    wanted = np.zeros(len(counts), np.bool_)
    wanted[first] = wanted[second] = True
    rows = []
    for document in range(len(counts)):
        columns, numbers = counts.row(document)
        size = slice(None) if wanted[document] else slice(0)
        rows.append(filled_units(places[columns[size]], numbers[size]))
    return resemblances(from_rows(rows), first, second)
