"""Choose pairs of the rarest tokens of a sentence (sentence terms), to find it after edits.

A sentence in which one character in five was changed, or whose words stand in another order, has no
long run left in common with the original, but most of its tokens. They are ordered, the least
common first, as a frozen table says and by hash among equals: of each sentence the index keeps the
first with the second, the third with the fourth, and so on. A sentence that is looked up asks for
all pairs of some more of its own: what its changes brought in may come before a stored one. What
is stored depends on the sentence alone, never on what else is stored.

The table of how common tokens are is part of the settings of passage indexes
(:mod:`.passage_recipe`) and never changes. The Chinese characters are those that jieba 0.42.1 (MIT)
counts most often in its dictionary, each with its traditional form.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.shingle_sets import begins_run
from simstore.fingerprint.stopwords import ENGLISH
from simstore.fingerprint.winnowing import HASH_BITS
from simstore.text.characters import table_rows
from simstore.text.located import LocatedUnits, located_units
from simstore.text.normalization import DEFAULT, Normalization
from simstore.text.tokens import mix

# Grades of words that say little, and of words of at most so many letters.
_STOP_WORD = 3
_SHORT_WORD, _SHORT_LETTERS = 1, 3


def commonness(units: LocatedUnits, normalization: Normalization) -> NDArray[np.uint8]:
    """Return how common each unit is: 0 for most, up to 3.

    Args:
        units: Units of a text.
        normalization: The form that they were brought into.

    Returns:
        Shape (units,).
    """
    known, grades = _table(normalization)
    places = np.minimum(np.searchsorted(known, units.hashes), len(known) - 1)
    found = np.where(known[places] == units.hashes, grades[places], np.uint8(0))
    short = units.spaced & (units.ends - units.starts <= _SHORT_LETTERS)
    return np.maximum(found, np.where(short, np.uint8(_SHORT_WORD), np.uint8(0)))


@cache
def _table(normalization: Normalization) -> tuple[NDArray[np.uint64], NDArray[np.uint8]]:
    """Return the hashes of the units that are common, ascending, and their grades."""
    words = b" ".join(sorted(ENGLISH)).decode()
    hashes, grades = [], []
    rows = ((int(grade), characters) for grade, characters in table_rows("common.txt"))
    for grade, text in ((_STOP_WORD, words), *rows):
        found = located_units(text, normalization).hashes
        hashes.append(found)
        grades.append(np.full(len(found), grade, np.uint8))
    # Of what several characters become, the first: the most common.
    known, firsts = np.unique(np.concatenate(hashes), return_index=True)
    return known, np.concatenate(grades)[firsts]


_LOST = np.uint64(64 - HASH_BITS)
# Sets the hashes of pairs apart from those of anchors, which lie in the same index.
_NAME = np.uint64(0x2545F4914F6CDD1D)
# Least units of a sentence that keeps terms; units of both kinds count by their share.
LEAST_WORDS, LEAST_CHARACTERS = 4, 8
# Terms that a sentence keeps, and one of so many words or characters: a term takes 12 bytes.
_PAIRS, _PAIRS_OF_LONG, _LONG_WORDS, _LONG_CHARACTERS = 2, 3, 20, 40
# Of so many units, the least common of a sentence, all pairs are looked up.
_UNITS_ASKED = 8
# A context is 16 bits: how long the sentence is, and the unit that comes after the pair in the
# order of commonness.
_FURTHER_BITS = 10
_FURTHER_MASK = (1 << _FURTHER_BITS) - 1
_LENGTH_SHIFT = _FURTHER_BITS
# Lengths are exact up to this one, and told in steps beyond it.
_EXACT_LENGTH, _LENGTH_STEP, _MOST_LENGTH = 32, 12, 63


@dataclass(frozen=True, slots=True)
class SentenceTerms:
    """Terms of the sentences of a text; arrays of one length.

    Attributes:
        hashes: Hash of each, 40 bits; uint64.
        sentences: Which sentence of the text it is of, from 0; int64, ascending.
        contexts: How long the sentence is, and which units it has besides the pair, 16 bits, never
            0; int32.
    """

    hashes: NDArray[np.uint64]
    sentences: NDArray[np.int64]
    contexts: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.hashes)


@dataclass(frozen=True, slots=True)
class SentenceUnits:
    """The units of sentences, of each sentence the least common first and each once.

    Attributes:
        hashes: Hash of each; uint64.
        sentences: Which sentence it is of, from 0; int64, ascending.
        ranks: Which of its sentence, from 0, the least common; int64.
        lengths: Context with the length of each sentence alone; int32, shape (sentences,).
    """

    hashes: NDArray[np.uint64]
    sentences: NDArray[np.int64]
    ranks: NDArray[np.int64]
    lengths: NDArray[np.int32]

    def has(self, sentences: NDArray[np.int64], contexts: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return whether sentences have the unit that contexts of stored terms name.

        By 10 bits of the units' hashes: of 20 others one in 50 is taken for it.

        Args:
            sentences: Which of these sentences; int64.
            contexts: Contexts of terms of stored sentences.
        """
        has = np.zeros((len(self.lengths), 1 << _FURTHER_BITS), bool)
        has[self.sentences, _further(self.hashes)] = True
        found: NDArray[np.bool_] = has[sentences, contexts & _FURTHER_MASK]
        return found


