"""Numba kernels that compute SimHash fingerprints and count terms, with the results of NumPy.

See :mod:`simstore.compiled`.

Types are pinned: a ``uint64`` with a signed number would become a float.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from simstore.compiled import Kernel
from simstore.fingerprint.packed_terms import xxh3_short

_U0, _U1, _U64 = (np.uint64(n) for n in (0, 1, 64))


def _lanes(columns: Any, weights: Any, hashes: Any, word: Any, sums: Any) -> Any:
    """Add each weight to the lanes of its hash's ones, the lowest bit first; return all weights.

    Four entries at a time: the lanes are read and written once for them.
    """
    sums[:] = 0
    total = np.int64(0)
    fours = len(columns) // 4 * 4
    for entry in range(0, fours, 4):
        hash_1 = hashes[columns[entry], word]
        hash_2 = hashes[columns[entry + 1], word]
        hash_3 = hashes[columns[entry + 2], word]
        hash_4 = hashes[columns[entry + 3], word]
        weight_1, weight_2 = weights[entry], weights[entry + 1]
        weight_3, weight_4 = weights[entry + 2], weights[entry + 3]
        total += weight_1 + weight_2 + weight_3 + weight_4
        for bit in range(64):
            place = np.uint64(bit)
            sums[bit] += (
                (weight_1 & -np.int64(hash_1 >> place & _U1))
                + (weight_2 & -np.int64(hash_2 >> place & _U1))
                + (weight_3 & -np.int64(hash_3 >> place & _U1))
                + (weight_4 & -np.int64(hash_4 >> place & _U1))
            )
    for entry in range(fours, len(columns)):
        hashed = hashes[columns[entry], word]
        weight = weights[entry]
        total += weight
        for bit in range(64):
            sums[bit] += weight & -np.int64(hashed >> np.uint64(bit) & _U1)
    return total


def _fingerprint(
    columns: Any, weights: Any, hashes: Any, spare: Any, tie: Any, sums: Any, result: Any
) -> None:
    """Make a fingerprint; a bit's sum is positive where its ones weigh more than half of all."""
    for word in range(hashes.shape[1]):
        total = _lanes(columns, weights, hashes, word, sums)
        least = total if tie else total + 1
        value = _U0
        for bit in range(64):
            if 2 * sums[bit] >= least:
                value |= _U1 << np.uint64(bit)
        result[word] = value
    if hashes.shape[1] == 1:
        result[0] >>= spare
    elif spare:
        result[1] = result[1] >> spare | result[0] << (_U64 - spare)
        result[0] >>= spare


def _sums_of_hashes(
    offsets: Any, columns: Any, weights: Any, hashes: Any, bits: Any, tie: Any, result: Any
) -> None:
    sums = np.zeros(64, np.int64)
    spare = np.uint64(64 * hashes.shape[1] - bits)
    for document in range(len(offsets) - 1):
        first, end = offsets[document], offsets[document + 1]
        _fingerprint(
            columns[first:end], weights[first:end], hashes, spare, tie, sums, result[document]
        )


def _key_ones(keys: Any, sums: Any) -> None:
    """Count the ones in each bit of the hashes of keys, the lowest bit first."""
    sums[:] = 0
    hashed = np.empty(len(keys), np.uint64)
    for place in range(len(keys)):
        key = keys[place]
        length = 1
        for shorter in range(8, 64, 8):
            length += 1 if key >> np.uint64(shorter) else 0
        hashed[place] = xxh3_short(key, length)
    fours = len(keys) // 4 * 4
    for place in range(0, fours, 4):
        hash_1, hash_2 = hashed[place], hashed[place + 1]
        hash_3, hash_4 = hashed[place + 2], hashed[place + 3]
        for bit in range(64):
            shift = np.uint64(bit)
            sums[bit] += np.int64(
                (hash_1 >> shift & _U1)
                + (hash_2 >> shift & _U1)
                + (hash_3 >> shift & _U1)
                + (hash_4 >> shift & _U1)
            )
    for place in range(fours, len(keys)):
        for bit in range(64):
            sums[bit] += np.int64(hashed[place] >> np.uint64(bit) & _U1)


