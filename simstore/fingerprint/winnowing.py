"""Winnowing: choose token n-grams (anchors) so that texts that share a long run share one.

References:
    Schleimer, Wilkerson, Aiken: Winnowing: local algorithms for document fingerprinting, SIGMOD
    2003, sections 3 (the guarantee) and 4.1 (robust winnowing).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simstore.errors import InvalidParameter
from simstore.fingerprint.shingle_sets import begins_run, runs
from simstore.text.located import LocatedUnits

HASH_BITS = 40
_LOST = np.uint64(64 - HASH_BITS)


@dataclass(frozen=True, slots=True)
class Winnowing:
    """Settings of winnowing: length of grams, and of the runs that are certain to be found.

    Of any ``t - k + 1`` consecutive grams of k units one is chosen. So two texts that share a run
    of t units of one kind share the hash of a gram that was chosen in the one, and is in the other.

    Attributes:
        gram_words: k, words of scripts with blanks between words.
        run_words: t, words.
        gram_characters: k, characters of other scripts.
        run_characters: t, characters.

    Raises:
        InvalidParameter: A gram has no unit, or is longer than the run.
    """

    gram_words: int = 4
    run_words: int = 8
    gram_characters: int = 6
    run_characters: int = 13

    def __post_init__(self) -> None:
        for gram, run in (
            (self.gram_words, self.run_words),
            (self.gram_characters, self.run_characters),
        ):
            if not 1 <= gram <= run <= 255:
                raise InvalidParameter(
                    f"grams of {gram} units for runs of {run}: 1 <= k <= t <= 255"
                )

    @property
    def gram_mixed(self) -> int:
        """Return k of a gram that has words and characters, in units of either kind."""
        return max(self.gram_words, self.gram_characters)

    @property
    def window_mixed(self) -> int:
        """Return how many grams, of any kinds, a window that changes its kind has."""
        return 1 + max(self.run_words - self.gram_words, self.run_characters - self.gram_characters)

    @property
    def run_mixed(self) -> int:
        """Return t of runs that change between words and characters, in units of either kind."""
        return self.gram_mixed + self.window_mixed - 1


DEFAULT_WINNOWING = Winnowing()


@dataclass(frozen=True, slots=True)
class Grams:
    """Runs of k units, by ascending first unit; shape (grams,). None begins where another does.

    Attributes:
        hashes: Hash of each, 40 bits; uint64.
        first: Place of its first unit; int32.
        last: Place of its last unit; int32.
    """

    hashes: NDArray[np.uint64]
    first: NDArray[np.int32]
    last: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.hashes)


def grams(units: LocatedUnits, winnowing: Winnowing = DEFAULT_WINNOWING) -> Grams:
    """Return every gram of texts: of k consecutive units within each run of one kind.

    One of units of both kinds begins at each unit at which none of one kind does.
    """
    return _every(units, winnowing, _grams(units, winnowing)[0])[0]


def of_one_kind(units: LocatedUnits, every: Grams) -> NDArray[np.bool_]:
    """Return which grams are of words alone, or of characters alone."""
    changes = np.concatenate(([0], np.cumsum(units.spaced[1:] != units.spaced[:-1])))
    same: NDArray[np.bool_] = changes[every.first] == changes[every.last]
    return same


def mixed_windows(
    units: LocatedUnits, winnowing: Winnowing, every: Grams
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the windows of grams that change between words and characters.

    Args:
        units: A text.
        winnowing: How long grams and windows are.
        every: All grams of the text.

    Returns:
        The first unit of each window, which is a run of ``run_mixed`` units; and the place of its
        least gram among all, the last of several.
    """
    none = np.empty(0, np.int64)
    count = len(units) - winnowing.run_mixed + 1
    if count < 1:
        return none, none
    first = every.first.astype(np.int64)
    is_mixed = ~of_one_kind(units, every)
    at = np.zeros(len(units) + 1, np.int64)
    at[first[is_mixed] + 1] = 1
    before = np.cumsum(at)
    size = winnowing.window_mixed
    windows = np.flatnonzero(before[size : size + count] > before[:count])
    windows = windows[windows + winnowing.run_mixed <= units.text_ends()[windows]]
    # At each unit of such a run begins a gram that ends within it.
    places = np.searchsorted(first, windows)
    least = places.copy()
    for step in range(1, size):
        least = np.where(every.hashes[places + step] <= every.hashes[least], places + step, least)
    return windows, least


