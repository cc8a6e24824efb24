"""Find stored sentences similar to those of a text, even where words in them were changed.

The least common terms of the text's sentences are looked up. A stored sentence is a candidate where
it has two terms in common with one of the text, or a rare one and a further unit. The texts decide:
two sentences are alike where enough of their units are the same in one order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.sentence_terms import (
    asked_terms,
    may_be_alike,
    sentence_units,
    stepped_lengths,
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
# Terms that two sentences must have in common; a further unit beside a rare one counts as much.
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
        rare: How many stored sentences have a rare term at most: a further unit that the two
            sentences share counts as a second term. At most :data:`MOST_POSTINGS`.
        allowed: Which documents may be sources, of an array of them.
        on_step: Called before each piece of work; what it raises ends the search.
        alone: How many stored sentences at most have a term that counts as two.
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
    alone: int = 0


def unit_weights(units: LocatedUnits, words: int, characters: int) -> NDArray[np.float64]:
    """Return the weight of each unit: 1 / ``words`` where spaced, else 1 / ``characters``."""
    return np.where(units.spaced, 1 / words, 1 / characters)


@dataclass(frozen=True, slots=True)
class SentencePairs:
    """Sentences of a text and stored ones that have terms in common; arrays of one length.

    Attributes:
        places: Which sentence of the text, from 0; int64, ascending.
        documents: The document of the stored one; int64.
        starts: Its first character there; int64.
        contexts: The context of one of its terms, which tells its length; int32.
    """

    places: NDArray[np.int64]
    documents: NDArray[np.int64]
    starts: NDArray[np.int64]
    contexts: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.places)

    def of(self, chosen: NDArray[Any]) -> SentencePairs:
        """Return the pairs that a mask or places select."""
        return SentencePairs(
            self.places[chosen], self.documents[chosen], self.starts[chosen], self.contexts[chosen]
        )


def sentence_pairs(index: PassageIndex, asked: AskedSentences) -> SentencePairs:
    """Return the stored sentences that have terms in common with those of a text.

    Args:
        index: The index; it has terms of sentences.
        asked: The sentences.

    Raises:
        CorruptStore: The index is damaged.
    """
    found = []
    for begin in range(0, len(asked.spans), _BATCH_SENTENCES):
        asked.on_step()
        one = _candidates(index, asked, asked.spans[begin : begin + _BATCH_SENTENCES])
        found.append(replace(one, places=one.places + begin))
    if not found:
        none = np.empty(0, np.int64)
        return SentencePairs(none, none, none, none.astype(np.int32))
    return SentencePairs(
        *(
            np.concatenate([getattr(one, name) for one in found])
            for name in ("places", "documents", "starts", "contexts")
        )
    )


def like_sentences(
    index: PassageIndex, asked: AskedSentences, pairs: SentencePairs | None = None
) -> Iterator[LikeSentence]:
    """Yield the stored sentences that are similar to those of a text, in no particular order.

    Args:
        index: The index; it has terms of sentences, and the texts.
        asked: The sentences.
        pairs: What :func:`sentence_pairs` found for them, where that was asked before.

    Raises:
        CorruptStore: The index, or a text, is damaged.
    """
    bounds = np.searchsorted(asked.units.starts, asked.spans)
    sums = np.concatenate(([0.0], np.cumsum(asked.weights)))
    pairs = sentence_pairs(index, asked) if pairs is None else pairs
    # What has fewer units than must be in common is like nothing.
    enough = sums[bounds[:, 1]] - sums[bounds[:, 0]] > 1 - _ROUNDING
    lengths = stepped_lengths(bounds[:, 1] - bounds[:, 0])
    pairs = pairs.of(
        enough[pairs.places] & may_be_alike(lengths[pairs.places], pairs.contexts, asked.least)
    )
    order = np.argsort(pairs.documents, kind="stable")
    compared: dict[int, CommonUnits] = {}
    for rows in chunks(order.tolist(), _BATCH_COMPARED):
        asked.on_step()
        yield from _alike(
            index,
            asked,
            bounds,
            sums,
            compared=compared,
            places=pairs.places[rows],
            documents=pairs.documents[rows],
            starts=pairs.starts[rows],
        )


def _candidates(
    index: PassageIndex, asked: AskedSentences, spans: NDArray[np.int32]
) -> SentencePairs:
    """Return pairs of some sentences, numbered from 0, and stored ones."""
    units = sentence_units(asked.units, spans, index.normalization)
    terms = asked_terms(units)
    found = index.postings(np.unique(terms.hashes), MOST_POSTINGS)
    firsts = np.searchsorted(found.hashes, terms.hashes)
    counts = np.searchsorted(found.hashes, terms.hashes, side="right") - firsts
    rows = np.repeat(np.arange(len(terms)), counts)
    offsets = np.cumsum(counts) - counts
    postings = np.arange(len(rows)) - offsets[rows] + firsts[rows]
    contexts = found.lengths[postings].astype(np.int32)
    rare = counts[rows] <= asked.rare
    places = terms.sentences[rows]
    agreement = 1 + (units.has(places, contexts) & rare).astype(np.int64)
    agreement += counts[rows] <= asked.alone
    documents, starts = found.documents[postings], found.starts[postings]
    order = np.lexsort((starts, documents, places))
    made = SentencePairs(places, documents, starts, contexts).of(order)
    if not len(order):
        return made
    first = np.flatnonzero(begins_run(made.places, made.documents, made.starts))
    agreeing = first[np.add.reduceat(agreement[order], first) >= _LEAST_AGREEMENT]
    return made.of(agreeing[asked.allowed(made.documents[agreeing])])


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
