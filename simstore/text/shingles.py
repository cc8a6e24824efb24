"""Tokens of a text in any language, of which shingles are made.

A shingle is a run of consecutive tokens; the set of a text's shingles stands for the text
(Broder: On the resemblance and containment of documents, SEQUENCES 1997, section 2).
"""

from __future__ import annotations

import numpy as np

from simstore.text.characters import CHARACTER, SEPARATOR, class_table, code_points

_ASCII_TOKENS = str.maketrans({chr(c): " " for c in range(128) if not chr(c).isalnum()})
_BLANK = ord(" ")


def tokens(normalized: str) -> list[str]:
    """Return the tokens of a normalized text, in order, with repetitions.

    A run of letters, marks and digits of a script with blanks between words is one token; each
    character of a script without them (Han, kana, Thai, ...), and of Hangul, is one. Where there
    is neither, runs of other visible characters are the tokens, so that no text but white space
    has none.
    """
    if normalized.isascii():
        found = normalized.translate(_ASCII_TOKENS).split()
    else:
        found = _of_any_script(normalized)
    return found or normalized.split()


def _of_any_script(normalized: str) -> list[str]:
    """Put a blank in the place of each separator and around each character, then split."""
    points = code_points(normalized)
    classes = class_table()[points]
    alone = classes == CHARACTER
    spread = np.repeat(np.where(classes == SEPARATOR, _BLANK, points), np.where(alone, 3, 1))
    places = np.cumsum(np.where(alone, 3, 1)) - 2
    spread[places[alone] - 1] = _BLANK
    spread[places[alone] + 1] = _BLANK
    return spread.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass").split()
