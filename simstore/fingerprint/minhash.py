"""MinHash: sketches of shingle sets, to estimate Jaccard similarity, and candidates by bands.

References:
    Broder: On the resemblance and containment of documents, SEQUENCES 1997, section 3. Li, König:
    b-bit minwise hashing, WWW 2010 (16 bits of each minimum suffice). Leskovec, Rajaraman,
    Ullman: Mining of massive datasets, section 3.4 (banding).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simstore.compiled import Kernel, pays
from simstore.errors import InvalidParameter
from simstore.fingerprint.packed_terms import PackedTerms
from simstore.fingerprint.shingle_sets import ShingleSets
from simstore.text.scanning import Scanned
from simstore.text.tokens import GAMMA, MIX_1, MIX_2, mix

VALUES = 128
# Values that sketches of any kind have at most.
MOST_VALUES = 256

# Shingles times values that are held at a time: the products stay in the processor's cache.
_BLOCK = 256
# Time of a shingle in NumPy, to estimate whether the compiled form pays.
_SECONDS_A_SHINGLE = 2e-7
# Share of pairs that may agree in none of the bands that are looked at.
_MISSED = 1e-6
_SEED = 0x73696D73746F7265


@dataclass(frozen=True, slots=True)
class BandLayout:
    """The bands of a sketch; two sketches that agree in a band are candidates.

    Attributes:
        bands: Number of bands b.
        rows: Values a band r; b * r is at most as many as sketches have, and at most 256.
    """

    bands: int = 42
    rows: int = 3

    def __post_init__(self) -> None:
        if self.bands < 1 or self.rows < 1 or self.bands * self.rows > MOST_VALUES:
            raise InvalidParameter(
                f"{self.bands} bands of {self.rows} values: both at least 1, "
                f"their product at most {MOST_VALUES}"
            )

    def __str__(self) -> str:
        return f"{self.bands}x{self.rows}"

    def probability(self, resemblance: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how likely two sets of this resemblance agree in a band: 1 - (1 - s^r)^b."""
        result: NDArray[np.float64] = 1 - (1 - resemblance**self.rows) ** self.bands
        return result

    def enough_for(self, resemblance: float) -> BandLayout:
        """Return as many of the first bands as all but one in a million of such pairs agree in.

        Args:
            resemblance: Least resemblance of the pairs, above 0, at most 1.

        Returns:
            All bands, where fewer would miss more.
        """
        agree = resemblance**self.rows
        if 1 - agree <= _MISSED:
            return BandLayout(1, self.rows)
        # So small a share that it is nothing beside 1, or nothing at all, asks for all of them.
        bands = math.log(_MISSED) / math.log1p(-agree) if agree else math.inf
        return BandLayout(math.ceil(min(bands, self.bands)), self.rows)


DEFAULT_LAYOUT = BandLayout()


