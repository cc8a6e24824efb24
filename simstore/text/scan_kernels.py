"""Numba kernels of the tokenizer: cut UTF-8 bytes into terms and number the distinct ones.

:mod:`simstore.text.scanning` calls them; "How a text is cut into terms" in
docs/explanation/architecture.md has a picture of the arrays. A kernel takes them in groups that
have names: :class:`Texts`, :class:`~.forms.FormTables`, :class:`Cut`, :class:`Terms` and
:class:`Places`.

Eight bytes are looked at at a time, as one number, the first byte lowest. Types are pinned: a
``uint64`` with a signed number would become a float.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simstore.compiled import Kernel
from simstore.text.characters import CHANGES, SEPARATOR, WORD
from simstore.text.forms import FormTables

# Places in the state that the kernel keeps between calls.
USED_CHUNKS, TERMS, PLACES, KEYS, IS_INDEXED = 0, 1, 2, 3, 4
STATE_SIZE = 5

_SEPARATOR, _WORD, _CHANGES = int(SEPARATOR), int(WORD), int(CHANGES)
_int: Any = np.int64
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_BYTE = np.uint64(0xFF)
_SIX = np.uint64(0x3F)
_LOW_32 = np.uint64(0xFFFFFFFF)
_U0, _U1, _U7, _U8, _U32, _U56 = (np.uint64(n) for n in (0, 1, 7, 8, 32, 56))


class Texts(NamedTuple):
    """Where the texts that are cut begin and end.

    Attributes:
        starts: First place of each text; int64, shape (texts,).
        ends: The place after each text, where a byte separates; int64, shape (texts,).
        formed: Whether a text is in its form already: the second row of ``FormTables.kinds`` is not
            for it.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    formed: NDArray[np.bool_]


class Cut(NamedTuple):
    """Flags of the scanner: where it cuts a text.

    Attributes:
        case: Upper and lower case of ASCII letters are one.
        pairs: Characters of scripts without blanks come in overlapping pairs; else alone.
        apart: These characters are keys, not terms.
    """

    case: bool = True
    pairs: bool = True
    apart: bool = False


class Terms(NamedTuple):
    """The distinct terms so far, and the hash table that finds them.

    Attributes:
        table: Two numbers a slot: the hash of a term; its length, in the upper 32 bits, and its
            number, from 1. Both are 0 where a slot is free; a term is at the slot that the low bits
            of its hash name, or after it. uint64, a power of two.
        chunks: The bytes of the terms, each begun at a new chunk of eight and filled up with zeros;
            uint64.
        firsts: First chunk of each term; int64.
        lengths: Bytes of each term; int64.
    """

    table: NDArray[np.uint64]
    chunks: NDArray[np.uint64]
    firsts: NDArray[np.int64]
    lengths: NDArray[np.int64]


class Places(NamedTuple):
    """The terms, by number, at each place of each text.

    Attributes:
        numbers: The number of the term, from 0; int32.
        offsets: Text d has the places ``offsets[d]:offsets[d + 1]``; int64, shape (texts + 1,).
        keys: Where characters are apart, the bytes of each pair, the first lowest; uint64.
        key_offsets: Text d has the keys ``key_offsets[d]:key_offsets[d + 1]``; int64, as offsets.
    """

    numbers: NDArray[np.int32]
    offsets: NDArray[np.int64]
    keys: NDArray[np.uint64]
    key_offsets: NDArray[np.int64]


def code_point(window: Any) -> Any:
    """Return the code point whose UTF-8 a window begins with, that UTF-8, and its length."""
    first = window & _BYTE
    if first < np.uint64(0x80):
        return _int(first), first, 1
    second = window >> np.uint64(8) & _SIX
    if first < np.uint64(0xE0):
        point = (first & np.uint64(0x1F)) << np.uint64(6) | second
        return _int(point), window & np.uint64(0xFFFF), 2
    third = window >> np.uint64(16) & _SIX
    point = second << np.uint64(6) | third
    if first < np.uint64(0xF0):
        point |= (first & np.uint64(0x0F)) << np.uint64(12)
        return _int(point), window & np.uint64(0xFFFFFF), 3
    point = point << np.uint64(6) | (window >> np.uint64(24) & _SIX)
    point |= (first & np.uint64(0x07)) << np.uint64(18)
    return _int(point), window & _LOW_32, 4


def utf8(point: Any) -> Any:
    """Return the UTF-8 of a code point as a number, the first byte lowest, and its length."""
    c = np.uint64(point)
    if point < 0x80:
        return c, 1
    last = np.uint64(0x80) | (c & np.uint64(0x3F))
    if point < 0x800:
        return np.uint64(0xC0) | c >> np.uint64(6) | last << np.uint64(8), 2
    middle = np.uint64(0x80) | (c >> np.uint64(6) & np.uint64(0x3F))
    if point < 0x10000:
        lead = np.uint64(0xE0) | c >> np.uint64(12)
        return lead | middle << np.uint64(8) | last << np.uint64(16), 3
    upper = np.uint64(0x80) | (c >> np.uint64(12) & np.uint64(0x3F))
    lead = np.uint64(0xF0) | c >> np.uint64(18)
    return (
        lead | upper << np.uint64(8) | middle << np.uint64(16) | last << np.uint64(24),
        4,
    )


