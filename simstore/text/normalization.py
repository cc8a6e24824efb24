"""One form for texts that differ only in case, width or composition."""

from __future__ import annotations

import re
import unicodedata

import numpy as np

from simstore.text.characters import code_points, unknown_table

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
    unknown = np.flatnonzero(unknown_table()[code_points(text)])
    if not len(unknown):
        return _fold(text)
    pieces = []
    start = 0
    for position in unknown.tolist():
        pieces += [_fold(text[start:position]), text[position]]
        start = position + 1
    pieces.append(_fold(text[start:]))
    return "".join(pieces)


def _fold(text: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