_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_KEY_SHIFT = np.uint64(32)


def _repeated(keys: Any, least: Any, slots: Any, found: Any, counts: Any) -> Any:
    """Find the keys that occur at least so often; return how many there are.

    Args:
        keys: The keys.
        least: The count.
        slots: Zeros, longer than twice the keys; zeros again afterwards.
        found: Gets the keys.
        counts: Gets how often each occurs; as long as the keys.
    """
    size = np.int64(2)
    while size < 2 * len(keys):
        size *= 2
    mask = np.uint64(size - 1)
    distinct = 0
    for key in keys:
        slot = np.int64(((key * _FACTOR) >> _KEY_SHIFT) & mask)
        while slots[slot] != 0 and found[slots[slot] - 1] != key:
            slot = (slot + 1) & np.int64(mask)
        if slots[slot] == 0:
            found[distinct] = key
            counts[distinct] = 0
            distinct += 1
            slots[slot] = distinct
        counts[slots[slot] - 1] += 1
    slots[:size] = 0
    many = 0
    for entry in range(distinct):
        if counts[entry] >= least:
            found[many] = found[entry]
            counts[many] = counts[entry]
            many += 1
    return many


def _damp(keys: Any, unit: Any, damped: Any, sums: Any, slots: Any, found: Any, counts: Any) -> Any:
    """Take from sums what keys that occur often weigh too much; return how much that is.

    Each key was added with the weight ``unit`` for each time it occurs. For ``slots``, ``found``
    and ``counts`` see :func:`_repeated`.
    """
    least = 1
    while least < len(damped) and damped[least] == unit * least:
        least += 1
    if len(keys) < least:
        return np.int64(0)
    surplus = np.int64(0)
    for entry in range(_repeated(keys, least, slots, found, counts)):
        key = found[entry]
        length = 1
        for shorter in range(8, 64, 8):
            length += 1 if key >> np.uint64(shorter) else 0
        hashed = xxh3_short(key, length)
        count = counts[entry]
        too_much = unit * count - damped[min(count, len(damped) - 1)]
        surplus += too_much
        for bit in range(64):
            sums[bit] -= too_much & -np.int64(hashed >> np.uint64(bit) & _U1)
    return surplus