def mixed(hashed: Any, chunk: Any) -> Any:
    """Return a hash with eight more bytes; one to one in the bytes."""
    hashed = (hashed ^ chunk) * _FACTOR
    return hashed ^ hashed >> _U32


def index(terms: Any, term_count: Any) -> None:
    """Put the terms there are into an empty table."""
    table, chunks, firsts, lengths = terms
    mask = len(table) // 2 - 1
    for term in range(term_count):
        length = lengths[term]
        hashed = _U0
        for chunk in range((length + 7) >> 3):
            hashed = mixed(hashed, chunks[firsts[term] + chunk])
        slot = _int(hashed) & mask
        while table[2 * slot + 1] != _U0:
            slot = (slot + 1) & mask
        table[2 * slot] = hashed
        table[2 * slot + 1] = np.uint64(length) << _U32 | np.uint64(term + 1)


def any_script(
    windows: Any, place: Any, end: Any, row: Any,
    tables: Any, cut: Any, terms: Any, places: Any, state: Any,
) -> Any:  # fmt: skip
    """Number the terms from a place to the next separator; return the place after that.

    Args:
        windows: The eight bytes from each place on as a number, the first byte lowest; uint64.
        place: Where to begin.
        end: The end of the text.
        row: The row of ``FormTables.kinds`` that is for the text.
        tables: The :class:`~.forms.FormTables`.
        cut: The :class:`Cut`.
        terms: The :class:`Terms`, which grow.
        places: The :class:`Places`, which are written.
        state: How much of the arrays is used; int64, shape (STATE_SIZE,).

    Returns:
        -1: an array is full.
    """
    kinds, forms, expansion_offsets, expansion_points = tables
    table, chunks, firsts, lengths = terms
    numbers, keys = places.numbers, places.keys
    pairs, apart = cut.pairs, cut.apart
    mask = len(table) // 2 - 1
    used = state[USED_CHUNKS]
    term_count = state[TERMS]
    place_count = state[PLACES]
    key_count = state[KEYS]
    most_terms = min(len(firsts), mask // 2)
    most_chunks = len(chunks) - 3
    expansion = 0
    expansion_end = 0
    kind = _SEPARATOR
    run = 0  # characters of the run so far
    size = 0  # bytes of the word so far
    chunk = _U0
    hashed = _U0
    filled = used
    previous = _U0
    previous_length = 0
    found = _SEPARATOR
    code = _U0
    width = 1
    held = False  # the code point is to be looked at again
    while True:
        if held:
            held = False
        elif expansion < expansion_end:
            point = _int(expansion_points[expansion])
            expansion += 1
            code, width = utf8(point)
            found = _int(kinds[0, point])
        elif place >= end:
            found = _SEPARATOR
        else:
            point, code, width = code_point(windows[place])
            place += width
            found = _int(kinds[row, point])
            if found == _CHANGES:
                form = _int(forms[point])
                if form < 0:
                    if form <= -3:
                        expansion = _int(expansion_offsets[-3 - form])
                        expansion_end = _int(expansion_offsets[-2 - form])
                    continue
                code, width = utf8(form)
                found = _int(kinds[0, form])
        length = 0
        if found != kind:
            # A word ends, or a run of a single character.
            if kind == _WORD:
                length = size
                if size & 7:
                    chunks[filled] = chunk
                    hashed = mixed(hashed, chunk)
            elif apart and pairs and run == 1:
                if key_count == len(keys):
                    state[USED_CHUNKS] = used
                    state[TERMS] = term_count
                    return -1
                keys[key_count] = previous
                key_count += 1
            elif pairs and run == 1:
                length = previous_length
                chunks[filled] = previous
                hashed = mixed(_U0, previous)
            held = length > 0
            kind = found
            run = 0
            size = 0
            chunk = _U0
        if held:
            pass
        elif found == _SEPARATOR:
            if expansion >= expansion_end:
                state[USED_CHUNKS] = used
                state[TERMS] = term_count
                state[PLACES] = place_count
                state[KEYS] = key_count
                return place
            continue
        elif found == _WORD:
            for _ in range(width):
                chunk |= (code & _BYTE) << np.uint64((size & 7) * 8)
                code >>= _U8
                size += 1
                if size & 7 == 0:
                    if filled >= most_chunks:
                        state[USED_CHUNKS] = used
                        state[TERMS] = term_count
                        return -1
                    chunks[filled] = chunk
                    hashed = mixed(hashed, chunk)
                    filled += 1
                    chunk = _U0
            continue
        else:
            run += 1
            length = width
            key = code
            if pairs:
                key = previous | code << np.uint64(8 * previous_length)
                length = previous_length + width
                previous = code
                previous_length = width
                if run == 1:
                    continue
            if apart:
                if key_count == len(keys):
                    state[USED_CHUNKS] = used
                    state[TERMS] = term_count
                    return -1
                keys[key_count] = key
                key_count += 1
                continue
            hashed = mixed(_U0, key)
            chunks[filled] = key
        # A term of `length` bytes stands after the used chunks.
        tag_length = np.uint64(length)
        chunk_count = (length + 7) >> 3
        slot = _int(hashed) & mask
        number = -1
        while True:
            tag = table[2 * slot + 1]
            if tag == _U0:
                break
            if table[2 * slot] == hashed and tag >> _U32 == tag_length:
                number = _int(tag & _LOW_32) - 1
                same = True
                if length > 8:
                    for place_in in range(chunk_count):
                        same &= chunks[firsts[number] + place_in] == chunks[used + place_in]
                if same:
                    break
                number = -1
            slot = (slot + 1) & mask
        if number < 0:
            if term_count >= most_terms or used + chunk_count >= most_chunks:
                state[USED_CHUNKS] = used
                state[TERMS] = term_count
                return -1
            number = term_count
            table[2 * slot] = hashed
            table[2 * slot + 1] = tag_length << _U32 | np.uint64(number + 1)
            firsts[number] = used
            lengths[number] = length
            used += chunk_count
            term_count += 1
        if place_count == len(numbers):
            state[USED_CHUNKS] = used
            state[TERMS] = term_count
            return -1
        numbers[place_count] = number
        place_count += 1
        filled = used
        hashed = _U0


_HIGH = np.uint64(0x8080808080808080)
_SEVEN = np.uint64(0x7F7F7F7F7F7F7F7F)
_CASE = np.uint64(0x2020202020202020)
_ONES = np.uint64(0x0101010101010101)
# Added to seven-bit bytes, these set the high bit of those from a, after z, from 0, after 9.
_FROM_A = np.uint64(0x1F1F1F1F1F1F1F1F)
_AFTER_Z = np.uint64(0x0505050505050505)
_FROM_0 = np.uint64(0x5050505050505050)
_AFTER_9 = np.uint64(0x4646464646464646)
_FIRST = np.uint64(0x80)


def _scan(
    windows: Any, texts: Any, text: Any,
    tables: Any, cut: Any, terms: Any, places: Any, state: Any,
) -> Any:  # fmt: skip
    """Number the terms of the texts from ``text`` on, as far as the arrays last.

    Words of ASCII are cut here, eight bytes at a time; where another byte comes, ``any_script``
    goes on to the next separator.

    Args:
        windows: The eight bytes from each place on as a number, the first byte lowest; uint64.
        texts: The :class:`Texts`.
        text: The number of the first.
        tables: The :class:`~.forms.FormTables`.
        cut: The :class:`Cut`.
        terms: The :class:`Terms`, which grow.
        places: The :class:`Places`, which are written.
        state: How much of the arrays is used; int64, shape (STATE_SIZE,).

    Returns:
        The first text that is not done, whose places do not count yet.
    """
    starts, ends, formed = texts
    table, chunks, firsts, lengths = terms
    numbers, offsets, _, key_offsets = places
    if not state[IS_INDEXED]:
        index(terms, state[TERMS])
        state[IS_INDEXED] = 1
    mask = len(table) // 2 - 1
    fold = _CASE if cut.case else _U0
    used = state[USED_CHUNKS]
    term_count = state[TERMS]
    most_terms = min(len(firsts), mask // 2)
    most_chunks = len(chunks) - 2
    while text < len(starts):
        place = starts[text]
        end = ends[text]
        kinds_row = 0 if formed[text] else 1
        place_count = offsets[text]
        state[KEYS] = key_offsets[text]
        if len(numbers) - place_count < (end - place) // 2 + 1:
            state[USED_CHUNKS] = used
            state[TERMS] = term_count
            return text
        while place < end:
            first_place = place
            window = windows[place]
            seven = window & _SEVEN
            lowered = seven | _CASE
            kept = (
                ((lowered + _FROM_A) & ~(lowered + _AFTER_Z))
                | ((seven + _FROM_0) & ~(seven + _AFTER_9))
            ) & ~window & _HIGH  # fmt: skip
            others = ~kept & _HIGH
            low = others & (~others + _U1)
            if kept & _FIRST:
                hashed = _U0
                while not others:
                    hashed = mixed(hashed, window | fold)
                    place += 8
                    window = windows[place]
                    seven = window & _SEVEN
                    lowered = seven | _CASE
                    kept = (
                        ((lowered + _FROM_A) & ~(lowered + _AFTER_Z))
                        | ((seven + _FROM_0) & ~(seven + _AFTER_9))
                    ) & ~window & _HIGH  # fmt: skip
                    others = ~kept & _HIGH
                    low = others & (~others + _U1)
                if not window & low:
                    last = (window | fold) & ((low >> _U7) - _U1)
                    place += _int((((low - _U1) & _ONES) * _ONES) >> _U56) - 1
                    length = place - first_place
                    if low != _FIRST:
                        hashed = mixed(hashed, last)
                    tag_length = np.uint64(length)
                    slot = _int(hashed) & mask
                    number = -1
                    while True:
                        tag = table[2 * slot + 1]
                        if tag == _U0:
                            break
                        if table[2 * slot] == hashed and tag >> _U32 == tag_length:
                            number = _int(tag & _LOW_32) - 1
                            if length <= 8:
                                # One to one with the hash.
                                break
                            first = firsts[number]
                            whole = length >> 3
                            same = True
                            for chunk in range(whole):
                                same &= chunks[first + chunk] == (
                                    windows[first_place + 8 * chunk] | fold
                                )
                            if length & 7:
                                same &= chunks[first + whole] == last
                            if same:
                                break
                            number = -1
                        slot = (slot + 1) & mask
                    if number < 0:
                        chunk_count = (length + 7) >> 3
                        if term_count >= most_terms or used + chunk_count > most_chunks:
                            state[USED_CHUNKS] = used
                            state[TERMS] = term_count
                            return text
                        for chunk in range(length >> 3):
                            chunks[used + chunk] = windows[first_place + 8 * chunk] | fold
                        if length & 7:
                            chunks[used + chunk_count - 1] = last
                        number = term_count
                        table[2 * slot] = hashed
                        table[2 * slot + 1] = tag_length << _U32 | np.uint64(number + 1)
                        firsts[number] = used
                        lengths[number] = length
                        used += chunk_count
                        term_count += 1
                    numbers[place_count] = number
                    place_count += 1
                    place += 1
                    continue
            elif not window & _FIRST:
                wanted = kept | (window & _HIGH)
                if wanted:
                    low = wanted & (~wanted + _U1)
                    place += _int((((low - _U1) & _ONES) * _ONES) >> _U56) - 1
                else:
                    place += 8
                continue
            state[USED_CHUNKS] = used
            state[TERMS] = term_count
            state[PLACES] = place_count
            place = any_script(
                windows, first_place, end, kinds_row, tables, cut, terms, places, state
            )
            used = state[USED_CHUNKS]
            term_count = state[TERMS]
            place_count = state[PLACES]
            # A character may stand for more terms than it has bytes: what comes needs its room.
            if place < 0 or len(numbers) - place_count < (end - place) // 2 + 1:
                return text
        text += 1
        offsets[text] = place_count
        key_offsets[text] = state[KEYS]
    state[USED_CHUNKS] = used
    state[TERMS] = term_count
    return text


def _depends(windows: Any, starts: Any, ends: Any, forms: Any) -> Any:
    found = np.zeros(len(starts), np.bool_)
    for text in range(len(starts)):
        place = starts[text]
        while place < ends[text]:
            point, _, width = code_point(windows[place])
            place += width
            if forms[point] == -2:
                found[text] = True
                break
    return found


def _scan_types(types: Any) -> list[Any]:
    def array(of: Any, dimensions: int = 1, *, readonly: bool = False) -> Any:
        return types.Array(of, dimensions, "C", readonly=readonly)

    def tuple_of(form: Any, *members: Any) -> Any:
        return types.NamedTuple(members, form)

    windows = types.Array(types.uint64, 1, "A", readonly=True, aligned=False)
    many, numbers = array(types.uint64), array(types.int64)
    table = array(types.int32, readonly=True)
    texts = tuple_of(Texts, numbers, numbers, array(types.boolean))
    tables = tuple_of(FormTables, array(types.uint8, 2, readonly=True), table, table, table)
    terms = tuple_of(Terms, many, many, numbers, numbers)
    places = tuple_of(Places, array(types.int32), numbers, many, numbers)
    cut = types.NamedUniTuple(types.boolean, len(Cut._fields), Cut)
    return [types.int64(windows, texts, types.int64, tables, cut, terms, places, numbers)]


WINDOWS = "Array(uint64, 1, 'A', True, None, False)"
_FORMS = "Array(int32, 1, 'C', True)"
SCAN = Kernel(_scan, _scan_types, parts=[code_point, utf8, mixed, index, any_script])
DEPENDS = Kernel(
    _depends,
    [f"boolean[::1]({WINDOWS}, int64[::1], int64[::1], {_FORMS})"],
    parts=[code_point],
)
