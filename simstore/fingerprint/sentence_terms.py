"""Terms of sentences: the few pairs of units by which an index finds an edited sentence again.

A sentence in which one character in five was changed has no long run left in common with what it
was, but most of its pairs of neighbouring units. Of each sentence the index keeps the least common
few, as a frozen table says and by hash among equals. A sentence that is looked up asks for some
more of its own, chosen in the same way: what its changes brought in may come before a kept one.
What is kept depends on the sentence alone, never on what else is stored.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.common_units import commonness
from simstore.fingerprint.shingle_sets import runs
from simstore.fingerprint.winnowing import HASH_BITS
from simstore.text.located import LocatedUnits
from simstore.text.mixing import mix
from simstore.text.normalization import DEFAULT, Normalization

_LOST = np.uint64(64 - HASH_BITS)
# Sets the hashes of pairs apart from those of anchors, which lie in the same index.
_NAME = np.uint64(0x5851F42D4C957F2D)
# Least units of a sentence that keeps terms; units of both kinds count by their share.
LEAST_WORDS, LEAST_CHARACTERS = 4, 8
# Terms that a sentence keeps, and one of at most so many units that are characters for the most
# part: they change one by one, and so few have hardly another way to be found.
_TERMS, _TERMS_OF_SHORT, _SHORT_UNITS = 3, 4, 32
# Terms by which a sentence is looked up. With one unit in five changed, all of its terms found at
# most .002 of the sentences more: of 600 short and 600 long ones, English and Chinese.
TERMS_ASKED = 7
# A context is 16 bits: how long the sentence is, and what stands before and after the pair.
_BESIDE_BITS = 5
_BESIDE_MASK = (1 << _BESIDE_BITS) - 1
_LENGTH_SHIFT = 2 * _BESIDE_BITS
# Lengths are exact up to this one, and told in steps beyond it.
_EXACT_LENGTH, _LENGTH_STEP, _MOST_LENGTH = 32, 12, 63


@dataclass(frozen=True, slots=True)
class SentenceTerms:
    """Terms of the sentences of a text; arrays of one length.

    Attributes:
        hashes: Hash of each, 40 bits; uint64.
        sentences: Which sentence of the text it is of, from 0; int64, ascending.
        contexts: How long the sentence is and which units stand beside the pair, 16 bits, never
            0; int32.
    """

    hashes: NDArray[np.uint64]
    sentences: NDArray[np.int64]
    contexts: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.hashes)


def sentence_terms(
    units: LocatedUnits,
    spans: NDArray[np.int32],
    normalization: Normalization = DEFAULT,
    most: int | None = None,
) -> SentenceTerms:
    """Return the terms of sentences, each once a sentence, in the order of the text.

    Args:
        units: The units of a text.
        spans: Its sentences, shape (n, 2).
        normalization: The form that the units were brought into.
        most: How many of each sentence, the least common ones; None: all.
    """
    found, places = _terms(units, spans)
    order, ranks = _ranked(units, found, places, normalization)
    kept = np.sort(order if most is None else order[ranks < most])
    return SentenceTerms(found.hashes[kept], found.sentences[kept], found.contexts[kept])


def chosen_terms(
    units: LocatedUnits, spans: NDArray[np.int32], normalization: Normalization = DEFAULT
) -> SentenceTerms:
    """Return the terms that an index keeps of sentences, each once a sentence.

    Sentences of fewer than 4 words, or 8 characters of scripts without blanks, keep none.

    Args:
        units: The units of a text.
        spans: Its sentences, shape (n, 2).
        normalization: The form that the units were brought into.
    """
    found, places = _terms(units, spans)
    order, ranks = _ranked(units, found, places, normalization)
    kept = order[ranks < _term_counts(units, spans)[found.sentences[order]]]
    return SentenceTerms(found.hashes[kept], found.sentences[kept], found.contexts[kept])


def _ranked(
    units: LocatedUnits,
    found: SentenceTerms,
    places: NDArray[np.int64],
    normalization: Normalization,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the terms by sentence, the least common first, each once; and the rank of each."""
    if not len(found):
        none = np.empty(0, np.int64)
        return none, none
    grades = commonness(units, normalization)
    grade = grades[places] + grades[places + 1]
    order = np.lexsort((found.hashes, grade, found.sentences))
    hashes, sentences = found.hashes[order], found.sentences[order]
    # A pair that occurs twice has one grade, so both lie side by side; the first stays.
    is_new = np.ones(len(order), bool)
    is_new[1:] = (hashes[1:] != hashes[:-1]) | (sentences[1:] != sentences[:-1])
    order, sentences = order[is_new], sentences[is_new]
    return order, np.arange(len(order)) - np.searchsorted(sentences, sentences)


