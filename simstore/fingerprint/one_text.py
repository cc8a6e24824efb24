"""Fingerprint, sketch and feature counts of one text in two compiled calls.

A batch goes through NumPy step by step; for a single text each step takes longer to begin than to
do. Here the steps are joined: the first kernel cuts a text into words and hashes them, the second
makes of these all that a store keeps. They are made of the parts of the kernels for batches, and
give the same answers. The arrays between the steps are kept from text to text, by thread.

Texts that need more than this (a disguise to fold, a character whose form depends on its
neighbours, a script without blanks between words, very many words) give None, and are prepared as
a batch of one.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from simstore.compiled import Kernel
from simstore.fingerprint.kernels import _lanes
from simstore.fingerprint.minhash import (
    FACTORS,
    SHIFTS,
    VALUES,
    _distinct_runs,
    _least_products,
    mixed,
)
from simstore.fingerprint.packed_terms import LONGEST_HASHED, XXH3, _xxh3
from simstore.fingerprint.weights import logarithmic_weights
from simstore.text.characters import class_table
from simstore.text.disguise_scan import MAY_FOLD, _may_fold_one
from simstore.text.disguises import kind_table
from simstore.text.forms import FormTables, form_tables
from simstore.text.normalization import Normalization
from simstore.text.scan_kernels import (
    IS_INDEXED,
    SCAN,
    STATE_SIZE,
    TERMS,
    WINDOWS,
    Cut,
    Places,
    Terms,
    Texts,
    _scan,
    code_point,
)
from simstore.text.scanning import PADDING, windows_of

# Texts of more bytes are prepared as a batch of one: then a step takes longer to do than to begin.
LONGEST = 1 << 16
# Slots of the table of words; half as many distinct words may be in a text.
_SLOTS = 1 << 14
_LEAST_SLOTS = 1 << 10
_BYTES_A_SLOT = 4
# What the first kernel returns of a text that is not for it.
_IS_OTHER = -1
# Bytes of a packed change before the words, and for each of them.
_HEAD, _OF_TERM = 8, 24
# After the scanner's own: how many words are too long for the compiled hash.
_LONG = STATE_SIZE
_U0, _U1, _U64 = np.uint64(0), np.uint64(1), np.uint64(64)
_int: Any = np.int64
_byte: Any = np.uint8


@dataclass(frozen=True, slots=True)
class PreparedText:
    """The fingerprint, sketch and vocabulary change of one text.

    Attributes:
        words: Its fingerprint of at most 64 bits, uint64, shape (1, 1).
        token_count: Words that occur in it.
        sketch: The size of its shingle set, and its packed sketch: 256 bytes, or none.
        change: What it adds to a vocabulary, laid out: the number of words, 8 bytes; their
            lengths, documents and occurrences, of 8 bytes each, the lowest byte of all, the next
            of all, and so on; and the words.
    """

    words: NDArray[np.uint64]
    token_count: int
    sketch: tuple[int, bytes]
    change: bytes


class _Workspace(threading.local):
    """The arrays that the kernels write, those of a thread."""

    def __init__(self) -> None:
        self.table = np.empty(2 * _SLOTS, np.uint64)
        self.chunks = np.empty(LONGEST // 4, np.uint64)
        self.starts = np.empty(_SLOTS // 2, np.int64)
        self.lengths = np.empty(_SLOTS // 2, np.int64)
        self.numbers = np.empty(LONGEST // 2 + 2, np.int32)
        self.hashes = np.empty(_SLOTS // 2, np.uint64)
        self.hash_rows = self.hashes.reshape(-1, 1)
        self.state = np.zeros(STATE_SIZE + 1, np.int64)
        self.offsets = np.zeros(2, np.int64)
        self.key_offsets = np.zeros(2, np.int64)
        self.keys = np.empty(1, np.uint64)
        self.counts = np.empty(_SLOTS // 2, np.int64)
        self.runs = np.empty(LONGEST // 2 + 2, np.uint64)
        self.run_table = np.empty(1 << 17, np.uint64)
        self.change = np.empty(_HEAD + _OF_TERM * (_SLOTS // 2) + 2 * LONGEST, np.uint8)
        self.sketch = np.empty(VALUES, np.uint16)
        self.made = np.zeros(2, np.uint64)


_workspace = _Workspace()


def prepared_text(
    encoded: bytes,
    normalization: Normalization,
    *,
    is_ascii: bool,
    bits: int,
    tie: int,
    shingle: int,
) -> PreparedText | None:
    """Return what a store keeps of a text; None: it has to be prepared as a batch.

    Args:
        encoded: The text as UTF-8.
        normalization: Its form.
        is_ascii: It has no other bytes.
        bits: Fingerprint length M, at most 64; features weigh 1 + ln of their count.
        tie: Bit that a zero sum gives, 0 or 1.
        shingle: Words of a shingle.
    """
    size = len(encoded)
    if not 0 < size <= LONGEST or normalization.folds_phrases:
        return None
    tables = form_tables(normalization, of_ascii=is_ascii)
    held = _workspace
    slots = _LEAST_SLOTS
    while slots * _BYTES_A_SLOT < size:
        slots *= 2
    slots = min(slots, _SLOTS)
    data = np.frombuffer(encoded + bytes(PADDING + 1), np.uint8)
    places = SCAN_ONE(
        windows_of(data), size, tables.kinds, tables.forms, tables.offsets, tables.points,
        kind_table(), class_table(), normalization.disguises == "fold", not is_ascii,
        normalization.case == "fold", held.table[: 2 * slots], held.chunks,
        held.starts[: slots // 2], held.lengths, held.numbers, held.hashes, held.offsets,
        held.key_offsets, held.keys, held.state,
    )  # fmt: skip
    if places <= 0:
        return None
    terms = int(held.state[TERMS])
    _hash_long(held, terms)
    change_bytes = MAKE_ONE(
        held.numbers, places, terms, held.chunks, held.starts, held.lengths, held.hashes,
        held.hash_rows, logarithmic_weights(places), bits, bool(tie), shingle, FACTORS, SHIFTS,
        held.counts, held.runs, held.run_table, held.change, held.sketch, held.made,
    )  # fmt: skip
    distinct = int(held.made[1])
    return PreparedText(
        held.made[:1].reshape(1, 1).copy(),
        places,
        (distinct, held.sketch.astype("<u2", copy=False).tobytes() if distinct else b""),
        held.change[:change_bytes].tobytes(),
    )


def _hash_long(held: _Workspace, terms: int) -> None:
    """Hash the words that are too long for the compiled hash."""
    if held.state[_LONG] == 0:
        return
    for term in np.flatnonzero(held.lengths[:terms] > LONGEST_HASHED).tolist():
        first, length = int(held.starts[term]), int(held.lengths[term])
        data = held.chunks[first : first + (length + 7) // 8].tobytes()[:length]
        held.hashes[term] = xxhash.xxh3_64_intdigest(data)


def _scan_one(
    windows: Any, size: Any, kinds: Any, forms: Any, expansion_offsets: Any, expansion_points: Any,
    disguises: Any, classes: Any, folds: Any, has_wide: Any, case: Any, table: Any, chunks: Any,
    starts: Any, lengths: Any, numbers: Any, hashes: Any, offsets: Any, key_offsets: Any,
    keys: Any, state: Any,
) -> Any:  # fmt: skip
    """Cut a text into words, and hash them; return how many there are, -1 where it is another."""
    if folds and _may_fold_one(windows, 0, size, disguises, classes):
        return _IS_OTHER
    place = 0
    while has_wide and place < size:
        point, _, width = code_point(windows[place])
        place += width
        if forms[point] == -2:
            return _IS_OTHER
    first, last = np.zeros(1, np.int64), np.zeros(1, np.int64)
    last[0] = size
    table[:] = _U0
    state[:] = 0
    state[IS_INDEXED] = 1
    done = _scan(
        windows,
        Texts(first, last, np.zeros(1, np.bool_)),
        0,
        FormTables(kinds, forms, expansion_offsets, expansion_points),
        Cut(case, True, True),
        Terms(table, chunks, starts, lengths),
        Places(numbers, offsets, keys, key_offsets),
        state,
    )
    if done != 1 or key_offsets[1] > 0:
        return _IS_OTHER
    terms = state[TERMS]
    _xxh3(chunks, starts[:terms], lengths[:terms], hashes)
    for term in range(terms):
        state[_LONG] += lengths[term] > LONGEST_HASHED
    return offsets[1]


def _make_one(
    numbers: Any, places: Any, terms: Any, chunks: Any, starts: Any, lengths: Any, hashes: Any,
    hash_rows: Any, weight_of: Any, bits: Any, tie: Any, size: Any, factors: Any, shifts: Any,
    counts: Any, runs: Any, run_table: Any, change: Any, sketch: Any, made: Any,
) -> Any:  # fmt: skip
    """Make fingerprint, sketch and change of the words of a text; return the change's bytes."""
    counts[:terms] = 0
    for place in range(places):
        counts[numbers[place]] += 1
    columns = np.arange(terms)
    weights = np.empty(terms, np.int64)
    most = len(weight_of) - 1
    for term in range(terms):
        weights[term] = weight_of[min(counts[term], most)]
    sums = np.zeros(64, np.int64)
    total = _lanes(columns, weights, hash_rows, 0, sums)
    least = total if tie else total + 1
    value = _U0
    for bit in range(64):
        if 2 * sums[bit] >= least:
            value |= _U1 << np.uint64(bit)
    made[0] = value >> np.uint64(64 - bits)
    slots = 4
    while slots < 2 * places:
        slots *= 2
    distinct = _distinct_runs(hashes, numbers[:places], size, run_table[:slots], runs)
    made[1] = np.uint64(distinct)
    if distinct:
        least_of = np.empty(128, np.uint64)
        _least_products(runs[:distinct], factors, shifts, least_of)
        for number in range(128):
            sketch[number] = np.uint16(mixed(least_of[number]) >> np.uint64(48))
    # Lengths, documents and occurrences: the lowest bytes of all, then the next, eight in all.
    width = 3 * terms
    end = _HEAD + _OF_TERM * terms
    change[:end] = 0
    for part in range(8):
        change[part] = _byte(terms >> 8 * part & 0xFF)
    for term in range(terms):
        change[_HEAD + terms + term] = 1
        for part in range(3):
            plane = _HEAD + part * width + term
            change[plane] = _byte(lengths[term] >> 8 * part & 0xFF)
            change[plane + 2 * terms] = _byte(counts[term] >> 8 * part & 0xFF)
    for term in range(terms):
        chunk = starts[term]
        for place in range(lengths[term]):
            word = chunks[chunk + (place >> 3)]
            change[end] = _byte(word >> np.uint64(8 * (place & 7)) & np.uint64(0xFF))
            end += 1
    return end


