"""Scan for texts that may hold disguises (tricks with characters), in compiled code (Numba).

The others, by far the most, skip the folding. Eight bytes are looked at at a time, as one number,
the first byte lowest. What is folded is said by :mod:`simstore.text.disguises`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from simstore.compiled import Kernel
from simstore.text.characters import CHARACTER, SEPARATOR, WORD
from simstore.text.disguises import _FAR, BLANK, IGNORED, IS_MARK, LATIN, LETTER_BITS, LIKE_LATIN
from simstore.text.scan_kernels import WINDOWS, code_point

_SEPARATOR, _WORD, _CHARACTER = int(SEPARATOR), int(WORD), int(CHARACTER)
_int: Any = np.int64
_U0, _BYTE, _FIRST = np.uint64(0), np.uint64(0xFF), np.uint64(0x80)
_HIGH = np.uint64(0x8080808080808080)
_SEVEN = np.uint64(0x7F7F7F7F7F7F7F7F)
_ONES = np.uint64(0x0101010101010101)
_LATIN_BIT, _BLANK_BIT = np.uint8(LATIN), np.uint8(BLANK)
_SCRIPT_BITS, _LIKE_BIT = np.uint8(LETTER_BITS), np.uint8(LIKE_LATIN)
_DROPPED_BITS = np.uint8(IGNORED | IS_MARK)
_NO_BITS = np.uint8(0)
_MANY_SINGLES = 5


def _is_alphanumeric(byte: Any) -> Any:
    lowered = byte | 0x20
    return (byte >= 48 and byte <= 57) or (lowered >= 97 and lowered <= 122)


def _begins_entity(windows: Any, place: Any, end: Any) -> Any:
    """Return whether letters or digits and a semicolon follow an ampersand, as in an entity."""
    first = place
    while place < end and place < first + 34:
        byte = _int(windows[place] & _BYTE)
        if byte == 59:
            return place > first
        if not (_is_alphanumeric(byte) or (byte == 35 and place == first)):
            return False
        place += 1
    return False


# Added to seven-bit bytes, this sets the high bit of those that are no blanks: from 33 on.
_FROM_33 = np.uint64(0x5F5F5F5F5F5F5F5F)
_AMPERSANDS, _HYPHENS = np.uint64(0x2626262626262626), np.uint64(0x2D2D2D2D2D2D2D2D)
_LINE_FEEDS, _RETURNS = np.uint64(0x0A0A0A0A0A0A0A0A), np.uint64(0x0D0D0D0D0D0D0D0D)
# Bytes that are looked at together, and how many without a sign have to come before that.
_BLOCK, _QUIET = 512, 64


def _zeros(window: Any) -> Any:
    """Return the high bits of the bytes that are zero, the lowest of them for certain."""
    return (window - _ONES) & ~window & _HIGH


def _signs(windows: Any, place: Any) -> Any:
    """Return bits where one of eight bytes may begin a disguise; 0: none does.

    It is beyond ASCII, an ampersand, a hyphen at the end of a line, or the blank before two single
    characters with one blank behind each.
    """
    window = windows[place]
    second = windows[place + 1]
    # High bits of what is no blank, of each byte and of those behind it.
    shown_0 = (window & _SEVEN) + _FROM_33
    shown_1 = (second & _SEVEN) + _FROM_33
    shown_2 = (windows[place + 2] & _SEVEN) + _FROM_33
    shown_3 = (windows[place + 3] & _SEVEN) + _FROM_33
    shown_4 = (windows[place + 4] & _SEVEN) + _FROM_33
    singles = shown_1 & shown_3 & ~(shown_0 | shown_2 | shown_4)
    line_ends = _zeros(second ^ _LINE_FEEDS) | _zeros(second ^ _RETURNS)
    broken = _zeros(window ^ _HYPHENS) & line_ends
    return (window | singles | _zeros(window ^ _AMPERSANDS) | broken) & _HIGH


def _signs_in_block(windows: Any, place: Any) -> Any:
    """Return bits where bytes of a block may begin a disguise; 0: none does."""
    found = _U0
    # Without a way out, so that several windows are looked at by one instruction.
    for offset in range(0, _BLOCK, 8):
        found |= _signs(windows, place + offset)
    return found


def _plain_end(windows: Any, place: Any, end: Any) -> Any:
    """Return how far a text is ASCII without any sign of a disguise."""
    single_end = place + _QUIET
    while place < end:
        if place >= single_end and place + _BLOCK <= end:
            if not _signs_in_block(windows, place):
                place += _BLOCK
                continue
            single_end = place + _BLOCK
        if _signs(windows, place):
            break
        place += 8
    return min(place, end)


def _run_start(windows: Any, place: Any, start: Any) -> Any:
    """Return where the word at a place begins, or the run of single characters before it.

    Only as far as ASCII goes: what is beyond was a sign itself.
    """
    while place > start and windows[place - 1] & _BYTE > np.uint64(32):
        place -= 1
    while place > start:
        first = place
        while first > start and windows[first - 1] & _BYTE <= np.uint64(32):
            first -= 1
        end = first
        letters = 0
        while first > start and end - first < 4 and letters <= 1:
            byte = _int(windows[first - 1] & _BYTE)
            if byte <= 32:
                break
            letters += 2 if byte >= 128 else _int(_is_alphanumeric(byte))
            first -= 1
        if first == end or end - first == 4 or letters > 1:
            break
        place = first
    return place


def _is_small(byte: Any) -> Any:
    return byte >= 128 or (byte >= 97 and byte <= 122)


def _may_break_word(windows: Any, hyphen: Any, start: Any, end: Any, place: Any) -> Any:
    """Return whether small letters may stand before a hyphen and behind the line end there.

    Args:
        windows: The bytes.
        hyphen: The hyphen's first byte.
        start: The text's.
        end: The byte after the text.
        place: The byte after the hyphen.
    """
    if hyphen < start + 2 or not _is_small(_int(windows[hyphen - 1] & _BYTE)):
        return False
    if windows[place] & _BYTE == np.uint64(13):
        place += 1
    if windows[place] & _BYTE != np.uint64(10):
        return False
    place += 1
    while place < end and (
        windows[place] & _BYTE == np.uint64(32) or windows[place] & _BYTE == np.uint64(9)
    ):
        place += 1
    return place + 1 < end and (
        windows[place] & _BYTE >= np.uint64(128)
        or (_is_small(_int(windows[place] & _BYTE)) and _is_small(_int(windows[place + 1] & _BYTE)))
    )


def _has_latin(windows: Any, start: Any, end: Any) -> Any:
    for place in range(start, end):
        lowered = _int(windows[place] & _BYTE) | 0x20
        if lowered >= 97 and lowered <= 122:
            return True
    return False


def _may_fold_one(windows: Any, start: Any, end: Any, kinds: Any, classes: Any) -> Any:
    """Return whether something in a text may be folded; False: it is certain that nothing is."""
    place = start
    latin: Any = False
    alike: Any = False  # a word of look-alikes may stand between Latin words
    pending: Any = False  # one may, if no word of another script follows
    waited = 0  # words since that one
    foreign: Any = False  # the last word of a known script was not Latin
    far = 0  # words since that one
    while place < end:
        # The first word has no blank before it.
        if place > start:
            # From the blank on behind which the last word ended.
            plain = _plain_end(windows, place - 1, end)
            if plain >= end:
                break
            begin = _run_start(windows, max(place, plain), start)
            if begin > place and (pending or foreign):
                if _has_latin(windows, place, begin):
                    alike |= pending
                    pending = False
                    foreign = False
                far += begin - place
                waited += begin - place
            place = begin
        scripts = _NO_BITS
        unlike: Any = False
        length = 0  # characters since the last blank
        letters = 0  # of these
        blanks = 0  # before these
        wide: Any = False  # some of them are not of ASCII
        thin: Any = False  # a single character stood before the blank
        singles = 0  # words of the run of such characters
        single_letters = 0  # its letters
        has_pair: Any = False  # two of it stand a blank apart
        has_gap: Any = False  # some stand farther apart, or may do without
        before = _SEPARATOR
        more = place < end
        while more:
            point, kind, found, width = 10, _BLANK_BIT, _SEPARATOR, 1
            if place < end:
                point, _, width = code_point(windows[place])
                kind = kinds[point]
                found = _int(classes[point])
            first = place
            place += width
            if kind & _DROPPED_BITS:
                return True
            if found == _WORD:
                if before != _WORD:
                    far += 1
                    waited += 1
                bits = kind & _SCRIPT_BITS
                scripts |= bits
                unlike |= bits > _LATIN_BIT and not kind & _LIKE_BIT
            elif scripts:
                if scripts > _LATIN_BIT:
                    if scripts & (scripts - np.uint8(1)):
                        return True
                    if unlike:
                        alike |= pending and waited > _FAR
                        pending = False
                        foreign = True
                        far = 0
                    elif not foreign or far > _FAR:
                        if not pending:
                            waited = 0
                        pending = True
                else:
                    latin = True
                    alike |= pending
                    pending = False
                    foreign = False
                scripts = _NO_BITS
                unlike = False
            if kind & _BLANK_BIT:
                more = place < end
                if length:
                    single = letters <= 1 and length <= 3
                    if single:
                        if singles:
                            has_pair |= thin and blanks == 1 and length == 1
                            has_gap |= wide or blanks > 1
                        singles += 1
                        single_letters += letters
                        enough = singles >= _MANY_SINGLES and single_letters >= _MANY_SINGLES
                        if enough and has_pair and has_gap:
                            return True
                    else:
                        singles = 0
                        single_letters = 0
                        has_pair = False
                        has_gap = False
                    thin = length == 1
                    blanks = 0
                    wide = False
                    more &= single or point >= 128 or windows[place] & _FIRST != _U0
                blanks += 1
                wide |= point >= 128
                length = 0
                letters = 0
            else:
                length += 1
                letters += found != _SEPARATOR
                has_gap |= found == _CHARACTER
                if point == 38:
                    if _begins_entity(windows, place, end):
                        return True
                elif (
                    (point == 45 or point == 0x2010)
                    and before == _WORD
                    and _may_break_word(windows, first, start, end, place)
                ):
                    return True
            before = found
    return (alike or pending) and (latin or _has_latin(windows, start, end))


def _may_fold(windows: Any, starts: Any, ends: Any, kinds: Any, classes: Any) -> Any:
    result = np.zeros(len(starts), np.bool_)
    for text in range(len(starts)):
        result[text] = _may_fold_one(windows, starts[text], ends[text], kinds, classes)
    return result


MAY_FOLD = Kernel(
    _may_fold,
    [
        f"boolean[::1]({WINDOWS}, int64[::1], int64[::1], Array(uint8, 1, 'C', True), "
        "Array(uint8, 1, 'C', True))"
    ],
    parts=[
        code_point,
        _is_alphanumeric,
        _begins_entity,
        _zeros,
        _signs,
        _signs_in_block,
        _plain_end,
        _run_start,
        _is_small,
        _may_break_word,
        _has_latin,
        _may_fold_one,
    ],
)
