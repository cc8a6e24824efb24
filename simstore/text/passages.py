"""Split a text into passages, as spans: its sentences, or windows of about a given length.

A span is ``[start, end)`` in code points of the text as it was given, without blanks at its ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simstore.errors import InvalidParameter
from simstore.text.characters import CHARACTER, SEPARATOR, WORD, class_table, code_points

Span = tuple[int, int]

DEFAULT_WINDOW = 30
# A stretch without a stop is cut when it is longer: about three lines, of either kind of script.
LONGEST_SENTENCE = 400
_A_CHARACTER = 3  # of a script without blanks, in letters of one with them
# A line that breaks off before this is no line of a paragraph that goes on.
_FULL_LINE = 40

# Stops that end a sentence wherever they stand; then ``.`` and its kind, which may not.
_STOPS = "。！？；．｡…‥!?؟۔।॥։።၊။།༎៕"
_CLOSING = "”’\"'»›」』】》〉〕）］｝)]}"
_PARAGRAPH_ENDS = "\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_END = re.compile(
    rf"(?P<stop>[.{_STOPS}]+)(?P<closing>[{re.escape(_CLOSING)}]*)"
    rf"|(?P<blank>[\n{_PARAGRAPH_ENDS}]\s*)"
)
# Where such an end may begin: by far faster to look for.
_BEGIN_OF_END = re.compile(f"[.{_STOPS}\n{_PARAGRAPH_ENDS}]")
_PARAGRAPH = re.compile(rf"\n[^\n]*\n|[{_PARAGRAPH_ENDS}]")
# Stops after which a blank has to follow, and no small letter: ``3.14``, ``e.g. this``, ``No! he``.
_WESTERN = frozenset(".!?…‥")
_ABBREVIATIONS = frozenset((
    "mr", "mrs", "ms", "dr", "prof", "st", "rev", "hon", "gen", "capt", "lt", "sgt", "jr",
    "messrs", "mme", "mlle", "cf", "vs", "viz", "ca", "approx", "ed", "eds", "dept", "univ",
    "bzw", "hrsg",
))  # fmt: skip
_BEFORE_NUMBER = frozenset((
    "no", "nos", "nr", "vol", "vols", "fig", "figs", "eq", "eqs", "sec", "ch", "chap", "pp",
    "art", "para", "par", "bd",
    "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sept", "sep", "oct", "nov", "dec",
))  # fmt: skip
# Characters before a stop among which its word is looked for.
_WORD_BEFORE = 20
_LAST_WORD = re.compile(r"[^\W\d_](?:\.?[^\W_])*\Z")
_NEXT = re.compile(r"[\s\"'“‘«(\[]*(\w)?")
_BREAKS = ";:，、,：—–"


def sentences(text: str) -> list[Span]:
    """Return the sentences of a text, in order; none is empty, no two overlap.

    A sentence ends at a stop, with the closing quotes and brackets behind it; a full stop of
    Western scripts ends none in a number, after an abbreviation or a single letter, or before a
    small letter. Empty lines end one, and so does the end of a line that breaks off early. A
    stretch of more than 400 letters (or 133 characters of a script without blanks) without a stop
    is cut, at a comma or a blank where there is one. Stretches without a letter or digit are left
    out.
    """
    kinds = class_table()[code_points(text)]
    stretches = np.array(list(_stretches(text, kinds)), np.int64).reshape(-1, 2)
    seen = _sums(kinds != SEPARATOR)[stretches]
    costs = _sums(np.where(kinds == CHARACTER, _A_CHARACTER, 1))
    is_long = np.diff(costs[stretches])[:, 0] > LONGEST_SENTENCE
    found: list[Span] = []
    for (start, end), (before, behind), long in zip(
        stretches.tolist(), seen.tolist(), is_long.tolist(), strict=True
    ):
        if before == behind:
            continue
        if not long:
            found.append(_trimmed(text, start, end))
            continue
        for first, last in _pieces(text, kinds, costs, *_trimmed(text, start, end)):
            if (kinds[first:last] != SEPARATOR).any():
                found.append(_trimmed(text, first, last))
    return found


def windows(text: str, size: int = DEFAULT_WINDOW) -> list[Span]:
    """Return windows of about so many characters, in order, one beginning where another ends.

    No word of a script with blanks is cut, unless it is longer than half a window. Windows without
    a letter or digit are left out.

    Args:
        text: Any text.
        size: Code points of a window, at least 1.

    Raises:
        InvalidParameter: ``size`` is less.
    """
    if size < 1:
        raise InvalidParameter(f"windows of {size} characters: at least 1")
    kinds = class_table()[code_points(text)]
    found: list[Span] = []
    start = 0
    while start < len(text):
        end = start + size
        if end < len(text) and kinds[end - 1] == WORD == kinds[end]:
            ahead = kinds[end : end + max(size // 2, 1)] != WORD
            end += int(ahead.argmax()) if ahead.any() else 0
        end = min(end, len(text))
        if (kinds[start:end] != SEPARATOR).any():
            found.append(_trimmed(text, start, end))
        start = end
    return found


def _stretches(text: str, kinds: NDArray[np.uint8]) -> Iterator[Span]:
    """Yield the text cut at each end of a sentence."""
    start = line = end = 0
    while (begun := _BEGIN_OF_END.search(text, end)) is not None:
        place = begun.start()
        found = _END.match(text, place)
        if found is None:
            break
        end = found.end()
        if found["stop"] is not None:
            if not _ends_sentence(text, start, found):
                continue
        else:
            early = place - line < _FULL_LINE or (place > 0 and kinds[place - 1] == CHARACTER)
            line = end
            if not early and not _PARAGRAPH.search(text, place, end):
                continue
        yield start, end
        start = end
    if start < len(text):
        yield start, len(text)


def _ends_sentence(text: str, start: int, found: re.Match[str]) -> bool:
    """Return whether a stop ends a sentence that began at ``start``."""
    stop, end = found["stop"], found.end()
    if not _WESTERN.issuperset(stop):
        return True
    following = text[end : end + 1]
    if following and not following.isspace():
        # Without a blank: only before or after a script that has none.
        return stop[-1] != "." and (following > "\u2e7f" or text[found.start() - 1] > "\u2e7f")
    letter = text[end + 1 : end + 2]
    if not letter.isalnum():
        coming = _NEXT.match(text, end)
        letter = (coming[1] if coming else None) or ""
    if letter.islower():
        return False
    if stop != "." or found["closing"] or not letter:
        return True
    before = _word_before(text[max(start, found.start() - _WORD_BEFORE) : found.start()])
    if before is None:
        return True
    if len(before) == 1 or "." in before or before in _ABBREVIATIONS:
        return False
    return not (letter.isdigit() and before in _BEFORE_NUMBER)


def _word_before(part: str) -> str | None:
    """Return the word that a part of a text ends with, in small letters."""
    word = part.rsplit(None, 1)[-1] if part and not part[-1].isspace() else ""
    # Most words have letters alone, and are found sooner so.
    if not word.isalpha():
        found = _LAST_WORD.search(part)
        if found is None:
            return None
        word = found.group()
    return word.lower()


def _pieces(
    text: str, kinds: NDArray[np.uint8], costs: NDArray[np.int64], start: int, end: int
) -> Iterator[Span]:
    """Yield a stretch, in pieces where it is too long."""
    while costs[end] - costs[start] > LONGEST_SENTENCE:
        most = int(np.searchsorted(costs, costs[start] + LONGEST_SENTENCE, side="right")) - 1
        cut = _last_break(text, kinds, start, max(most, start + 1))
        yield start, cut
        start = cut
    yield start, end


def _sums(values: NDArray[Any]) -> NDArray[np.int64]:
    """Return the sum of the values before each place, and of all."""
    return np.concatenate(([0], np.cumsum(values, dtype=np.int64)))


def _last_break(text: str, kinds: NDArray[np.uint8], first: int, last: int) -> int:
    """Return the best place to cut in the second half of a piece, or its end."""
    half = (first + last) // 2
    for place in range(last, half, -1):
        if text[place - 1] in _BREAKS:
            return place
    for place in range(last, half, -1):
        if text[place - 1].isspace():
            return place
    for place in range(last, half, -1):
        if kinds[place - 1] != WORD or place == len(text) or kinds[place] != WORD:
            return place
    return last


def _trimmed(text: str, start: int, end: int) -> Span:
    """Return a span without blanks at its ends."""
    part = text[start:end]
    start += len(part) - len(part.lstrip())
    return start, start + len(part.strip())
