"""Find stored sentences similar to those of a text, even where words in them were changed.

The least common terms of the text's sentences are looked up. A stored sentence is a candidate where
it has two terms in common with one of the text, or a rare one and a unit beside it. The texts
decide: two sentences are alike where enough of their units are the same in one order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.sentence_terms import (
    TERMS_ASKED,
    is_beside,
    may_be_alike,
    sentence_terms,
)
from simstore.fingerprint.shingle_sets import begins_run
from simstore.search.alignment import CommonUnits
from simstore.search.symbols import Alphabet, Symbols
from simstore.services.check.check_index import PassageIndex
from simstore.services.check.paper_units import SourceUnits, source_units
from simstore.storage.rows import chunks
from simstore.text.located import LocatedUnits

# Least 2 M / (a + b) of two sentences of a and b units that have M in common, for a query: one unit
# in five was changed in most that have .8; what only speaks of the same seldom has .7.
LEAST_SIMILARITY = 0.7
# A pair that is in more sentences than these tells little, and is not looked up.
MOST_POSTINGS = 250
# Terms that two sentences must have in common; a unit beside a rare one counts as much.
_LEAST_AGREEMENT = 2
# Sentences of the text that are looked up together, and stored ones that are compared together.
_BATCH_SENTENCES = 128
_BATCH_COMPARED = 1_024
_ROUNDING = 1e-9
# Characters before and after a stored sentence by which its surroundings are known.
_SURROUNDING = 16

Allowed = Callable[[NDArray[np.int64]], NDArray[np.bool_]]


@dataclass(frozen=True, slots=True)
class LikeSentence:
    """A stored sentence that is similar to one of a text.

    Attributes:
        place: Which sentence of the text, from 0.
        first: The first unit of that sentence.
        end: The unit behind its last.
        source: The stored sentence, cut into units.
        similarity: 2 M / (a + b).
        before: Characters before the stored sentence.
        after: Characters behind it.
    """

    place: int
    first: int
    end: int
    source: SourceUnits
    similarity: float
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedSentences:
    """The sentences of a text, and the conditions that similar stored sentences must meet.

    Attributes:
        units: The units of the text.
        alphabet: Its distinct units.
        symbols: Its units as characters.
        spans: Its sentences, shape (n, 2).
        weights: What each unit counts; the common units of two sentences count 1 together.
        least: Least similarity.
        rare: How many stored sentences have a rare term at most: a unit beside it, the same in two
            sentences, counts as a second term. At most :data:`MOST_POSTINGS`.
        allowed: Which documents may be sources, of an array of them.
        on_step: Called before each piece of work; what it raises ends the search.
    """

    units: LocatedUnits
    alphabet: Alphabet
    symbols: Symbols
    spans: NDArray[np.int32]
    weights: NDArray[np.float64]
    least: float
    rare: int
    allowed: Allowed
    on_step: Callable[[], None]


def unit_weights(units: LocatedUnits, words: int, characters: int) -> NDArray[np.float64]:
    """Return the weight of each unit: 1 / ``words`` where spaced, else 1 / ``characters``."""
    return np.where(units.spaced, 1 / words, 1 / characters)


def like_sentences(index: PassageIndex, asked: AskedSentences) -> Iterator[LikeSentence]:
    """Yield the stored sentences that are similar to those of a text, in no particular order.

    Args:
        index: The index; it has terms of sentences, and the texts.
        asked: The sentences.

    Raises:
        CorruptStore: The index, or a text, is damaged.
    """
    bounds = np.searchsorted(asked.units.starts, asked.spans)
    sums = np.concatenate(([0.0], np.cumsum(asked.weights)))
    # What has fewer units than must be in common is like nothing.
    enough = np.flatnonzero(sums[bounds[:, 1]] - sums[bounds[:, 0]] > 1 - _ROUNDING)
    for begin in range(0, len(enough), _BATCH_SENTENCES):
        asked.on_step()
        chosen = enough[begin : begin + _BATCH_SENTENCES]
        places, documents, starts = _candidates(index, asked, chosen)
        order = np.argsort(documents, kind="stable")
        compared: dict[int, CommonUnits] = {}
        for rows in chunks(order.tolist(), _BATCH_COMPARED):
            asked.on_step()
            yield from _alike(
                index,
                asked,
                bounds,
                sums,
                compared=compared,
                places=places[rows],
                documents=documents[rows],
                starts=starts[rows],
            )


def _candidates(
    index: PassageIndex, asked: AskedSentences, chosen: NDArray[np.intp]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return pairs of sentences that may be alike: place in the text, document, start in it."""
    terms = sentence_terms(asked.units, asked.spans[chosen], index.normalization, TERMS_ASKED)
    found = index.postings(np.unique(terms.hashes), MOST_POSTINGS)
    firsts = np.searchsorted(found.hashes, terms.hashes)
    counts = np.searchsorted(found.hashes, terms.hashes, side="right") - firsts
    rows = np.repeat(np.arange(len(terms)), counts)
    offsets = np.cumsum(counts) - counts
    postings = np.arange(len(rows)) - offsets[rows] + firsts[rows]
    contexts, others = terms.contexts[rows], found.lengths[postings].astype(np.int32)
    fitting = may_be_alike(contexts, others, asked.least)
    rows, postings = rows[fitting], postings[fitting]
    before, after = is_beside(contexts[fitting], others[fitting])
    rare = counts[rows] <= asked.rare
    agreement = 1 + (before & rare).astype(np.int64) + (after & rare)
    places = chosen[terms.sentences[rows]]
    documents, starts = found.documents[postings], found.starts[postings]
    order = np.lexsort((starts, documents, places))
    if not len(order):
        return places, documents, starts
    places, documents, starts = places[order], documents[order], starts[order]
    first = np.flatnonzero(begins_run(places, documents, starts))
    agreeing = first[np.add.reduceat(agreement[order], first) >= _LEAST_AGREEMENT]
    agreeing = agreeing[asked.allowed(documents[agreeing])]
    return places[agreeing], documents[agreeing], starts[agreeing]


