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


DEFAULT_WINNOWING = Winnowing()


@dataclass(frozen=True, slots=True)
class Grams:
    """Runs of k units of one kind, by ascending first unit; shape (grams,).

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
    """Return every gram of a text: of k consecutive units within each run of one kind."""
    return _grams(units, winnowing)[0]


def anchors(units: LocatedUnits, winnowing: Winnowing = DEFAULT_WINNOWING) -> Grams:
    """Return the grams that winnowing chooses: a least one of every window of consecutive ones.

    Of several least ones, the one that the window before chose, if it is among them; else the last.
    A run that has grams, but fewer than a window, has its least one (the last of several).
    """
    found, run_ends = _grams(units, winnowing)
    if not len(found):
        return found
    is_word = units.spaced[found.first]
    sizes = np.where(
        is_word,
        winnowing.run_words - winnowing.gram_words + 1,
        winnowing.run_characters - winnowing.gram_characters + 1,
    )
    chosen = _winnowed(found.hashes, run_ends, sizes)
    return Grams(found.hashes[chosen], found.first[chosen], found.last[chosen])


def _grams(units: LocatedUnits, winnowing: Winnowing) -> tuple[Grams, NDArray[np.int64]]:
    """Return the grams, and for each the place after the last gram of its run."""
    count = len(units)
    if not count:
        none = np.empty(0, np.int32)
        return Grams(np.empty(0, np.uint64), none, none), np.empty(0, np.int64)
    cuts = np.flatnonzero(units.spaced[1:] != units.spaced[:-1]) + 1
    bounds = np.concatenate(([0], cuts, [count]))
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
