"""The compiled sketch: numbered tokens to the least products of their shingles' hashes."""

from __future__ import annotations

from typing import Any

import numpy as np

from simstore.compiled import Kernel
from simstore.text.mixing import GAMMA, MIX_1, MIX_2

_U0 = np.uint64(0)
_FULL = np.uint64(0xFFFFFFFFFFFFFFFF)


def _mix(value: Any) -> Any:
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
        value = _mix(value)
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


def _sketch(
    numbers: Any, offsets: Any, hashes: Any, size: Any, factors: Any, shifts: Any,
    sizes: Any, result: Any,
) -> None:  # fmt: skip
    longest = 1
    for text in range(len(sizes)):
        longest = max(longest, offsets[text + 1] - offsets[text])
    found = np.empty(longest, np.uint64)
    slots = 4
    while slots < 2 * longest:
        slots *= 2
    table = np.empty(slots, np.uint64)
    least = np.empty(128, np.uint64)
    for text in range(len(sizes)):
        own = numbers[offsets[text] : offsets[text + 1]]
        slots = 4
        while slots < 2 * len(own):
            slots *= 2
        count = _distinct_runs(hashes, own, size, table[:slots], found)
        sizes[text] = count
        if not count:
            result[text, :] = 0
            continue
        _least_products(found[:count], factors, shifts, least)
        for number in range(128):
            result[text, number] = np.uint16(_mix(least[number]) >> np.uint64(48))


SKETCH = Kernel(
    _sketch,
    [
        "void(int32[::1], int64[::1], uint64[::1], int64, uint64[::1], uint64[::1], int64[::1], "
        "uint16[:, ::1])"
    ],
    parts=[_mix, _distinct_runs, _least_products],
)
