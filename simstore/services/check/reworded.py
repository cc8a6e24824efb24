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

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simstore.search.alignment import Stretch, aligned
from simstore.services.check.check_index import PassageIndex
from simstore.services.check.copies import FindOptions, FoundCopy, UnitBounds
from simstore.services.check.paper_units import PaperUnits, SourceUnits, source_units
from simstore.services.check.sentence_lookup import AskedSentences, SentencePairs
from simstore.storage.rows import chunks

# Sentences beside a stretch belong to it where so much of them is in common.
LEAST_TAKEN = 0.5
# Pairs of sentences that are looked at together.
_TOGETHER = 64


@dataclass(frozen=True, slots=True)
class Bags:
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
    def of(cls, codes: NDArray[np.int64], bounds: NDArray[np.int64], size: int) -> Bags:
        """Return the bags of sentences of units with these codes, less than ``size``."""
        lengths = bounds[:, 1] - bounds[:, 0]
        rows = np.repeat(np.arange(len(bounds)), lengths)
        places = np.arange(len(rows)) + np.repeat(
            bounds[:, 0] - np.cumsum(lengths) + lengths, lengths
        )
        keys, counts = np.unique(rows * size + codes[places], return_counts=True)
        begins = np.searchsorted(keys, np.arange(len(bounds) + 1) * size)
        return cls(bounds, keys // size, keys % size, counts, begins)

    def norms(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the length of each sentence as a vector; units count as :meth:`sums` says."""
        return np.sqrt(self.sums(weights**2))

    def sums(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weight of each sentence; units that the paper has not count each time."""
        each = weights[self.codes] * np.where(self.codes == 0, self.counts, 1)
        return np.bincount(self.rows, each, len(self.bounds)).astype(np.float64)

    def totals(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weight of each sentence; every unit counts each time."""
        each = weights[self.codes] * self.counts
        return np.bincount(self.rows, each, len(self.bounds)).astype(np.float64)

    def units(self, first: int, end: int) -> NDArray[np.int64]:
        """Return the distinct units of some sentences that follow one another, but for 0."""
        found = np.unique(self.codes[self.begins[first] : self.begins[end]])
        return found[found > 0]

    def bag(self, first: int, end: int, size: int) -> NDArray[np.int64]:
        """Return how often each unit is in some sentences that follow one another."""
        entries = slice(int(self.begins[first]), int(self.begins[end]))
        counts = np.bincount(self.codes[entries], self.counts[entries], size)
        return counts.astype(np.int64)

    def table(
        self, first: int, end: int, columns: NDArray[np.int64], width: int
    ) -> NDArray[np.float64]:
        """Return how often units are in each of some sentences that follow one another.

        Args:
            first: The first sentence.
            end: The one behind the last.
            columns: The column of each unit, -1 where it has none.
            width: The number of columns.
        """
        made = np.zeros((end - first, width))
        entries = slice(int(self.begins[first]), int(self.begins[end]))
        at = columns[self.codes[entries]]
        there = np.flatnonzero(at >= 0)
        made[self.rows[entries][there] - first, at[there]] = self.counts[entries][there]
        return made


@dataclass(frozen=True, slots=True)
class BagTable:
    """Sentences of one text that follow one another, by the units that both texts have.

    Attributes:
        counts: How often each unit is in each sentence, shape (sentences, units).
        totals: The weight of all units of each sentence, those too that the other text has not.
    """

    counts: NDArray[np.float64]
    totals: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.totals)


class Side:
    """Sentences of one text, of which some that follow one another are chosen.

    Attributes:
        table: The sentences that may be chosen.
        first: The first that is chosen.
        end: The one behind the last.
        bag: How often each unit is in those that are chosen.
        total: The weight of all their units.
    """

    def __init__(self, table: BagTable, first: int, end: int) -> None:
        self.table, self.first, self.end = table, first, end
        self.bag = table.counts[first:end].sum(axis=0)
        self.total = float(table.totals[first:end].sum())

    def ends(self) -> list[int]:
        """Return the sentence at each end; none where one alone is left."""
        return [self.first, self.end - 1] if self.end - self.first > 1 else []

    def next_ones(self) -> list[int]:
        """Return the sentence before those that are chosen, and the one behind, if there."""
        before = [self.first - 1] if self.first else []
        return before + ([self.end] if self.end < len(self.table) else [])

    def drop(self, number: int) -> None:
        """Leave out the sentence at an end."""
        self.bag = self.bag - self.table.counts[number]
        self.total -= float(self.table.totals[number])
        if number == self.first:
            self.first += 1
        else:
            self.end -= 1

    def take(self, number: int) -> None:
        """Take the sentence before or behind those that are chosen."""
        self.bag = self.bag + self.table.counts[number]
        self.total += float(self.table.totals[number])
        self.first, self.end = min(self.first, number), max(self.end, number + 1)


class Fit:
    """Moves the ends of two stretches to where they are most alike.

    Args:
        one: Sentences of one text.
        other: Sentences of the other.
        weights: What each unit weighs.
    """

    def __init__(self, one: Side, other: Side, weights: NDArray[np.float64]) -> None:
        self._sides, self._weights = (one, other), weights

    @property
    def both(self) -> float:
        """Return the weight of the units that the two stretches have in common."""
        one, other = self._sides
        return float(np.minimum(one.bag, other.bag) @ self._weights)

    @property
    def total(self) -> float:
        """Return the weight of all units of both."""
        return self._sides[0].total + self._sides[1].total

    def trim(self) -> None:
        """Leave out sentences at the ends as long as what is left becomes more alike."""
        one, other = self._sides
        best = None
        while one.ends() or other.ends():
            if best is None:
                best = self.both / self.total
            tried = []
            for side, opposite in ((one, other), (other, one)):
                for number in side.ends():
                    left = self.total - float(side.table.totals[number])
                    bag = side.bag - side.table.counts[number]
                    share = float(np.minimum(bag, opposite.bag) @ self._weights) / max(left, 1e-9)
                    tried.append((share, left, number, side is other))
            share, _, number, is_other = max(tried)
            if share <= best:
                return
            best = share
            self._sides[is_other].drop(number)

    def grow(self) -> None:
        """Take sentences before and behind that have most of their units in common."""
        one, other = self._sides
        while True:
            firsts, seconds = one.next_ones(), other.next_ones()
            added = np.concatenate(([0.0], one.table.totals[firsts]))
            others = np.concatenate(([0.0], other.table.totals[seconds]))
            both = _common(
                np.vstack((one.bag, one.bag + one.table.counts[firsts])),
                np.vstack((other.bag, other.bag + other.table.counts[seconds])),
                self._weights,
            )
            shares = 2 * (both - both[0, 0]) / np.maximum(added[:, None] + others, 1e-9)
            place, opposite = divmod(int(shares.argmax()), shares.shape[1])
            if shares[place, opposite] < LEAST_TAKEN:
                return
            if place:
                one.take(firsts[place - 1])
            if opposite:
                other.take(seconds[opposite - 1])


def _common(
    ones: NDArray[np.float64], others: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the weight that each of some bags has in common with each of others."""
    found: NDArray[np.float64] = (
        np.minimum(ones[..., :, None, :], others[..., None, :, :]) @ weights
    )
    return found


def stays_alone(
    own: BagTable, theirs: BagTable, pairs: NDArray[np.int64], weights: NDArray[np.float64]
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return which pairs of sentences no sentence beside them belongs to, as :meth:`Fit.grow` says.

    Args:
        own: Sentences of one text.
        theirs: Sentences of the other.
        pairs: One of each, shape (n, 2).
        weights: What each unit weighs.

    Returns:
        Shape (n,); and the weight that each pair has in common.
    """
    alone, common = np.empty(len(pairs), bool), np.empty(len(pairs))
    for begin in range(0, len(pairs), _TOGETHER):
        part = slice(begin, begin + _TOGETHER)
        bags, totals = zip(
            *(
                _with_neighbours(table, pairs[part, side])
                for side, table in enumerate((own, theirs))
            ),
            strict=True,
        )
        both = _common(bags[0], bags[1], weights)
        common[part] = both[:, 0, 0]
        size = np.maximum(totals[0][:, :, None] + totals[1][:, None, :], 1e-9)
        shares = 2 * (both - both[:, :1, :1]) / size
        alone[part] = shares.reshape(len(shares), -1).max(axis=1) < LEAST_TAKEN
    return alone, common


def _with_neighbours(
    table: BagTable, numbers: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the bag of each sentence alone, with the one before it, and with the one behind.

    Returns:
        Shape (n, 3, units); and what is added weighs, shape (n, 3).
    """
    beside = numbers[:, None] + np.array([-1, 1])
    there = (beside >= 0) & (beside < len(table))
    beside = np.where(there, beside, 0)
    added = np.concatenate((np.zeros((len(numbers), 1)), table.totals[beside] * there), axis=1)
    bags = np.repeat(table.counts[numbers][:, None, :], 3, axis=1)
    bags[:, 1:] += table.counts[beside] * there[:, :, None]
    return bags, added


# Two sentences are alike from so large a cosine and Dice coefficient of their bags on.
LEAST_COSINE, LEAST_DICE = 0.3, 0.33
# A stretch is told from so large a cosine on, and from so many units in common of the rarest kind:
# words, and characters of scripts without blanks, of which texts of one subject share more.
LEAST_OF_WORDS, LEAST_OF_CHARACTERS = 0.6, 0.65
LEAST_SHARED = 10.0, 12.0
# And so large a Dice coefficient: a long stretch has the words of any short one.
LEAST_WHOLE = 0.5
# Sentences within a stretch that have less in common with the source are the paper's own.
LEAST_WITHIN = 0.3
# Sentences before and after one that was found that are compared too.
_AROUND = 8
# Sentences that may lie between two that are alike, in either text.
_MOST_GAP = 4
# Few sentences do not tell how rare a unit is: they are taken for so many.
_LEAST_SENTENCES = 100
_BATCH_DOCUMENTS = 64
# Weights are sums of fractions.
_ONE = 1 - 1e-9
_NO_CODES, _NO_BOUNDS = np.empty(0, np.uint32), np.empty((0, 2), np.int64)


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


@dataclass(frozen=True, slots=True)
class _Sizes:
    """Weights of sentences: as vectors, of their distinct units, and of all their units."""

    norms: NDArray[np.float64]
    sums: NDArray[np.float64]
    totals: NDArray[np.float64]

    @classmethod
    def of(cls, bags: Bags, weights: NDArray[np.float64]) -> _Sizes:
        return cls(bags.norms(weights), bags.sums(weights), bags.totals(weights))


@dataclass(frozen=True, slots=True)
class _Texts:
    """The sentences of a part of a source and those of the paper near what was found there.

    Attributes:
        part: The part.
        first: The first of the paper's sentences.
        begin: The first of the part's among those of all parts.
        own: The paper's sentences, by the units that both have.
        theirs: The part's.
        weights: What each of these units weighs.
        seeds: Pairs of sentences that are alike: of the paper, of the part; shape (n, 2).
    """

    part: _Part
    first: int
    begin: int
    own: BagTable
    theirs: BagTable
    weights: NDArray[np.float64]
    seeds: NDArray[np.int64]


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
        self._bags = Bags.of(self._codes, bounds, size)
        # The bags of all parts: a part's sentences begin where `_begins` says.
        counts = [len(part.bounds) for part in self._parts]
        units = [len(part.source.symbols) for part in self._parts]
        self._begins = np.cumsum([0, *counts]).tolist()
        before = np.repeat(np.cumsum([0, *units])[:-1], counts)
        self._theirs = Bags.of(
            self._codes_of(
                np.concatenate([_NO_CODES, *(p.source.symbols.codes for p in self._parts)])
            ),
            np.concatenate([_NO_BOUNDS, *(part.bounds for part in self._parts)]) + before[:, None],
            size,
        )
        frequencies = np.bincount(self._bags.codes, minlength=size)
        frequencies += np.bincount(self._theirs.codes, minlength=size)
        # What the paper has not is as rare as can be.
        frequencies[0] = 1
        total = max(len(bounds) + sum(counts), _LEAST_SENTENCES)
        self._weights = np.log((total + 1) / np.maximum(frequencies, 1))
        self._sizes = tuple(_Sizes.of(bags, self._weights) for bags in (self._bags, self._theirs))
        self._columns = np.full(size, -1)
        # How many words, and what a copy counts, are before each unit.
        self._words = np.concatenate(([0], np.cumsum(paper.units.spaced)))
        self._counted = np.concatenate(([0.0], np.cumsum(options.weights)))

    def stretches(self) -> Iterator[FoundCopy]:
        """Yield the stretches of the paper whose words a source has, in whatever order."""
        for number, part in enumerate(self._parts):
            self._on_step()
            texts = self._texts(number, part)
            gathered = self._promising(texts, _gathered(texts.seeds, _MOST_GAP))
            waiting = [(group, _MOST_GAP) for group in gathered]
            while waiting:
                group, gap = waiting.pop()
                found = self._whole(texts, group)
                if isinstance(found, list):
                    waiting += [(one, gap) for one in self._promising(texts, found)]
                elif found is not None:
                    yield found
                else:
                    # What is not alike as a whole may have parts that are.
                    parts = [group]
                    while gap and len(parts) == 1:
                        gap -= 1
                        parts = list(_gathered(group, gap))
                    if len(parts) > 1:
                        waiting += [(one, gap) for one in self._promising(texts, parts)]

    def is_alike(self, copy: FoundCopy, of_words: float, of_characters: float) -> bool:
        """Return whether the two stretches of a copy are alike as bags of units.

        Args:
            copy: A copy.
            of_words: Least cosine of words.
            of_characters: Least cosine of characters of scripts without blanks.
        """
        place, size = copy.place, len(self._weights)
        theirs = self._codes_of(copy.source.symbols.codes[place.source_first : place.source_end])
        cosine = self._cosine(
            np.bincount(self._codes[place.first : place.end], minlength=size),
            np.bincount(theirs, minlength=size),
        )
        return cosine >= self._between(place, of_words, of_characters)

    def _between(self, place: UnitBounds, of_words: float, of_characters: float) -> float:
        """Return a limit between that of words and that of characters, by what units there are."""
        words = (self._words[place.end] - self._words[place.first]) / (place.end - place.first)
        return float(words * of_words + (1 - words) * of_characters)

    def _codes_of(self, symbols: NDArray[np.uint32]) -> NDArray[np.int64]:
        """Return units of sources by their numbers among the paper's, from 1; else 0."""
        found = np.minimum(np.searchsorted(self._names, symbols), len(self._names) - 1)
        return np.where(self._names[found] == symbols, found + 1, 0)

    def _cosine(self, one: NDArray[np.int64], other: NDArray[np.int64]) -> float:
        squares = self._weights**2
        length = (one**2 * squares).sum()
        # Those that the paper has not are different ones.
        other_length = (other[1:] ** 2 * squares[1:]).sum() + other[0] * squares[0]
        both = (one[1:] * other[1:] * squares[1:]).sum()
        return float(min(both / max(np.sqrt(length * other_length), 1e-9), 1.0))

    def _texts(self, number: int, part: _Part) -> _Texts:
        """Return the sentences of a part, and those of the paper that are compared with them."""
        begin, end = self._begins[number], self._begins[number + 1]
        count = len(self._bags.bounds)
        first = max(int(part.places[0]) - 2 * _AROUND, 0)
        last = min(int(part.places[-1]) + 2 * _AROUND + 1, count)
        units = self._theirs.units(begin, end)
        self._columns[units] = np.arange(len(units))
        theirs = self._theirs.table(begin, end, self._columns, len(units))
        own = self._bags.table(first, last, self._columns, len(units))
        self._columns[units] = -1
        around = part.places[:, None] + np.arange(-_AROUND, _AROUND + 1)
        rows = np.unique(np.clip(around, 0, count - 1))
        mine, others = self._sizes
        weights = self._weights[units]
        here, there = (own[rows - first] > 0) * weights, (theirs > 0).T
        alike = np.argwhere(
            (
                (here * weights) @ there
                > LEAST_COSINE * mine.norms[rows][:, None] * others.norms[begin:end]
            )
            & (
                2 * (here @ there)
                > LEAST_DICE * (mine.sums[rows][:, None] + others.sums[begin:end])
            )
        )
        return _Texts(
            part=part,
            first=first,
            begin=begin,
            own=BagTable(own, mine.totals[first:last]),
            theirs=BagTable(theirs, others.totals[begin:end]),
            weights=weights,
            seeds=np.stack((rows[alike[:, 0]], alike[:, 1]), axis=1),
        )

    def _promising(
        self, texts: _Texts, groups: Iterable[NDArray[np.int64]]
    ) -> list[NDArray[np.int64]]:
        """Return groups of pairs, without single pairs that are no stretch.

        Those are most: all are looked at together, and :meth:`_whole` would say the same of each.
        """
        found = list(groups)
        single = [group for group in found if len(group) == 1]
        if not single:
            return found
        pairs = np.concatenate(single)
        rows, others = pairs[:, 0] - texts.first, pairs[:, 1]
        alone, common = stays_alone(
            texts.own, texts.theirs, np.stack((rows, others), axis=1), texts.weights
        )
        dice = 2 * common / (texts.own.totals[rows] + texts.theirs.totals[others])
        bounds = self._bags.bounds[pairs[:, 0]]
        words = (self._words[bounds[:, 1]] - self._words[bounds[:, 0]]) / (
            bounds[:, 1] - bounds[:, 0]
        )
        least = words * LEAST_SHARED[0] + (1 - words) * LEAST_SHARED[1]
        out = alone & ((dice < LEAST_WHOLE) | (common / self._weights[0] < least))
        several = [group for group in found if len(group) > 1]
        return several + [group for group, is_out in zip(single, out, strict=True) if not is_out]

    def _whole(
        self, texts: _Texts, group: NDArray[np.int64]
    ) -> FoundCopy | list[NDArray[np.int64]] | None:
        """Return the stretches with a group of pairs as a copy where they are alike as a whole.

        Returns:
            The copy; or the group in parts, where sentences of the paper's own are between them; or
            None.
        """
        low, high = group.min(axis=0).tolist(), (group.max(axis=0) + 1).tolist()
        sides, begins = [], []
        for text, (table, first) in enumerate(((texts.own, texts.first), (texts.theirs, 0))):
            begin = max(low[text] - first - _AROUND, 0)
            seen = slice(begin, high[text] - first + _AROUND)
            near = BagTable(table.counts[seen], table.totals[seen])
            begins.append(begin + first)
            sides.append(Side(near, low[text] - begins[-1], high[text] - begins[-1]))
        one, other = sides
        fit = Fit(one, other, texts.weights)
        fit.trim()
        fit.grow()
        first, last = one.first + begins[0], one.end + begins[0]
        parts = self._around_own(group, one, other, texts.weights, first)
        if parts:
            return parts
        both = fit.both
        shared = both / self._weights[0]
        begin, end = other.first + begins[1], other.end + begins[1]
        bounds = UnitBounds(
            int(self._bags.bounds[first, 0]),
            int(self._bags.bounds[last - 1, 1]),
            int(texts.part.bounds[begin, 0]),
            int(texts.part.bounds[end - 1, 1]),
        )
        if 2 * both < LEAST_WHOLE * fit.total or shared < self._between(bounds, *LEAST_SHARED):
            return None
        size = len(self._weights)
        mine = self._bags.bag(first, last, size)
        theirs = self._theirs.bag(texts.begin + begin, texts.begin + end, size)
        cosine = self._cosine(mine, theirs)
        least = self._between(bounds, LEAST_OF_WORDS, LEAST_OF_CHARACTERS)
        known = np.minimum(mine, theirs)[1:].sum() / mine.sum()
        counted = (self._counted[bounds.end] - self._counted[bounds.first]) * known
        if cosine < max(least, self._options.moderate) or counted < _ONE:
            return None
        source = texts.part.source
        blocks = aligned(
            self._paper.symbols.text[bounds.first : bounds.end],
            source.symbols.text[bounds.source_first : bounds.source_end],
        )
        moved = tuple((a + bounds.first, b + bounds.source_first, n) for a, b, n in blocks)
        return FoundCopy(source, Stretch(moved), bounds=bounds, cosine=cosine)

    def _around_own(
        self,
        group: NDArray[np.int64],
        one: Side,
        other: Side,
        weights: NDArray[np.float64],
        first: int,
    ) -> list[NDArray[np.int64]]:
        """Return a group of pairs in parts, where sentences of the paper's own are between them.

        Args:
            group: The pairs.
            one: The sentences of the paper that are chosen.
            other: Those of the source.
            weights: What each unit weighs.
            first: The first sentence that is chosen, by its number in the paper.

        Returns:
            The parts; empty where there are none.
        """
        chosen = slice(one.first, one.end)
        known = np.minimum(one.table.counts[chosen], other.bag) @ weights
        is_own = known < LEAST_WITHIN * one.table.totals[chosen]
        if len(group) == 1 or not is_own.any():
            return []
        edges = np.flatnonzero(np.diff(np.concatenate(([0], is_own.view(np.int8), [0]))))
        bounds = self._bags.bounds
        cuts = [
            first + begin
            for begin, end in edges.reshape(-1, 2).tolist()
            if self._counted[bounds[first + end - 1, 1]] - self._counted[bounds[first + begin, 0]]
            >= _ONE
        ]
        numbers = np.searchsorted(np.array(cuts), group[:, 0], side="right")
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
