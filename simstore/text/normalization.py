"""One form for texts that differ only in case, width or composition."""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from simstore.text.characters import code_points, mark_table, unknown_table

_LONGEST_MARKS = 30

# Characters that show nothing and may stand inside a word: soft hyphen, joiners, direction marks,
# word joiner, byte order mark, variation selectors.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u200c-\u200f\u2060\ufe00-\ufe0f\ufeff\U000e0100-\U000e01ef]+"
)


def normalize(text: str) -> str:
    """Return text in NFKC, case-folded, without invisible characters.

    The result does not depend on the version of Python: code points that Unicode 14.0 does not
    know are left as they are and never take part in a composition. (Normalization and case
    folding of assigned code points are stable between versions: UAX 15, section 3; UAX 31.)
    """
    if text.isascii():
        return text.lower()
    text = _INVISIBLE.sub("", text)
    points = code_points(text)
    unknown = np.flatnonzero(unknown_table()[points])
    cuts = np.unique(np.concatenate((unknown, unknown + 1, _cuts_in_marks(mark_table()[points]))))
    if not len(cuts):
        return _fold(text)
    alone = set(unknown.tolist())
    bounds = [0, *cuts.tolist(), len(text)]
    return "".join(
        text[start:end] if start in alone else _fold(text[start:end])
        for start, end in pairwise(bounds)
    )


def _cuts_in_marks(marks: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return where to cut runs of combining marks, so that none has more than 30.

    Putting the marks of a run in order takes time that grows with the square of its length.
    No language needs so many (UAX 15, section 13, the Stream-Safe Text Format).
    """
    if not marks.any():
        return np.empty(0, np.int64)
    places = np.arange(len(marks))
    before_run = np.maximum.accumulate(np.where(marks, -1, places))
    number_in_run = places - before_run - 1
    return np.flatnonzero(marks & (number_in_run > 0) & (number_in_run % _LONGEST_MARKS == 0))


def _fold(text: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
