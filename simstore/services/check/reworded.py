"""Find stretches of a paper that have their words in common with a source, in whatever order.

Sentences are bags of units, and rare units weigh more: how rare each is, is counted in the
sentences of the paper and those around what was found. There each sentence is compared with each.
Pairs that are alike are gathered by their places in both texts, and what is gathered is told where
the two stretches are alike as a whole, too.

References:
    Sanchez-Perez, Sidorov, Gelbukh: The winning approach to text alignment for text reuse
    detection at PAN 2014, CLEF 2014, sections 2 and 3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simstore.search.alignment import Stretch, aligned
from simstore.services.check.check_index import PassageIndex
from simstore.services.check.copies import FindOptions, FoundCopy, UnitBounds
from simstore.services.check.paper_units import PaperUnits, SourceUnits, source_units
from simstore.services.check.sentence_lookup import AskedSentences, SentencePairs
from simstore.storage.rows import chunks

# Two sentences are alike from so large a cosine and Dice coefficient of their bags on.
LEAST_COSINE, LEAST_DICE = 0.3, 0.33
# A stretch is told from so large a cosine on, and from so many units in common of the rarest kind:
# words, and characters of scripts without blanks, of which texts of one subject share more.
LEAST_OF_WORDS, LEAST_OF_CHARACTERS = 0.6, 0.65
LEAST_SHARED = 10.0, 12.0
# And so large a Dice coefficient: a long stretch has the words of any short one.
LEAST_WHOLE = 0.5
# Sentences beside a stretch belong to it where so much of them is in common.
LEAST_TAKEN = 0.5
# Sentences within a stretch that have less in common with the source are the paper's own.
LEAST_WITHIN = 0.3
# Sentences before and after one that was found that are compared too.
_AROUND = 8
# Sentences that may lie between two that are alike, in either text.
_MOST_GAP = 4
# Few sentences do not tell how rare a unit is: they are taken for so many.
_LEAST_SENTENCES = 100
_BATCH_DOCUMENTS = 64


@dataclass(frozen=True, slots=True)
class _Bags:
    """Sentences as bags: each distinct unit of each, sentence by sentence.

    Attributes:
        bounds: First unit of each sentence, and the one behind its last, shape (n, 2).
        rows: Which sentence each entry is of; ascending.
        codes: The unit: 0 stands for every one that the paper has not.
        counts: How often it is in the sentence.
        begins: First entry of each sentence, and the number of all.
    """

    bounds: NDArray[np.int64]
    rows: NDArray[np.int64]
    codes: NDArray[np.int64]
    counts: NDArray[np.int64]
    begins: NDArray[np.int64]

    @classmethod
    def of(cls, codes: NDArray[np.int64], bounds: NDArray[np.int64], size: int) -> _Bags:
        """Return the bags of sentences of units with these codes, less than ``size``."""
        lengths = bounds[:, 1] - bounds[:, 0]
        rows = np.repeat(np.arange(len(bounds)), lengths)
        places = np.arange(len(rows)) + np.repeat(
            bounds[:, 0] - np.cumsum(lengths) + lengths, lengths
        )
        keys, counts = np.unique(rows * size + codes[places], return_counts=True)
        begins = np.searchsorted(keys, np.arange(len(bounds) + 1) * size)
        return cls(bounds, keys // size, keys % size, counts, begins)

    def sums(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weight of each sentence; units that the paper has not count each time."""
        each = weights[self.codes] * np.where(self.codes == 0, self.counts, 1)
        return np.bincount(self.rows, each, len(self.bounds)).astype(np.float64)

    def matrix(
        self, chosen: NDArray[np.int64], columns: NDArray[np.int64], weights: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the weights of the units of chosen sentences.

        Args:
            chosen: Rows of the matrix.
            columns: The column of each code, -1 where it has none.
            weights: Of each code.
        """
        made = np.zeros((len(chosen), int(columns.max(initial=-1)) + 1))
        lengths = self.begins[chosen + 1] - self.begins[chosen]
        entries = np.arange(int(lengths.sum())) + np.repeat(
            self.begins[chosen] - np.cumsum(lengths) + lengths, lengths
        )
        codes = self.codes[entries]
        at = columns[codes]
        rows = np.repeat(np.arange(len(chosen)), lengths)
        made[rows[at >= 0], at[at >= 0]] = weights[codes[at >= 0]]
        return made

    def table(self, first: int, end: int, size: int) -> NDArray[np.int64]:
        """Return how often each unit is in each of some sentences that follow one another."""
        made = np.zeros((end - first, size), np.int64)
        entries = slice(int(self.begins[first]), int(self.begins[end]))
        made[self.rows[entries] - first, self.codes[entries]] = self.counts[entries]
        return made


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a source: its sentences, and those of the paper that may be alike.

    Attributes:
        source: Its units.
        bounds: First unit of each sentence, and the one behind its last, shape (n, 2).
        places: Sentences of the paper; ascending.
    """

    source: SourceUnits
    bounds: NDArray[np.int64]
    places: NDArray[np.int64]


class ComparedSentences:
    """The sentences of a paper and the stored ones around those that share terms with them.

    Args:
        paper: The paper.
        index: The index; it has the texts.
        asked: The sentences of the paper.
        pairs: Those that have terms in common with stored ones.
        options: The least similarity, and what each unit counts: those in common count 1 together.

    Raises:
        CorruptStore: A text is damaged.
    """

    def __init__(
        self,
        paper: PaperUnits,
        index: PassageIndex,
        asked: AskedSentences,
        pairs: SentencePairs,
        options: FindOptions,
    ) -> None:
        self._paper, self._on_step, self._options = paper, asked.on_step, options
        self._parts: list[_Part] = []
        for batch in chunks(np.unique(pairs.documents).tolist(), _BATCH_DOCUMENTS):
            asked.on_step()
            self._parts += _parts(index, paper, pairs, batch)
        self._names, codes = np.unique(paper.symbols.codes, return_inverse=True)
        self._codes = codes.reshape(-1) + 1
        size = len(self._names) + 1
        bounds = np.searchsorted(paper.units.starts, asked.spans).astype(np.int64)
        self._bags = _Bags.of(self._codes, bounds, size)
        self._theirs = [
            _Bags.of(self._codes_of(part.source), part.bounds, size) for part in self._parts
        ]
        frequencies = np.bincount(self._bags.codes, minlength=size)
        for bags in self._theirs:
            frequencies += np.bincount(bags.codes, minlength=size)
        # What the paper has not is as rare as can be.
        frequencies[0] = 1
        total = max(len(bounds) + sum(len(part.bounds) for part in self._parts), _LEAST_SENTENCES)
        self._weights = np.log((total + 1) / np.maximum(frequencies, 1))
        self._norms = np.sqrt(self._bags.sums(self._weights**2))
        self._sums = self._bags.sums(self._weights)

    def stretches(self) -> Iterator[FoundCopy]:
        """Yield the stretches of the paper whose words a source has, in whatever order."""
        for part, theirs in zip(self._parts, self._theirs, strict=True):
            self._on_step()
            seeds = self._seeds(part, theirs)
            waiting = [(group, _MOST_GAP) for group in _gathered(seeds, _MOST_GAP)]
            while waiting:
                group, gap = waiting.pop()
                found = self._whole(part, theirs, group)
                if isinstance(found, list):
                    waiting += [(one, gap) for one in found]
                elif found is not None:
                    yield found
                elif gap:
                    # What is not alike as a whole may have parts that are.
                    waiting += [(one, gap - 1) for one in _gathered(group, gap - 1)]

    def is_alike(self, copy: FoundCopy, of_words: float, of_characters: float) -> bool:
        """Return whether the two stretches of a copy are alike as bags of units.

        Args:
            copy: A copy.
            of_words: Least cosine of words.
            of_characters: Least cosine of characters of scripts without blanks.
        """
        place, size = copy.place, len(self._weights)
        theirs = self._codes_of(copy.source)[place.source_first : place.source_end]
        cosine = self._cosine(
            np.bincount(self._codes[place.first : place.end], minlength=size),
            np.bincount(theirs, minlength=size),
        )
        return cosine >= self._between(place, of_words, of_characters)

    def _between(self, place: UnitBounds, of_words: float, of_characters: float) -> float:
        """Return a limit between that of words and that of characters, by what units there are."""
        words = float(self._paper.units.spaced[place.first : place.end].mean())
        return words * of_words + (1 - words) * of_characters

    def _codes_of(self, source: SourceUnits) -> NDArray[np.int64]:
        """Return the units of a source by their numbers among the paper's, from 1; else 0."""
        codes = source.symbols.codes
        found = np.minimum(np.searchsorted(self._names, codes), len(self._names) - 1)
        return np.where(self._names[found] == codes, found + 1, 0)

    def _cosine(self, one: NDArray[np.int64], other: NDArray[np.int64]) -> float:
        squares = self._weights**2
        length = (one**2 * squares).sum()
        # Those that the paper has not are different ones.
        other_length = (other[1:] ** 2 * squares[1:]).sum() + other[0] * squares[0]
        both = (one[1:] * other[1:] * squares[1:]).sum()
        return float(min(both / max(np.sqrt(length * other_length), 1e-9), 1.0))

    def _seeds(self, part: _Part, theirs: _Bags) -> NDArray[np.int64]:
        """Return the pairs of sentences that are alike: of the paper, of a part; shape (n, 2)."""
        around = part.places[:, None] + np.arange(-_AROUND, _AROUND + 1)
        rows = np.unique(np.clip(around, 0, len(self._bags.bounds) - 1))
        columns = np.full(len(self._weights), -1)
        there = np.unique(theirs.codes)
        there = there[there > 0]
        columns[there] = np.arange(len(there))
        own = self._bags.matrix(rows, columns, self._weights)
        others = theirs.matrix(np.arange(len(part.bounds)), columns, self._weights)
        norms, sums = np.sqrt(theirs.sums(self._weights**2)), theirs.sums(self._weights)
        common = np.sqrt(own) @ np.sqrt(others).T
        alike = np.argwhere(
            (own @ others.T > LEAST_COSINE * self._norms[rows][:, None] * norms)
            & (2 * common > LEAST_DICE * (self._sums[rows][:, None] + sums))
        )
        return np.stack((rows[alike[:, 0]], alike[:, 1]), axis=1)

    def _whole(
        self, part: _Part, theirs: _Bags, group: NDArray[np.int64]
    ) -> FoundCopy | list[NDArray[np.int64]] | None:
        """Return the stretches with a group of pairs as a copy where they are alike as a whole.

        Returns:
            The copy; or the group in parts, where sentences of the paper's own are between them; or
            None.
        """
        low, high = group.min(axis=0).tolist(), (group.max(axis=0) + 1).tolist()
        weights, size = self._weights, len(self._weights)
        sides, rows = [], []
        for text, bags in enumerate((self._bags, theirs)):
            begin = max(low[text] - _AROUND, 0)
            end = min(high[text] + _AROUND, len(bags.bounds))
            side = _Side(bags.table(begin, end, size), low[text] - begin, high[text] - begin)
            sides.append(side)
            rows.append(bags.bounds[begin:end])
        one, other = sides
        fit = _Fit(one, other, weights)
        fit.trim()
        fit.grow()
        parts = self._around_own(group, one, other, rows[0], low[0])
        if parts:
            return parts
        bounds = UnitBounds(
            int(rows[0][one.first, 0]),
            int(rows[0][one.end - 1, 1]),
            int(rows[1][other.first, 0]),
            int(rows[1][other.end - 1, 1]),
        )
        cosine = self._cosine(one.bag, other.bag)
        both = (np.minimum(one.bag, other.bag)[1:] * weights[1:]).sum()
        dice, shared = 2 * both / ((one.bag + other.bag) * weights).sum(), both / weights[0]
        least = self._between(bounds, LEAST_OF_WORDS, LEAST_OF_CHARACTERS)
        if cosine < max(least, self._options.moderate) or dice < LEAST_WHOLE:
            return None
        known = np.minimum(one.bag, other.bag)[1:].sum() / one.bag.sum()
        counted = self._options.weights[bounds.first : bounds.end].sum() * known
        if shared < self._between(bounds, *LEAST_SHARED) or counted < 1:
            return None
        source = part.source
        blocks = aligned(
            self._paper.symbols.text[bounds.first : bounds.end],
            source.symbols.text[bounds.source_first : bounds.source_end],
        )
        moved = tuple((a + bounds.first, b + bounds.source_first, n) for a, b, n in blocks)
        return FoundCopy(source, Stretch(moved), bounds=bounds, cosine=cosine)

    def _around_own(
        self,
        group: NDArray[np.int64],
        one: _Side,
        other: _Side,
        bounds: NDArray[np.int64],
        low: int,
    ) -> list[NDArray[np.int64]]:
        """Return a group of pairs in parts, where sentences of the paper's own are between them.

        Args:
            group: The pairs.
            one: The sentences of the paper that are chosen.
            other: Those of the source.
            bounds: First unit of each sentence of ``one``, and the one behind its last.
            low: The first sentence of the paper in the group.

        Returns:
            The parts; empty where there are none.
        """
        table = one.table[one.first : one.end]
        known = (np.minimum(table, other.bag)[:, 1:] * self._weights[1:]).sum(axis=1)
        is_own = known < LEAST_WITHIN * (table * self._weights).sum(axis=1)
        edges = np.flatnonzero(np.diff(np.concatenate(([0], is_own.view(np.int8), [0]))))
        cuts = []
        for begin, end in edges.reshape(-1, 2).tolist():
            units = slice(int(bounds[one.first + begin, 0]), int(bounds[one.first + end - 1, 1]))
            if self._options.weights[units].sum() >= 1:
                cuts.append(begin)
        # Sentences of `one` are numbered from its table's first.
        begins = np.array(cuts) + max(low - _AROUND, 0) + one.first
        numbers = np.searchsorted(begins, group[:, 0], side="right")
        parts = [group[numbers == number] for number in np.unique(numbers)]
        return parts if len(parts) > 1 else []


def _parts(
    index: PassageIndex, paper: PaperUnits, pairs: SentencePairs, batch: Sequence[int]
) -> Iterator[_Part]:
    """Yield what is around the stored sentences that were found in some documents."""
    texts = index.texts(batch)
    spans = index.sentence_spans(texts)
    cut, chosen = [], []
    order = np.argsort(pairs.documents, kind="stable")
    documents = pairs.documents[order]
    for number in batch:
        kept = spans.get(number)
        if kept is None or not len(kept) or number not in texts:
            continue
        of_it = order[slice(*np.searchsorted(documents, (number, number + 1)).tolist())]
        hits = np.searchsorted(kept[:, 0], pairs.starts[of_it], side="right") - 1
        distinct = np.unique(np.maximum(hits, 0))
        for group in np.split(distinct, np.flatnonzero(np.diff(distinct) > 2 * _AROUND) + 1):
            low = max(int(group[0]) - _AROUND, 0)
            high = min(int(group[-1]) + _AROUND + 1, len(kept))
            start, end = int(kept[low, 0]), int(kept[high - 1, 1])
            cut.append((number, start, texts[number][start:end]))
            near = (hits >= low) & (hits < high)
            chosen.append((kept[low:high] - start, np.unique(pairs.places[of_it][near])))
    made = source_units(cut, paper.alphabet, index.normalization)
    for source, (sentences, places) in zip(made, chosen, strict=True):
        yield _Part(source, np.searchsorted(source.starts, sentences).astype(np.int64), places)


class _Side:
    """Sentences of one text, of which some that follow one another are chosen.

    Attributes:
        table: How often each unit is in each, shape (sentences, units).
        first: The first that is chosen.
        end: The one behind the last.
        bag: How often each unit is in those that are chosen.
    """

    def __init__(self, table: NDArray[np.int64], first: int, end: int) -> None:
        self.table, self.first, self.end = table, first, end
        self.bag = table[first:end].sum(axis=0)

    def ends(self) -> list[int]:
        """Return the sentence at each end; none where one alone is left."""
        return [self.first, self.end - 1] if self.end - self.first > 1 else []

    def next_ones(self) -> list[int | None]:
        """Return the sentence before those that are chosen, and the one behind; None: none."""
        return [
            self.first - 1 if self.first else None,
            self.end if self.end < len(self.table) else None,
        ]

    def drop(self, number: int) -> None:
        """Leave out the sentence at an end."""
        self.bag = self.bag - self.table[number]
        if number == self.first:
            self.first += 1
        else:
            self.end -= 1

    def take(self, number: int) -> None:
        """Take the sentence before or behind those that are chosen."""
        self.bag = self.bag + self.table[number]
        self.first, self.end = min(self.first, number), max(self.end, number + 1)


class _Fit:
    """Moves the ends of two stretches to where they are most alike."""

    def __init__(self, one: _Side, other: _Side, weights: NDArray[np.float64]) -> None:
        self._sides, self._weights = (one, other), weights

    def _both(self, one: NDArray[np.int64], other: NDArray[np.int64]) -> float:
        return float((np.minimum(one, other)[1:] * self._weights[1:]).sum())

    def trim(self) -> None:
        """Leave out sentences at the ends as long as what is left becomes more alike."""
        one, other = self._sides
        weights = self._weights
        size = float(((one.bag + other.bag) * weights).sum())
        best = self._both(one.bag, other.bag) / size
        while True:
            tried = []
            for side, opposite in ((one, other), (other, one)):
                for number in side.ends():
                    bag = side.table[number]
                    left = size - float((bag * weights).sum())
                    share = self._both(side.bag - bag, opposite.bag) / max(left, 1e-9)
                    tried.append((share, left, number, side is other))
            if not tried or max(tried)[0] <= best:
                return
            best, size, number, is_other = max(tried)
            self._sides[is_other].drop(number)

    def grow(self) -> None:
        """Take sentences before and behind that have most of their units in common."""
        one, other = self._sides
        while True:
            known = self._both(one.bag, other.bag)
            tried: list[tuple[float, tuple[int | None, int | None]]] = []
            for first in (None, *one.next_ones()):
                for second in (None, *other.next_ones()):
                    if first is None and second is None:
                        continue
                    added = 0 * one.bag if first is None else one.table[first]
                    others = 0 * other.bag if second is None else other.table[second]
                    more = self._both(one.bag + added, other.bag + others) - known
                    size = float(((added + others) * self._weights).sum())
                    tried.append((2 * more / max(size, 1e-9), (first, second)))
            share, chosen = max(tried, key=lambda each: each[0], default=(0.0, (None, None)))
            if share < LEAST_TAKEN:
                return
            for side, number in zip(self._sides, chosen, strict=True):
                if number is not None:
                    side.take(number)


def _gathered(seeds: NDArray[np.int64], most: int) -> Iterator[NDArray[np.int64]]:
    """Yield groups of pairs of sentences with at most so many between them, in both texts."""
    waiting = [(seeds, 0, False)] if len(seeds) else []
    while waiting:
        group, side, agreed = waiting.pop()
        group = group[np.argsort(group[:, side], kind="stable")]
        splits = np.flatnonzero(np.diff(group[:, side]) > most + 1) + 1
        if len(splits):
            waiting += [(one, 1 - side, False) for one in np.split(group, splits)]
        elif agreed:
            yield group
        else:
            waiting.append((group, 1 - side, True))
