"""Find the items of benchmarks in texts: runs of N words that both have, and short items whole.

An item's anchors are those of the passage index (:mod:`simstore.fingerprint.winnowing`), made for
runs of N words. So every run of N words, or of the characters that stand for them in scripts
without blanks, that a text shares with an item is found, and nothing shorter is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.shingle_sets import distinct, runs
from simstore.fingerprint.winnowing import Winnowing, anchors, grams
from simstore.text.located import LocatedUnits, located_units
from simstore.text.normalization import DEFAULT

DEFAULT_WORDS = 13
# As many characters of Chinese say what so many words do; as in `simstore check`.
_CHARACTERS, _WORDS = 13, 8
# An item of fewer is in too many texts to tell anything.
LEAST_WORDS, LEAST_CHARACTERS = 5, 8
# A phrase in more than this share of the items, or of the rows, and in more than ten of them, is
# everywhere, and indicates nothing.
_COMMON_SHARE, _FEWEST = 0.01, 10


@dataclass(frozen=True, slots=True)
class Item:
    """An item of a benchmark.

    Attributes:
        benchmark: The name of the benchmark.
        key: What the item is called, in all benchmarks.
        text: Its text.
    """

    benchmark: str
    key: str
    text: str


def is_everywhere(count: int, of: int) -> bool:
    """Return whether a phrase in so many of all items, or rows, indicates nothing."""
    return count > max(_COMMON_SHARE * of, _FEWEST)


def _winnowing(words: int) -> Winnowing:
    """Return how anchors are chosen for runs of so many words: grams of half a run."""
    characters = ceil(words * _CHARACTERS / _WORDS)
    return Winnowing(
        gram_words=(words + 1) // 2,
        run_words=words,
        gram_characters=(characters + 1) // 2,
        run_characters=characters,
    )


@dataclass(frozen=True, slots=True)
class Hit:
    """A stretch of a text that an item has too.

    Attributes:
        item: Number of the item.
        start, end: Where it stands in the text, characters.
        item_start, item_end: Where it stands in the item.
        units: Its words, and characters of scripts without blanks.
        is_whole: It is the whole of an item that is shorter than a run.
        phrases: What it is known by: anchors in it.
    """

    item: int
    start: int
    end: int
    item_start: int
    item_end: int
    units: int
    is_whole: bool
    phrases: tuple[int, ...]


class Benchmarks:
    """The items of benchmarks, in memory.

    Args:
        items: The items.
        words: Length of a run, words of scripts with blanks between words; 4 to 150. In other
            scripts 13 characters count as 8 words.

    Attributes:
        items: The items.
        too_short: Numbers of items of too few words to be looked for.
        everywhere: Numbers of items all of whose anchors are everywhere.
    """

    def __init__(self, items: Sequence[Item], words: int = DEFAULT_WORDS) -> None:
        self.items = tuple(items)
        self.too_short: set[int] = set()
        self._winnowing = _winnowing(words)
        self._units = [located_units(one.text, DEFAULT) for one in items]
        # Short items by their length: the hash of all units, to the items.
        self._whole: dict[int, dict[int, list[int]]] = {}
        hashes, numbers, firsts = [], [], []
        for number, units in enumerate(self._units):
            if self._holds_run(units.spaced):
                found = anchors(units, self._winnowing)
                hashes.append(found.hashes)
                numbers.append(np.full(len(found), number))
                firsts.append(found.first.astype(np.int64))
            elif _weight(units.spaced, LEAST_WORDS, LEAST_CHARACTERS) < 1:
                self.too_short.add(number)
            else:
                key = int(runs(units.hashes, len(units))[0])
                self._whole.setdefault(len(units), {}).setdefault(key, []).append(number)
        none = [np.empty(0, np.int64)]
        joined = np.concatenate([np.empty(0, np.uint64), *hashes])
        order = np.argsort(joined, kind="stable")
        self._hashes = joined[order]
        self._numbers = np.concatenate(none + numbers)[order]
        self._firsts = np.concatenate(none + firsts)[order]
        self.everywhere = self._leave_out_everywhere()

    def hits(self, text: str) -> list[Hit]:
        """Return the stretches of a text that items have, the longest of each item."""
        units = located_units(text, DEFAULT)
        longest: dict[int, Hit] = {}
        for hit in (*self._runs_in(units), *self._whole_in(units)):
            known = longest.get(hit.item)
            if known is None or (hit.units, -hit.start) > (known.units, -known.start):
                longest[hit.item] = hit
        return sorted(longest.values(), key=lambda hit: (-hit.units, hit.item))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Return the names of the benchmarks, in the order of their first items."""
        return tuple(dict.fromkeys(one.benchmark for one in self.items))

    def _leave_out_everywhere(self) -> set[int]:
        """Forget the anchors that are in too many items; return the items that have no other."""
        if not len(self._hashes):
            return set()
        # At the end of a phrase the choice depends on what follows: count its grams, not anchors.
        held = [distinct(grams(units, self._winnowing).hashes) for units in self._units]
        every, counts = np.unique(np.concatenate(held), return_counts=True)
        most = [is_everywhere(count, len(self.items)) for count in counts.tolist()]
        kept = ~np.array(most)[np.searchsorted(every, self._hashes)]
        left_out = set(self._numbers[~kept].tolist()) - set(self._numbers[kept].tolist())
        self._hashes, self._numbers = self._hashes[kept], self._numbers[kept]
        self._firsts = self._firsts[kept]
        return left_out

    def _runs_in(self, units: LocatedUnits) -> Iterator[Hit]:
        """Yield the longest common runs through anchors that hold a run of the rule's length."""
        found = grams(units, self._winnowing)
        if not len(found) or not len(self._hashes):
            return
        begins = np.searchsorted(self._hashes, found.hashes)
        ends = np.searchsorted(self._hashes, found.hashes, side="right")
        seeds = sorted(
            (
                int(self._numbers[row]),
                int(self._firsts[row] - found.first[place]),
                int(found.first[place]),
                row,
            )
            for place in np.flatnonzero(ends > begins).tolist()
            for row in range(begins[place], ends[place])
        )
        # By item and diagonal, where the last run ends and what it is known by.
        last: dict[tuple[int, int], tuple[int, list[int]]] = {}
        made: list[tuple[int, int, int, int, list[int]]] = []
        for number, shift, first, row in seeds:
            phrase = int(self._hashes[row])
            known_end, known = last.get((number, shift), (-1, []))
            if first < known_end:
                known.append(phrase)
                continue
            begin, end = _common(units.hashes, self._units[number].hashes, first, first + shift)
            if end > first:
                phrases = [phrase]
                last[number, shift] = end, phrases
                made.append((number, shift, begin, end, phrases))
        for number, shift, begin, end, phrases in made:
            if self._holds_run(units.spaced[begin:end]):
                item = self._units[number]
                yield Hit(
                    number,
                    int(units.starts[begin]),
                    int(units.ends[end - 1]),
                    int(item.starts[begin + shift]),
                    int(item.ends[end + shift - 1]),
                    end - begin,
                    False,
                    tuple(dict.fromkeys(phrases)),
                )

    def _whole_in(self, units: LocatedUnits) -> Iterator[Hit]:
        """Yield the short items that stand in a text."""
        for size, items in self._whole.items():
            if size > len(units):
                continue
            hashes = runs(units.hashes, size)
            wanted = np.array(sorted(items), np.uint64)
            for place in np.flatnonzero(np.isin(hashes, wanted)).tolist():
                key = int(hashes[place])
                for number in items[key]:
                    item = self._units[number]
                    if (item.hashes == units.hashes[place : place + size]).all():
                        yield Hit(
                            number,
                            int(units.starts[place]),
                            int(units.ends[place + size - 1]),
                            int(item.starts[0]),
                            int(item.ends[-1]),
                            size,
                            True,
                            (key,),
                        )

    def _holds_run(self, spaced: NDArray[np.bool_]) -> bool:
        """Return whether units in a row hold a run that is long enough, of one kind or of both."""
        if not len(spaced):
            return False
        cuts = np.flatnonzero(spaced[1:] != spaced[:-1]) + 1
        if len(cuts) and len(spaced) >= self._winnowing.run_mixed:
            return True
        bounds = np.concatenate(([0], cuts, [len(spaced)]))
        lengths, kinds = np.diff(bounds), spaced[bounds[:-1]]
        least = np.where(kinds, self._winnowing.run_words, self._winnowing.run_characters)
        return bool((lengths >= least).any())


def _weight(spaced: NDArray[np.bool_], words: int, characters: int) -> float:
    """Return how many times units are as long as so many words, or characters."""
    count = int(spaced.sum())
    return count / words + (len(spaced) - count) / characters


def _common(
    text: NDArray[np.uint64], item: NDArray[np.uint64], place: int, other: int
) -> tuple[int, int]:
    """Return the longest run of a text around a place that is the same in an item."""
    size = min(len(text) - place, len(item) - other)
    differ = np.flatnonzero(text[place : place + size] != item[other : other + size])
    end = place + (int(differ[0]) if len(differ) else size)
    back = min(place, other)
    differ = np.flatnonzero(text[place - back : place] != item[other - back : other])
    return place - back + (int(differ[-1]) + 1 if len(differ) else 0), end