def _sums_of_places(
    numbers: Any, places: Any, hashes: Any, linear: Any, weight_of: Any, damped: Any,
    key_offsets: Any, keys: Any, unit: Any, bits: Any, tie: Any, result: Any,
) -> None:  # fmt: skip
    """Make fingerprints of 64 bits at most from terms and keys at their places.

    Args:
        numbers: The number of the term at each place.
        places: Text t has the places ``[places[t], places[t + 1])``.
        hashes: Of each term, shape (terms, 1).
        linear: Whether a term weighs ``unit`` for each time it occurs, as a key does.
        weight_of: The weight of the others by their count; counts beyond weigh the last.
        damped: The weight of a key, and of a term that is linear, by its count, where it is not
            ``unit`` for each time; empty: it is.
        key_offsets: Text t has the keys ``[key_offsets[t], key_offsets[t + 1])``.
        keys: Bytes of features of characters, which are hashed by XXH3.
        unit: A weight.
        bits: Fingerprint length.
        tie: The bit that a zero sum gives.
        result: Gets the fingerprints, shape (texts, 1).
    """
    most_keys = 0
    if len(damped):
        for text in range(len(places) - 1):
            most_keys = max(most_keys, key_offsets[text + 1] - key_offsets[text])
    slots = np.zeros(4 * most_keys + 2, np.int32)
    key_found = np.empty(most_keys, np.uint64)
    key_counts = np.empty(most_keys, np.int64)
    sums = np.zeros(64, np.int64)
    ones = np.zeros(64, np.int64)
    spare = np.uint64(64 - bits)
    occurrences = np.zeros(len(hashes), np.int64)
    seen = np.empty(len(hashes) + 1, np.int64)
    weights = np.empty(len(hashes) + 1, np.int64)
    most = len(weight_of) - 1
    for text in range(len(places) - 1):
        distinct = 0
        for place in range(places[text], places[text + 1]):
            number = numbers[place]
            count = occurrences[number]
            seen[distinct] = number
            distinct += 1 if count == 0 else 0
            occurrences[number] = count + 1
        for entry in range(distinct):
            number = seen[entry]
            count = occurrences[number]
            occurrences[number] = 0
            if not linear[number]:
                weights[entry] = weight_of[min(count, most)]
            elif len(damped):
                weights[entry] = damped[min(count, len(damped) - 1)]
            else:
                weights[entry] = unit * count
        first_key, end_key = key_offsets[text], key_offsets[text + 1]
        _key_ones(keys[first_key:end_key], ones)
        total = _lanes(seen[:distinct], weights[:distinct], hashes, 0, sums)
        total += unit * (end_key - first_key)
        for bit in range(64):
            sums[bit] += unit * ones[bit]
        if len(damped):
            total -= _damp(
                keys[first_key:end_key], unit, damped, sums, slots, key_found, key_counts
            )
        least = total if tie else total + 1
        value = _U0
        for bit in range(64):
            if 2 * sums[bit] >= least:
                value |= _U1 << np.uint64(bit)
        result[text, 0] = value >> spare


SUMS_OF_HASHES = Kernel(
    _sums_of_hashes,
    ["void(int64[::1], int64[::1], int64[::1], uint64[:, ::1], int64, boolean, uint64[:, ::1])"],
    parts=[_lanes, _fingerprint],
)
SUMS_OF_PLACES = Kernel(
    _sums_of_places,
    [
        "void(int32[::1], int64[::1], uint64[:, ::1], boolean[::1], int64[::1], int64[::1], "
        "int64[::1], uint64[::1], int64, int64, boolean, uint64[:, ::1])"
    ],
    parts=[_lanes, xxh3_short, _key_ones, _repeated, _damp],
)
_int: Any = np.int64
# FNV-1a, 64 bits: http://www.isthe.com/chongo/tech/comp/fnv/
_BASIS = np.uint64(0xCBF29CE484222325)
_PRIME = np.uint64(0x100000001B3)
_U32 = np.uint64(32)


def _number_terms(data: Any, ends: Any, table: Any, hashes: Any, firsts: Any, numbers: Any) -> Any:
    """Number the distinct terms by their first occurrence; return how many there are.

    Entry e is ``data[ends[e]:ends[e + 1]]``. The table is of zeros, a power of two, longer than
    there are entries.
    """
    mask = len(table) - 1
    count = 0
    for entry in range(len(numbers)):
        start, end = ends[entry], ends[entry + 1]
        hashed = _BASIS
        for place in range(start, end):
            hashed = (hashed ^ np.uint64(data[place])) * _PRIME
        slot = _int(hashed ^ hashed >> _U32) & mask
        number = table[slot] - 1
        while number >= 0:
            first = ends[firsts[number]]
            same = hashes[number] == hashed and ends[firsts[number] + 1] - first == end - start
            place = 0
            while same and place < end - start:
                same = data[first + place] == data[start + place]
                place += 1
            if same:
                break
            slot = (slot + 1) & mask
            number = table[slot] - 1
        if number < 0:
            number = count
            table[slot] = number + 1
            hashes[number] = hashed
            firsts[number] = entry
            count += 1
        numbers[entry] = number
    return count


NUMBER_TERMS = Kernel(
    _number_terms,
    ["int64(uint8[::1], int64[::1], int64[::1], uint64[::1], int64[::1], int64[::1])"],
)