def anchors(units: LocatedUnits, winnowing: Winnowing = DEFAULT_WINNOWING) -> Grams:
    """Return the grams that winnowing chooses: a least one of every window of consecutive ones.

    Of several least ones, the one that the window before chose, if it is among them; else the last.
    A run that has grams, but fewer than a window, has its least one (the last of several). Windows
    that change their kind have a least one too, the last of several.
    """
    found, run_ends = _grams(units, winnowing)
    every, places = _every(units, winnowing, found)
    kept = np.zeros(len(every), bool)
    if len(found):
        sizes = np.where(
            units.spaced[found.first],
            winnowing.run_words - winnowing.gram_words + 1,
            winnowing.run_characters - winnowing.gram_characters + 1,
        )
        kept[places[_winnowed(found.hashes, run_ends, sizes)]] = True
    kept[mixed_windows(units, winnowing, every)[1]] = True
    return Grams(every.hashes[kept], every.first[kept], every.last[kept])


def _grams(units: LocatedUnits, winnowing: Winnowing) -> tuple[Grams, NDArray[np.int64]]:
    """Return the grams, and for each the place after the last gram of its run."""
    count = len(units)
    if not count:
        none = np.empty(0, np.int32)
        return Grams(np.empty(0, np.uint64), none, none), np.empty(0, np.int64)
    begins = np.ones(count, np.bool_)
    begins[1:] = units.spaced[1:] != units.spaced[:-1]
    begins[units.breaks[units.breaks < count]] = True
    bounds = np.append(np.flatnonzero(begins), count)
    lengths = np.diff(bounds)
    run_of = np.repeat(np.arange(len(lengths)), lengths)
    left = bounds[1:][run_of] - np.arange(count)
    sizes = np.where(units.spaced, winnowing.gram_words, winnowing.gram_characters)
    first = np.flatnonzero(left >= sizes)
    is_word = units.spaced[first]
    hashes = np.empty(len(first), np.uint64)
    for kind, size in ((True, winnowing.gram_words), (False, winnowing.gram_characters)):
        of_kind = is_word == kind
        if of_kind.any():
            hashes[of_kind] = runs(units.hashes, size)[first[of_kind]] >> _LOST
    found = Grams(hashes, first.astype(np.int32), (first + sizes[first] - 1).astype(np.int32))
    run_ends = np.searchsorted(run_of[first], run_of[first], side="right")
    return found, run_ends


def _every(
    units: LocatedUnits, winnowing: Winnowing, pure: Grams
) -> tuple[Grams, NDArray[np.int64]]:
    """Return the grams of one kind and those of both, and the places of the former among all."""
    size, count = winnowing.gram_mixed, len(units)
    is_free = np.arange(size, count + 1) <= units.text_ends()[: max(count - size + 1, 0)]
    is_free[pure.first[pure.first < len(is_free)]] = False
    if not is_free.any():
        return pure, np.arange(len(pure))
    first = np.flatnonzero(is_free)
    hashes = np.concatenate((pure.hashes, runs(units.hashes, size)[first] >> _LOST))
    firsts = np.concatenate((pure.first, first.astype(np.int32)))
    lasts = np.concatenate((pure.last, (first + size - 1).astype(np.int32)))
    order = np.argsort(firsts, kind="stable")
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    return Grams(hashes[order], firsts[order], lasts[order]), places[: len(pure)]


def _winnowed(
    hashes: NDArray[np.uint64], run_ends: NDArray[np.int64], sizes: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the chosen places, ascending.

    Args:
        hashes: Hash of each gram.
        run_ends: The place after the last gram of its run.
        sizes: Grams a window of its run has.
    """
    places = np.arange(len(hashes))
    is_first = begins_run(run_ends)
    # A window begins at each gram that has enough after it, and at the first of each run.
    windows = np.flatnonzero(is_first | (places + sizes <= run_ends))
    ends = np.minimum(windows + sizes[windows], run_ends[windows])
    leftmost, rightmost = windows.copy(), windows.copy()
    for step in range(1, int(sizes.max())):
        place = np.minimum(windows + step, ends - 1)
        leftmost = np.where(hashes[place] < hashes[leftmost], place, leftmost)
        rightmost = np.where(hashes[place] <= hashes[rightmost], place, rightmost)
    chosen = rightmost
    # Where the least hash is there several times, what was chosen before decides.
    for window in np.flatnonzero(leftmost != rightmost).tolist():
        if window and not is_first[windows[window]]:
            before = chosen[window - 1]
            if before >= windows[window] and hashes[before] == hashes[rightmost[window]]:
                chosen[window] = before
    return chosen[begins_run(chosen)]
