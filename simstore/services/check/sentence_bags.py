"""Count the units of sentences (bags), and fit two stretches of sentences to each other by them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