def sentence_units(
    units: LocatedUnits, spans: NDArray[np.integer[Any]], normalization: Normalization = DEFAULT
) -> SentenceUnits:
    """Return the units of sentences in the order in which terms are made of them.

    Args:
        units: The units of a text.
        spans: Its sentences, shape (n, 2).
        normalization: The form that the units were brought into.
    """
    firsts = np.searchsorted(units.starts, spans[:, 0]).astype(np.int64)
    ends = np.searchsorted(units.starts, spans[:, 1]).astype(np.int64)
    counts = ends - firsts
    sentences = np.repeat(np.arange(len(spans)), counts)
    places = np.arange(len(sentences)) + np.repeat(firsts - np.cumsum(counts) + counts, counts)
    hashes = units.hashes[places]
    if len(places):
        grades = commonness(units, normalization)[places]
        order = np.lexsort((mix(hashes ^ _NAME), grades, sentences))
        hashes, sentences = hashes[order], sentences[order]
        is_new = begins_run(hashes, sentences)
        hashes, sentences = hashes[is_new], sentences[is_new]
    ranks = np.arange(len(sentences)) - np.searchsorted(sentences, sentences)
    return SentenceUnits(hashes, sentences, ranks, stepped_lengths(counts))


def asked_terms(found: SentenceUnits) -> SentenceTerms:
    """Return the terms by which sentences are looked up: pairs of their least common units."""
    first = np.flatnonzero(found.ranks < _UNITS_ASKED - 1)
    firsts, others = [first[:0]], [first[:0]]
    for step in range(1, _UNITS_ASKED):
        other = first + step
        near = other < len(found.hashes)
        near[near] = (found.sentences[other[near]] == found.sentences[first[near]]) & (
            found.ranks[other[near]] < _UNITS_ASKED
        )
        firsts.append(first[near])
        others.append(other[near])
    return _pairs(found, np.concatenate(firsts), np.concatenate(others))


def _kept_pairs(found: SentenceUnits, counts: NDArray[np.int64]) -> SentenceTerms:
    """Return the first unit of each sentence with the second, the third with the fourth."""
    first = np.flatnonzero((found.ranks % 2 == 0) & (found.ranks < 2 * counts[found.sentences]))
    first = first[first + 1 < len(found.hashes)]
    first = first[found.sentences[first + 1] == found.sentences[first]]
    return _pairs(found, first, first + 1)


def _pairs(found: SentenceUnits, first: NDArray[np.intp], other: NDArray[np.intp]) -> SentenceTerms:
    order = np.lexsort((other, first))
    first, other = first[order], other[order]
    sentences = found.sentences[first]
    hashes = mix(mix(found.hashes[first] ^ _NAME) + found.hashes[other]) >> _LOST
    # The last unit of a sentence has none behind it; the first of all stands for that.
    after = np.minimum(other + 1, len(found.hashes) - 1)
    is_last = (after == other) | (found.sentences[after] != sentences)
    further = np.where(is_last, first - found.ranks[first], after)
    contexts = found.lengths[sentences] | _further(found.hashes[further])
    return SentenceTerms(hashes, sentences, contexts.astype(np.int32))


def _further(hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
    return (hashes >> np.uint64(64 - _FURTHER_BITS)).astype(np.int64)


def chosen_terms(
    units: LocatedUnits,
    spans: NDArray[np.integer[Any]],
    normalization: Normalization = DEFAULT,
) -> SentenceTerms:
    """Return the terms that an index keeps of sentences, each once a sentence.

    Sentences of fewer than 4 words, or 8 characters of scripts without blanks, keep none.

    Args:
        units: The units of a text.
        spans: Its sentences, shape (n, 2).
        normalization: The form that the units were brought into.
    """
    words, characters = _counts_of_kinds(units, spans)
    enough = words * LEAST_CHARACTERS + characters * LEAST_WORDS >= LEAST_WORDS * LEAST_CHARACTERS
    share = words * _LONG_CHARACTERS + characters * _LONG_WORDS
    is_long = share >= _LONG_WORDS * _LONG_CHARACTERS
    counts = np.where(enough, np.where(is_long, _PAIRS_OF_LONG, _PAIRS), 0)
    return _kept_pairs(sentence_units(units, spans, normalization), counts)


def _counts_of_kinds(
    units: LocatedUnits, spans: NDArray[np.integer[Any]]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the words of each sentence, and its characters of scripts without blanks."""
    firsts, ends = np.searchsorted(units.starts, spans).T
    before = np.concatenate(([0], np.cumsum(units.spaced)))
    words = before[ends] - before[firsts]
    return words, ends - firsts - words


def stepped_lengths(lengths: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return lengths of sentences as contexts tell them: 6 bits, shifted to their place."""
    steps = -(-(lengths - _EXACT_LENGTH) // _LENGTH_STEP)
    stepped = np.where(lengths <= _EXACT_LENGTH, lengths, _EXACT_LENGTH + steps)
    return (np.minimum(stepped, _MOST_LENGTH) << _LENGTH_SHIFT).astype(np.int32)


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