def _coefficients() -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    states = np.arange(1, 2 * VALUES + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    drawn = mix(states + np.uint64(_SEED))
    return drawn[:VALUES] | np.uint64(1), drawn[VALUES:]


FACTORS, SHIFTS = _coefficients()


def sketches(sets: ShingleSets) -> NDArray[np.uint16]:
    """Return the sketch of each shingle set.

    Value j is 16 mixed bits of the least ``a_j * h + b_j mod 2**64`` over the hashes h of the
    set. An empty set has the sketch of zeros; :func:`estimates` must not be asked about it.

    Returns:
        uint16, shape (sets, 128).
    """
    if pays(_SECONDS_A_SHINGLE * len(sets.hashes)):
        made = np.empty((len(sets), VALUES), np.uint16)
        SKETCH(sets.offsets, sets.hashes, FACTORS, SHIFTS, made)
        return made
    least = np.zeros((len(sets), VALUES), np.uint64)
    for number in range(len(sets)):
        row = sets.row(number)
        if len(row):
            least[number] = _least(row)
    return (mix(least) >> np.uint64(48)).astype(np.uint16)


def _least(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    least = np.full(VALUES, np.iinfo(np.uint64).max, np.uint64)
    for start in range(0, len(hashes), _BLOCK):
        products = hashes[start : start + _BLOCK, None] * FACTORS
        products += SHIFTS
        np.minimum(least, products.min(axis=0), out=least)
    return least


def estimates(many: NDArray[np.uint16], one: NDArray[np.uint16]) -> NDArray[np.float64]:
    """Return the estimated resemblance of sketches: the share of equal values.

    The standard error at resemblance s is sqrt(s * (1 - s) / 128), at most 0.044.

    Args:
        many: Sketches, shape (n, 128).
        one: A sketch, shape (128,), or one for each, shape (n, 128).

    Returns:
        float64 in [0, 1], shape (n,).
    """
    result: NDArray[np.float64] = (many == one).mean(axis=1)
    return result


# Pairs of sketches that are compared at a time.
_BLOCK_PAIRS = 1 << 14


def equal_values(
    sketches: NDArray[np.uint16], first: NDArray[np.int64], second: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return how many values of the two sketches of each pair are equal.

    Args:
        sketches: Sketches, shape (n, 128), in C order.
        first: The row of the one sketch of each pair, shape (pairs,).
        second: The row of the other.
    """
    equal = np.empty(len(first), np.int64)
    for start in range(0, len(first), _BLOCK_PAIRS):
        part = slice(start, start + _BLOCK_PAIRS)
        same = sketches[first[part]] == sketches[second[part]]
        equal[part] = np.count_nonzero(same, axis=1)
    return equal


def band_values(many: NDArray[Any], layout: BandLayout) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each band of each sketch; equal bands have equal hashes.

    Up to four values a band are one to one with their hash; two bands of more values have the
    same hash by chance once in 2**64.

    Returns:
        uint64, shape (sketches, bands).
    """
    used = many[:, : layout.bands * layout.rows].reshape(len(many), layout.bands, layout.rows)
    hashes = np.zeros((len(many), layout.bands), np.uint64)
    for first in range(0, layout.rows, 4):
        if first:
            hashes = mix(hashes)
        part = np.zeros_like(hashes)
        for place in range(first, min(first + 4, layout.rows)):
            part = part << np.uint64(16) | used[:, :, place].astype(np.uint64)
        hashes ^= part
    return mix(hashes)


def band_columns(
    many: NDArray[np.uint16], rows: NDArray[np.int64], layout: BandLayout
) -> Iterator[NDArray[np.uint64]]:
    """Yield the hashes of :func:`band_values` of some sketches, a band at a time.

    Those of all bands take more memory than the sketches.

    Args:
        many: Sketches, shape (n, 128).
        rows: Which of them, int64, shape (rows,).
        layout: The bands.
    """
    # The hash of a band does not depend on its place.
    for first in range(0, layout.bands * layout.rows, layout.rows):
        yield band_values(many[rows, first : first + layout.rows], BandLayout(1, layout.rows))[:, 0]


_U0 = np.uint64(0)
_FULL = np.uint64(0xFFFFFFFFFFFFFFFF)


def mixed(value: Any) -> Any:
    """Return a number with its bits mixed, as :func:`~.tokens.mix`: a part of kernels."""
    value = (value ^ value >> np.uint64(30)) * MIX_1
    value = (value ^ value >> np.uint64(27)) * MIX_2
    return value ^ value >> np.uint64(31)


def _distinct_runs(hashes: Any, numbers: Any, size: Any, table: Any, found: Any) -> Any:
    """Write the distinct hashes of the runs of ``size`` tokens; return how many there are."""
    if not len(numbers):
        return 0
    size = min(size, len(numbers))
    mask = len(table) - 1
    table[:] = _U0
    count = 0
    zero = False
    for start in range(len(numbers) - size + 1):
        value = _U0
        for place in range(start, start + size):
            value = value * GAMMA + hashes[numbers[place]]
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
    return count


def _least_products(found: Any, factors: Any, shifts: Any, least: Any) -> None:
    """Write the least of each permutation's products; four hashes at a time, the last repeated."""
    least[:] = _FULL
    last = len(found) - 1
    for place in range(0, len(found), 4):
        hash_1 = found[place]
        hash_2 = found[min(place + 1, last)]
        hash_3 = found[min(place + 2, last)]
        hash_4 = found[min(place + 3, last)]
        for number in range(128):
            factor = factors[number]
            shift = shifts[number]
            of_two = min(hash_1 * factor + shift, hash_2 * factor + shift)
            of_others = min(hash_3 * factor + shift, hash_4 * factor + shift)
            least[number] = min(min(of_two, of_others), least[number])


def _sketch(offsets: Any, hashes: Any, factors: Any, shifts: Any, result: Any) -> None:
    least = np.empty(128, np.uint64)
    for row in range(len(offsets) - 1):
        own = hashes[offsets[row] : offsets[row + 1]]
        if not len(own):
            result[row, :] = 0
            continue
        _least_products(own, factors, shifts, least)
        for number in range(128):
            result[row, number] = np.uint16(mixed(least[number]) >> np.uint64(48))


SKETCH = Kernel(
    _sketch,
    [
        "void(int64[::1], Array(uint64, 1, 'C', True), uint64[::1], uint64[::1], uint16[:, ::1])",
    ],
    parts=[mixed, _least_products],
)


def _sets(numbers: Any, offsets: Any, hashes: Any, size: Any, sizes: Any, result: Any) -> None:
    """Write the distinct hashes of each text, and how many there are."""
    longest = 1
    for text in range(len(sizes)):
        longest = max(longest, offsets[text + 1] - offsets[text])
    found = np.empty(longest, np.uint64)
    slots = 4
    while slots < 2 * longest:
        slots *= 2
    table = np.empty(slots, np.uint64)
    end = 0
    for text in range(len(sizes)):
        own = numbers[offsets[text] : offsets[text + 1]]
        slots = 4
        while slots < 2 * len(own):
            slots *= 2
        count = _distinct_runs(hashes, own, size, table[:slots], found)
        sizes[text] = count
        result[end : end + count] = found[:count]
        end += count


SETS = Kernel(
    _sets,
    ["void(int32[::1], int64[::1], uint64[::1], int64, int64[::1], uint64[::1])"],
    parts=[mixed, _distinct_runs],
)


def scanned_sets(scanned: Scanned, size: int) -> ShingleSets:
    """Return the set of shingles of ``size`` consecutive tokens of each text.

    A set is in no order: for :func:`sketches` it needs none.
    """
    count = len(scanned.offsets) - 1
    sizes = np.zeros(count, np.int64)
    found = np.empty(len(scanned.numbers), np.uint64)
    SETS(
        numbers=scanned.numbers,
        offsets=scanned.offsets,
        hashes=PackedTerms.of_scanned(scanned).hashes,
        size=size,
        sizes=sizes,
        result=found,
    )
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    return ShingleSets(offsets, found[: int(offsets[-1])].copy())