def _term_counts(units: LocatedUnits, spans: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return how many terms each sentence keeps at most."""
    firsts, ends = np.searchsorted(units.starts, spans).T
    before = np.concatenate(([0], np.cumsum(units.spaced)))
    words = before[ends] - before[firsts]
    characters = ends - firsts - words
    is_short = (characters > words) & (words + characters <= _SHORT_UNITS)
    counts = np.where(is_short, _TERMS_OF_SHORT, _TERMS)
    enough = words * LEAST_CHARACTERS + characters * LEAST_WORDS >= LEAST_WORDS * LEAST_CHARACTERS
    return np.where(enough, counts, 0)


def is_beside(
    contexts: NDArray[np.int32], others: NDArray[np.int32]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return whether the same unit stands before a pair in two sentences, and after it.

    By 5 bits of the units' hashes: of two others one in 32 is taken for the same.
    """
    differ = contexts ^ others
    return (differ >> _BESIDE_BITS & _BESIDE_MASK) == 0, (differ & _BESIDE_MASK) == 0


def may_be_alike(
    contexts: NDArray[np.int32], others: NDArray[np.int32], least: float
) -> NDArray[np.bool_]:
    """Return whether two sentences are of lengths that allow a similarity.

    Args:
        contexts: A context of each sentence.
        others: Contexts of the sentences that they are compared with.
        least: The least 2 M / (a + b) of sentences of a and b units, M of them in common.
    """
    low, high = _lengths(contexts)
    other_low, other_high = _lengths(others)
    # The lengths that are most alike of those that the contexts stand for.
    shorter = np.minimum(np.minimum(high, other_high), np.maximum(low, other_low))
    longer = np.maximum(np.minimum(high, other_high), np.maximum(low, other_low))
    apart = (high < other_low) | (other_high < low)
    allowed: NDArray[np.bool_] = ~apart | (2 * shorter >= least * (shorter + longer))
    return allowed


def _lengths(contexts: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the least and the most units of the sentences of contexts."""
    told = contexts.astype(np.int64) >> _LENGTH_SHIFT
    stepped = _EXACT_LENGTH + _LENGTH_STEP * (told - _EXACT_LENGTH)
    low = np.where(told <= _EXACT_LENGTH, told, stepped - _LENGTH_STEP + 1)
    high = np.where(told <= _EXACT_LENGTH, told, stepped)
    # The last step has no end.
    return low, np.where(told == _MOST_LENGTH, np.int64(1) << 31, high)


def _terms(
    units: LocatedUnits, spans: NDArray[np.int32]
) -> tuple[SentenceTerms, NDArray[np.int64]]:
    """Return all terms, and the place of the first unit of each."""
    firsts = np.searchsorted(units.starts, spans[:, 0]).astype(np.int64)
    ends = np.searchsorted(units.starts, spans[:, 1]).astype(np.int64)
    counts = np.maximum(ends - firsts - 1, 0)
    sentences = np.repeat(np.arange(len(spans)), counts)
    if not len(sentences):
        none = np.empty(0, np.int64)
        return SentenceTerms(none.astype(np.uint64), none, none.astype(np.int32)), none
    offsets = np.cumsum(counts) - counts
    places = np.arange(len(sentences)) - offsets[sentences] + firsts[sentences]
    hashes = mix(runs(units.hashes, 2)[places] ^ _NAME) >> _LOST
    beside = (units.hashes >> np.uint64(64 - _BESIDE_BITS)).astype(np.int64)
    # At an end of the sentence the unit at the other side of the pair stands for the one beside.
    before = np.where(places > firsts[sentences], places - 1, places)
    after = np.where(places + 2 < ends[sentences], places + 2, places + 1)
    lengths = (ends - firsts)[sentences]
    steps = -(-(lengths - _EXACT_LENGTH) // _LENGTH_STEP)
    told = np.where(lengths <= _EXACT_LENGTH, lengths, _EXACT_LENGTH + steps)
    contexts = (
        np.minimum(told, _MOST_LENGTH) << _LENGTH_SHIFT
        | beside[before] << _BESIDE_BITS
        | beside[after]
    )
    return SentenceTerms(hashes, sentences, contexts.astype(np.int32)), places
