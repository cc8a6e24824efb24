"""Texts to lists of words: the course tool's, and those of the ``web`` scheme."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from simstore.text.characters import CHARACTER, SEPARATOR, WORD, class_table, code_points
from simstore.text.normalization import normalize

_PIECE = 1 << 20

_LETTERS = bytes(
    byte | 0x20 if chr(byte).isascii() and chr(byte).isalpha() else 0x20 for byte in range(256)
)
_ASCII_WORDS = str.maketrans(
    {chr(c): chr(c).lower() if chr(c).isalnum() else " " for c in range(128)}
)


def letter_words(data: bytes) -> Iterator[list[bytes]]:
    """Yield the course tool's words of a text in order, in lists of bounded size.

    A word is a maximal run of ASCII letters, lower-cased; every other byte separates. No word is
    cut, whatever its length.
    """
    for piece in _pieces(data, b" "):
        yield piece.translate(_LETTERS).split()


def _pieces(data: bytes, separator: bytes) -> Iterator[bytes]:
    """Cut a long text at separators, so that the list of its words stays small."""
    start = 0
    while len(data) - start > _PIECE:
        end = data.find(separator, start + _PIECE)
        if end < 0:
            break
        yield data[start:end]
        start = end
    yield data[start:] if start else data


def terms(text: str) -> list[str]:
    """Return the terms of a text in any language, in order, with repetitions.

    The text is normalized (NFKC, case-folded). A run of letters, marks and digits of a script
    with blanks between words is one term; a run of characters of a script without them (Han,
    kana, Thai, ...), or of Hangul, gives its overlapping 2-grams, or itself where it has one
    character. Where there is neither, runs of other visible characters are the terms, so that no
    text but white space has none.
    """
    found: list[str] = []
    start = 0
    while len(text) - start > _PIECE:
        # A line break takes part in no composition and no term: cutting there changes nothing.
        end = text.find("\n", start + _PIECE)
        if end < 0:
            break
        found += _terms(text[start:end])
        start = end
    found += _terms(text[start:])
    return found or normalize(text).split() or text.split()


def _terms(text: str) -> list[str]:
    if text.isascii():
        return text.translate(_ASCII_WORDS).split()
    text = normalize(text)
    if not text:
        return []
    classes = class_table()[code_points(text)]
    starts = np.flatnonzero(np.diff(classes, prepend=np.uint8(255)))
    kinds = classes[starts]
    ends = np.append(starts[1:], len(text))
    wanted = kinds != SEPARATOR
    found: list[str] = []
    for first, end, kind in zip(
        starts[wanted].tolist(), ends[wanted].tolist(), kinds[wanted].tolist(), strict=True
    ):
        run = text[first:end]
        if kind == WORD or end - first == 1:
            found.append(run)
        elif kind == CHARACTER:
            found += [a + b for a, b in pairwise(run)]
    return found
