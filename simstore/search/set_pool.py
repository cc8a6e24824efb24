"""A cache of shingle sets that compares one set with many, and stops early below a threshold.

Two sets of resemblance t have at least t / (1 + t) * (|A| + |B|) shingles in common, so at most
the others are in one of them alone. Each set has a *parity*: bits, each of which tells whether an
odd number of its shingles fall on it. Where two parities differ in more bits than shingles may be
in one set alone, the pair is given up unread: exact, at 64 bits an instruction. Of what is left, a
pair is given up as soon as the rest of the other set cannot make up the shingles that are missing.

References:
    Sandes, Teodoro, Melo: Bitmap filter: Speeding up exact set similarity joins with bitwise
    operations, Information Systems 88, 2020 (the parity of a set, there "Bitmap-Xor").
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simstore import compiled
from simstore.compiled import Kernel
from simstore.fingerprint.shingle_sets import ShingleSets
from simstore.index.segments import bits_of

# Shingles that are held, unless those of one comparison are more: 128 MB. Their parities take 4
# to 8 MB at a least resemblance of .8 and 12 to 24 MB at .5, but 32 bytes a set at least: those of
# a million sets of 16 shingles 32 MB. Room for them doubles when it is full.
POOL_SHINGLES = 16 << 20
# A parity has a power of two of words. For each shingle that may be in one of two sets alone it
# has so many bits at least, so that few of those fall on one bit and are not seen.
_BITS_EACH = 9
_FEWEST_WORDS = 4
_FIRST_SHINGLES = 1 << 16
# A threshold is a rounded number; a bound that it gives is taken this much lower.
_SLACK = 1e-9
# What a shingle of a comparison takes without Numba.
_SECONDS_A_SHINGLE = 2e-8

Read = Callable[[NDArray[np.int64]], ShingleSets]


class SetPool:
    """A cache of recently used shingle sets, which reads those that it does not hold.

    When it is full, all are forgotten: what is still wanted is read again.

    Args:
        count: Texts that there are.
        read: Returns the sets of some texts, in the order given.
        least: Least resemblance that matters, above 0; 0: all of it.
        most: Shingles that are held, or those of one call of :meth:`hold` where they are more.

    Attributes:
        compared_count: Pairs that were compared.
        walked_count: Those of them that their parities did not decide: without Numba, all.
    """

    def __init__(self, count: int, read: Read, least: float, most: int = POOL_SHINGLES) -> None:
        self._read = read
        self._share = least / (1 + least)
        # For each shingle; of those of both sets the share (1 - t) / (1 + t) may be in one alone.
        self._parity_bits = 2 * _BITS_EACH * (1 - least) / (1 + least) if least else 0.0
        self._most = most
        self._pool = np.empty(min(_FIRST_SHINGLES, most), np.uint64)
        self._used = 0
        self._starts = np.full(count, -1, np.int64)
        self._sizes = np.zeros(count, np.int64)
        self._parities = np.empty(0, np.uint64)
        self._parity_end = 0
        self._parity_starts = np.zeros(count, np.int64)
        self._widths = np.zeros(count, np.int64)
        self.compared_count = 0
        self.walked_count = 0

    def grow(self, count: int) -> None:
        """Make room for so many texts in all."""
        more = count - len(self._starts)
        if more > 0:
            none = np.zeros(more, np.int64)
            self._starts = np.append(self._starts, none - 1)
            self._sizes = np.append(self._sizes, none)
            self._parity_starts = np.append(self._parity_starts, none)
            self._widths = np.append(self._widths, none)

    def hold(self, texts: NDArray[np.int64]) -> None:
        """Read the sets of some distinct texts, as far as they are not held."""
        missing = texts[self._starts[texts] < 0]
        if not len(missing):
            return
        sets = self._read(missing)
        if self._used + len(sets.hashes) > self._most and self._used:
            self._starts[:] = -1
            self._used = self._parity_end = 0
            if len(missing) < len(texts):
                missing, sets = texts, self._read(texts)
        needed = self._used + len(sets.hashes)
        if needed > len(self._pool):
            room = max(needed, min(2 * len(self._pool), self._most))
            self._pool = np.concatenate(
                (self._pool[: self._used], np.empty(room - self._used, np.uint64))
            )
        self._pool[self._used : needed] = sets.hashes
        self._starts[missing] = sets.offsets[:-1] + self._used
        self._sizes[missing] = sets.sizes()
        self._used = needed
        self._hold_parities(missing, sets)

    def _hold_parities(self, texts: NDArray[np.int64], sets: ShingleSets) -> None:
        sizes = sets.sizes()
        words = np.maximum(sizes * self._parity_bits / 64, _FEWEST_WORDS)
        widths = np.int64(1) << np.ceil(np.log2(words)).astype(np.int64)
        starts = np.cumsum(widths) - widths + self._parity_end
        end = self._parity_end + int(widths.sum())
        if end > len(self._parities):
            held = self._parities[: self._parity_end]
            room = max(end, 2 * len(self._parities))
            self._parities = np.concatenate((held, np.empty(room - len(held), np.uint64)))
        self._parities[self._parity_end : end] = 0
        self._parity_starts[texts] = starts
        self._widths[texts] = widths
        self._parity_end = end
        bits = sets.hashes & np.repeat(widths.astype(np.uint64) * 64 - 1, sizes)
        places = np.repeat(starts, sizes) + (bits >> np.uint64(6)).astype(np.int64)
        np.bitwise_xor.at(self._parities, places, np.uint64(1) << (bits & np.uint64(63)))

    def sizes(self, texts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the shingles of texts that are held, or were."""
        return self._sizes[texts]

    def resemblances(
        self, text: int | NDArray[np.int64], others: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the resemblance of a text to others; -1 where it is below the least.

        Args:
            text: A text that is held, or one for each of the others, shape (others,): the faster,
                the more of one text stand together.
            others: Others that are held, shape (others,).
        """
        self.compared_count += len(others)
        texts = np.full(len(others), text, np.int64)
        common = np.full(len(others), -1, np.int64)
        both = self._sizes[others] + self._sizes[texts]
        least = np.ceil(self._share * both - _SLACK).astype(np.int64)
        if compiled.pays(_SECONDS_A_SHINGLE * float(both.sum())):
            parities = self._parities, self._parity_starts, self._widths
            sets = self._pool, self._starts, self._sizes
            self.walked_count += _COMMON(*sets, parities, texts, others, least, common)
        else:
            self.walked_count += len(others)
            for place in range(len(others)):
                common[place] = _common(self._set(texts[place]), self._set(others[place]))
            common[common < least] = -1
        result = np.full(len(others), -1.0)
        enough = common >= 0
        result[enough] = common[enough] / np.maximum(both[enough] - common[enough], 1)
        return result

    def _set(self, text: int) -> NDArray[np.uint64]:
        start = self._starts[text]
        return self._pool[start : start + self._sizes[text]]


def _common(one: NDArray[np.uint64], other: NDArray[np.uint64]) -> int:
    few, many = (one, other) if len(one) <= len(other) else (other, one)
    if not len(few):
        return 0
    places = np.minimum(np.searchsorted(many, few), len(many) - 1)
    return int(np.count_nonzero(many[places] == few))


_int: Any = np.int64


def _odd_bits(parities: Any, one: Any, own: Any, other: Any, width: Any) -> Any:
    """Return in how many bits two parities differ, the wider one folded."""
    odd = np.uint64(0)
    if own == width:
        for word in range(own):
            odd += bits_of(parities[one + word] ^ parities[other + word])
        return _int(odd)
    few = min(own, width)
    for word in range(few):
        value = np.uint64(0)
        for place in range(word, own, few):
            value ^= parities[one + place]
        for place in range(word, width, few):
            value ^= parities[other + place]
        odd += bits_of(value)
    return _int(odd)


def _table(pool: Any, start: Any, size: Any) -> Any:
    """Return a set as a hash table a quarter full at most.

    Hashes are mixed, so their low bits serve; a slot of 0 is empty, and the shingle 0, the first of
    its set, is looked at apart.
    """
    slots = _int(16)
    while slots < 4 * size:
        slots *= 2
    table = np.zeros(slots, np.uint64)
    mask = np.uint64(slots - 1)
    for place in range(start, start + size):
        slot = pool[place] & mask
        while table[slot]:
            slot = slot + np.uint64(1) & mask
        table[slot] = pool[place]
    return table


def _common_counts(
    pool: Any,
    starts: Any,
    sizes: Any,
    parity: Any,
    texts: Any,
    others: Any,
    least: Any,
    common: Any,
) -> Any:
    """Count what the sets of pairs have in common; where it is less than the least, nothing.

    Returns:
        How many of the others were walked through.
    """
    parities, parity_starts, widths = parity
    nothing = np.empty(0, np.uint64)
    table = nothing
    mask = np.uint64(0)
    walked = _int(0)
    for number in range(len(others)):
        other, text = others[number], texts[number]
        start, size = starts[text], sizes[text]
        if number and text != texts[number - 1]:
            table = nothing
        odd = _odd_bits(
            parities, parity_starts[text], widths[text], parity_starts[other], widths[other]
        )
        if odd > size + sizes[other] - 2 * least[number]:
            continue
        walked += 1
        if not len(table):
            table = _table(pool, start, size)
            mask = np.uint64(len(table) - 1)
        has_zero = size > 0 and pool[start] == 0
        first, end = starts[other], starts[other] + sizes[other]
        count = _int(0)
        if first < end and pool[first] == 0:
            count += has_zero
            first += 1
        while first < end:
            # Not after each shingle, so that the look-ups of several go on side by side.
            stop = min(first + 32, end)
            for place in range(first, stop):
                shingle = pool[place]
                slot = shingle & mask
                while table[slot] and table[slot] != shingle:
                    slot = slot + np.uint64(1) & mask
                count += table[slot] == shingle
            first = stop
            if count + end - first < least[number]:
                break
        if count >= least[number]:
            common[number] = count
    return walked


_COMMON = Kernel(
    _common_counts,
    [
        "int64(uint64[::1], int64[::1], int64[::1], "
        "Tuple((uint64[::1], int64[::1], int64[::1])), "
        "int64[::1], int64[::1], int64[::1], int64[::1])",
    ],
    parts=[bits_of, _odd_bits, _table],
)