_BYTES = "Array(uint8, 1, 'C', True)"
_NUMBERS = "Array(int32, 1, 'C', True)"
SCAN_ONE = Kernel(
    _scan_one,
    [
        f"int64({WINDOWS}, int64, Array(uint8, 2, 'C', True), {_NUMBERS}, {_NUMBERS}, {_NUMBERS}, "
        f"{_BYTES}, {_BYTES}, boolean, boolean, boolean, uint64[::1], uint64[::1], int64[::1], "
        "int64[::1], int32[::1], uint64[::1], int64[::1], int64[::1], uint64[::1], int64[::1])"
    ],
    parts=list(dict.fromkeys((*SCAN.parts, _scan, *MAY_FOLD.parts, *XXH3.parts, _xxh3))),
    lets_go=False,
)
MAKE_ONE = Kernel(
    _make_one,
    [
        "int64(int32[::1], int64, int64, uint64[::1], int64[::1], int64[::1], uint64[::1], "
        "uint64[:, ::1], int64[::1], int64, boolean, int64, uint64[::1], uint64[::1], "
        "int64[::1], uint64[::1], uint64[::1], uint8[::1], uint16[::1], uint64[::1])"
    ],
    parts=[mixed, _distinct_runs, _least_products, _lanes],
    lets_go=False,
)
