"""Split a text in any language into tokens: words, or single characters in scripts without blanks.

A shingle is a run of consecutive tokens; the set of a text's shingles stands for the text
(Broder: On the resemblance and containment of documents, SEQUENCES 1997, section 2).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from simstore.text.characters import CHARACTER, SEPARATOR, WORD, class_table, code_points
from simstore.text.normalization import Normalization
from simstore.text.scan_kernels import Cut
from simstore.text.scanning import Scanned, scan_texts, with_terms

# Odd constants of splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number
# generators, OOPSLA 2014, section 5).
GAMMA = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)

_ASCII_TOKENS = str.maketrans({chr(c): " " for c in range(128) if not chr(c).isalnum()})
_BLANK = ord(" ")
_PIECE = 1 << 20


def tokens(normalized: str) -> list[str]:
    """Return the tokens of a normalized text, in order, with repetitions.

    A run of letters, marks and digits of a script with blanks between words is one token; each
    character of a script without them (Han, kana, Thai, ...), and of Hangul, is one. Where there
    is neither, runs of other visible characters are the tokens, so that no text but white space
    has none.
    """
    return list(chain.from_iterable(token_pieces(normalized)))


def scan_tokens(texts: Sequence[str], normalization: Normalization) -> Scanned:
    """Cut texts into the tokens of their normalized forms, compiled."""
    scanned = scan_texts(texts, normalization, Cut(pairs=False))
    others = {
        text: [
            token.encode("utf-8", "surrogatepass")
            for token in tokens(normalization.apply(texts[text]))
        ]
        for text in np.flatnonzero(np.diff(scanned.offsets) == 0).tolist()
    }
    return with_terms(scanned, others)


def token_pieces(normalized: str) -> Iterator[list[str]]:
    """Yield the tokens of a normalized text, in order, in lists of bounded size.

    No token is cut, whatever its length.
    """
    none = True
    start = 0
    while start < len(normalized):
        end = _cut(normalized, start + _PIECE)
        piece = normalized[start:end]
        found = _of_ascii(piece) if piece.isascii() else _of_any_script(piece)
        if found:
            none = False
            yield found
        start = end
    if none:
        yield normalized.split()


def _cut(normalized: str, place: int) -> int:
    """Return the first place from one on where no token goes on, or the end."""
    while place < len(normalized):
        ends = class_table()[code_points(normalized[place : place + _PIECE])] != WORD
        if ends.any():
            return place + int(ends.argmax())
        place += _PIECE
    return len(normalized)


def _of_ascii(normalized: str) -> list[str]:
    return normalized.translate(_ASCII_TOKENS).split()


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


def mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the values with their bits mixed, one to one (the last step of splitmix64)."""
    values = (values ^ (values >> np.uint64(30))) * MIX_1
    values = (values ^ (values >> np.uint64(27))) * MIX_2
    return values ^ (values >> np.uint64(31))