def _alike(
    index: PassageIndex,
    asked: AskedSentences,
    bounds: NDArray[np.intp],
    sums: NDArray[np.float64],
    compared: dict[int, CommonUnits],
    places: NDArray[np.int64],
    documents: NDArray[np.int64],
    starts: NDArray[np.int64],
) -> Iterator[LikeSentence]:
    """Yield those of candidates that are alike, by their texts."""
    numbers, firsts = np.unique(documents, return_index=True)
    texts = index.texts(numbers.tolist())
    spans = index.sentence_spans(texts)
    parts, rows, ends = [], [], []
    # The candidates come by document.
    of_documents = np.split(starts, firsts[1:])
    for number, first, asked_starts in zip(
        numbers.tolist(), firsts.tolist(), of_documents, strict=True
    ):
        kept = spans.get(number)
        if kept is None or not len(kept):
            continue
        found = np.minimum(np.searchsorted(kept[:, 0], asked_starts), len(kept) - 1)
        for step in np.flatnonzero(kept[found, 0] == asked_starts).tolist():
            start, end = kept[found[step]].tolist()
            parts.append((number, start, texts[number][start:end]))
            rows.append(first + step)
            ends.append(end)
    sources = source_units(parts, asked.alphabet, index.normalization)
    for row, end, source in zip(rows, ends, sources, strict=True):
        place = int(places[row])
        first, last = bounds[place].tolist()
        known = compared.get(place)
        if known is None:
            known = compared[place] = CommonUnits(asked.symbols.text[first:last])
        common = known.count(source.symbols.text)
        similarity = 2 * common / (last - first + len(source.symbols))
        if similarity < asked.least:
            continue
        # The units in common weigh what those of the sentence weigh on average.
        if common * (sums[last] - sums[first]) / (last - first) > 1 - _ROUNDING:
            text = texts[source.document_id]
            yield LikeSentence(
                place,
                first,
                last,
                source,
                similarity,
                text[max(source.offset - _SURROUNDING, 0) : source.offset],
                text[end : end + _SURROUNDING],
            )
