"""Sketches of runs of characters: near-duplicates are found though many words are misspelt.

A wrong character breaks the three shingles of words around it, some 18 characters, but only the
runs of six characters that it is in. Blanks and punctuation are left out: scans lose and invent
them, and runs across the ends of words are rarer in other texts.

References:
    Dahlgaard, Knudsen, Thorup: Fast similarity sketching, FOCS 2017, section 1.1 (a sketch as good
    as 256 permutations for about the price of one). Li, König: b-bit minwise hashing, WWW 2010
    (8 bits of each value suffice).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from simstore import compiled
from simstore.compiled import Kernel
from simstore.errors import InvalidParameter
from simstore.fingerprint.minhash import BandLayout, mixed
from simstore.fingerprint.shingle_sets import ShingleSets, distinct, from_rows, runs
from simstore.fingerprint.sketching import Sketching
from simstore.text.characters import CHARACTER, class_table, code_points
from simstore.text.normalization import DEFAULT, Normalization
from simstore.text.scanning import Scanned
from simstore.text.tokens import GAMMA, mix, token_pieces

# Characters a shingle, and where its first is of a script without blanks: Han, kana, Hangul, Thai.
SHINGLE_CHARACTERS, SHINGLE_WIDE = 6, 3
VALUES = 256
# From the one that finds most to the one that costs least.
LAYOUTS = (BandLayout(85, 3), BandLayout(64, 4), BandLayout(51, 5), BandLayout(42, 6))
# Of the 64 bits of a draw the low 8 say its bin; the round takes their place, and one bit more.
_DRAW_BITS = 55
_U0 = np.uint64(0)
_FULL = np.uint64(0xFFFFFFFFFFFFFFFF)
# Time to sketch a run in NumPy, to estimate whether the compiled form pays.
_SECONDS_A_RUN = 1e-7


@dataclass(frozen=True, slots=True)
class CharacterSketching(Sketching):
    """Settings and functions that turn texts into sets of character runs and their sketches.

    The recipe of the channel ``characters``.

    >>> from simstore.fingerprint.characters import CharacterSketching
    >>> sizes, sketches = CharacterSketching().sketched(["one two three", ""])
    >>> sizes.tolist(), sketches.shape, sketches.dtype.name
    ([6, 0], (2, 256), 'uint8')

    Attributes:
        normalization: The scheme's; all channels see the same text.
        shingle: Characters a shingle.
        wide: Characters of a shingle whose first is of a script without blanks between words.
    """

    normalization: Normalization = DEFAULT
    shingle: int = SHINGLE_CHARACTERS
    wide: int = SHINGLE_WIDE

    values: ClassVar[int] = VALUES
    dtype: ClassVar[np.dtype[Any]] = np.dtype("<u1")
    layouts: ClassVar[tuple[BandLayout, ...]] = LAYOUTS
    _seconds_a_character: ClassVar[float] = 1e-7

    def __post_init__(self) -> None:
        for size in (self.shingle, self.wide):
            if not 1 <= size <= 64:
                raise InvalidParameter(f"shingles of {size} characters: from 1 to 64")

    def estimates(self, many: NDArray[Any], one: NDArray[Any]) -> NDArray[np.float64]:
        """Return the estimated resemblance of each sketch to one."""
        return estimated_resemblances(many, one)

    def _scanned_sets(self, scanned: Scanned) -> ShingleSets:
        # Each text has at most as many runs as it has bytes.
        total = int(scanned.lengths[scanned.numbers].sum())
        hashes = np.empty(total, np.uint64)
        offsets = np.zeros(len(scanned.offsets), np.int64)
        _SETS(
            scanned.numbers, scanned.offsets, scanned.chunks, scanned.starts, scanned.lengths,
            class_table(), self.shingle, self.wide, offsets, hashes,
        )  # fmt: skip
        return ShingleSets(offsets, hashes[: offsets[-1]].copy())

    def _sketches(self, sets: ShingleSets) -> NDArray[Any]:
        return similarity_sketches(sets)

    def _plain_sets(self, texts: Sequence[str]) -> ShingleSets:
        return from_rows([self._plain_set(text) for text in texts])

    def _plain_set(self, text: str) -> NDArray[np.uint64]:
        tokens = chain.from_iterable(token_pieces(self.normalization.apply(text)))
        points = code_points("".join(tokens))
        letters = points.astype(np.uint64)
        is_wide = class_table()[points] == CHARACTER
        found = []
        for size, chosen in ((self.shingle, ~is_wide), (self.wide, is_wide)):
            if size <= len(letters):
                found.append(runs(letters, size)[chosen[: len(letters) - size + 1]])
        together = np.concatenate([np.empty(0, np.uint64), *found])
        # What is shorter than a run is one.
        return distinct(together if len(together) else runs(letters, len(letters)))

    def record(self) -> dict[str, Any]:
        """Return the recipe as a store keeps it, JSON values, with known answers."""
        return {**Sketching.record(self), "wide": self.wide}

    @classmethod
    def from_record(cls, record: Mapping[str, Any], normalization: Normalization) -> Self:
        """Return the recipe that a store keeps; ``comes_out`` says whether it is the same."""
        return cls(normalization, record["shingle"], record["wide"])


def similarity_sketches(sets: ShingleSets) -> NDArray[np.uint8]:
    """Return a sketch of each set: the share of equal values estimates their resemblance.

    Each hash is drawn into one of 256 bins in each round, 256 rounds at most, and then once into
    every bin. A bin keeps its least draw of the first round that filled it; its value is 8 mixed
    bits of that. Most texts fill all bins in the first round or the second. An empty set has the
    sketch of zeros.

    Returns:
        uint8, shape (sets, 256).
    """
    made = np.zeros((len(sets), VALUES), np.uint8)
    if compiled.pays(_SECONDS_A_RUN * len(sets.hashes)):
        _SKETCH(sets.offsets, sets.hashes, made)
        return made
    for number in range(len(sets)):
        hashes = sets.row(number)
        if len(hashes):
            made[number] = (mix(_least_draws(hashes)) >> np.uint64(56)).astype(np.uint8)
    return made


def estimated_resemblances(many: NDArray[Any], one: NDArray[Any]) -> NDArray[np.float64]:
    """Return the estimated resemblance of each sketch to one.

    The standard error at resemblance s is sqrt(s * (1 - s) / 256), at most 0.031.

    Args:
        many: Sketches, shape (n, 256).
        one: A sketch, shape (256,), or one for each, shape (n, 256).

    Returns:
        float64 in [0, 1], shape (n,).
    """
    shares = (many == one).mean(axis=1)
    # Two values that differ have the same 8 bits once in 256.
    result: NDArray[np.float64] = np.maximum(0.0, (256 * shares - 1) / 255)
    return result


def _least_draws(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    least = np.full(VALUES, _FULL, np.uint64)
    for turn in range(2 * VALUES):
        if (least != _FULL).all():
            break
        # In an array the product wraps without a warning.
        drawn = mix(hashes + np.full(1, turn, np.uint64) * GAMMA)
        draws = (drawn >> np.uint64(64 - _DRAW_BITS)) | np.uint64(turn << _DRAW_BITS)
        if turn < VALUES:
            np.minimum.at(least, (drawn & np.uint64(VALUES - 1)).astype(np.int64), draws)
        else:
            least[turn - VALUES] = min(least[turn - VALUES], draws.min())
    return least


def _letters(numbers: Any, chunks: Any, starts: Any, lengths: Any, points: Any) -> Any:
    """Write the code points of the terms of a text, one after the other; return how many."""
    count = 0
    for place in range(len(numbers)):
        first, length = starts[numbers[place]], lengths[numbers[place]]
        byte = 0
        while byte < length:
            lead = chunks[first + (byte >> 3)] >> np.uint64(8 * (byte & 7)) & np.uint64(0xFF)
            more = 0
            if lead >= np.uint64(0xF0):
                more, lead = 3, lead & np.uint64(0x07)
            elif lead >= np.uint64(0xE0):
                more, lead = 2, lead & np.uint64(0x0F)
            elif lead >= np.uint64(0x80):
                more, lead = 1, lead & np.uint64(0x1F)
            byte += 1
            for _ in range(more):
                part = chunks[first + (byte >> 3)] >> np.uint64(8 * (byte & 7)) & np.uint64(0x3F)
                lead = lead << np.uint64(6) | part
                byte += 1
            points[count] = lead
            count += 1
    return count


def _distinct_shingles(
    points: Any, classes: Any, narrow: Any, wide: Any, table: Any, found: Any
) -> Any:
    """Write the distinct hashes of the runs of characters; return how many there are."""
    mask = len(table) - 1
    table[:] = _U0
    count = 0
    zero = False
    for start in range(len(points)):
        size = wide if classes[np.int64(points[start])] == CHARACTER else narrow
        if start + size > len(points):
            continue
        value = _U0
        for place in range(start, start + size):
            value = value * GAMMA + points[place]
        value = mixed(value)
        if value == _U0:
            if not zero:
                found[count] = value
                count += 1
            zero = True
            continue
        slot = np.int64(value >> np.uint64(1)) & mask
        while table[slot] != _U0 and table[slot] != value:
            slot = (slot + 1) & mask
        if table[slot] == _U0:
            table[slot] = value
            found[count] = value
            count += 1
    if not count and len(points):
        # What is shorter than a run is one.
        value = _U0
        for place in range(len(points)):
            value = value * GAMMA + points[place]
        found[0] = mixed(value)
        count = 1
    return count


def _longest(numbers: Any, offsets: Any, lengths: Any) -> Any:
    """Return how many bytes the terms of the longest text have, at least 1."""
    longest = 1
    for text in range(len(offsets) - 1):
        size = 0
        for place in range(offsets[text], offsets[text + 1]):
            size += lengths[numbers[place]]
        longest = max(longest, size)
    return longest


def _slots(count: Any) -> Any:
    """Return a power of two that is at least twice a count."""
    slots = 4
    while slots < 2 * count:
        slots *= 2
    return slots


def _draw(found: Any, least: Any) -> None:
    """Write the least draw of each bin."""
    least[:] = _FULL
    empty = len(least)
    for turn in range(2 * len(least)):
        if not empty:
            break
        of_round = np.uint64(turn) << np.uint64(_DRAW_BITS)
        shift = np.uint64(turn) * GAMMA
        for place in range(len(found)):
            drawn = mixed(found[place] + shift)
            draw = drawn >> np.uint64(64 - _DRAW_BITS) | of_round
            slot = np.int64(drawn & np.uint64(VALUES - 1))
            if turn >= len(least):
                slot = np.int64(turn - len(least))
            if draw < least[slot]:
                if least[slot] == _FULL:
                    empty -= 1
                least[slot] = draw


def _sketch(offsets: Any, hashes: Any, result: Any) -> None:
    least = np.empty(VALUES, np.uint64)
    for row in range(len(offsets) - 1):
        found = hashes[offsets[row] : offsets[row + 1]]
        if len(found):
            _draw(found, least)
            for number in range(VALUES):
                result[row, number] = np.uint8(mixed(least[number]) >> np.uint64(56))


def _sets(
    numbers: Any, offsets: Any, chunks: Any, starts: Any, lengths: Any, classes: Any,
    narrow: Any, wide: Any, ends: Any, hashes: Any,
) -> None:  # fmt: skip
    longest = _longest(numbers, offsets, lengths)
    points = np.empty(longest, np.uint64)
    table = np.empty(_slots(longest), np.uint64)
    ends[0] = 0
    for text in range(len(ends) - 1):
        own = numbers[offsets[text] : offsets[text + 1]]
        size = _letters(own, chunks, starts, lengths, points)
        some, found = table[: _slots(size)], hashes[ends[text] :]
        count = _distinct_shingles(points[:size], classes, narrow, wide, some, found)
        ends[text + 1] = ends[text] + count


_SKETCH = Kernel(
    _sketch,
    ["void(int64[::1], Array(uint64, 1, 'C', True), uint8[:, ::1])"],
    parts=[mixed, _draw],
)
_SETS = Kernel(
    _sets,
    [
        "void(int32[::1], int64[::1], uint64[::1], int64[::1], int64[::1], "
        "Array(uint8, 1, 'C', True), int64, int64, int64[::1], uint64[::1])"
    ],
    parts=[mixed, _letters, _distinct_shingles, _longest, _slots],
)
