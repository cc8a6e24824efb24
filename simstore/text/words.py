"""Split texts into words, by the rules of the schemes ``simtool`` and ``web``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

from simstore.text.characters import CHARACTER, SEPARATOR, WORD, class_table, code_points
from simstore.text.normalization import DEFAULT, Normalization

_PIECE = 1 << 20

_KEPT_ASCII = {chr(c): chr(c) if chr(c).isalnum() else " " for c in range(128)}
_ASCII_WORDS = {
    "keep": str.maketrans(_KEPT_ASCII),
    "fold": str.maketrans({c: kept.lower() for c, kept in _KEPT_ASCII.items()}),
}


def overlapping_pairs(run: str) -> list[str]:
    """Return the 2-grams of a run of characters, or itself where it is one character."""
    return [a + b for a, b in pairwise(run)] if len(run) > 1 else [run]


def terms(
    text: str,
    normalization: Normalization = DEFAULT,
    cut: Callable[[str], list[str]] = overlapping_pairs,
) -> list[str]:
    """Return the terms of a text in any language, in order, with repetitions.

    The text is normalized. A run of letters, marks and digits of a script with blanks between
    words is one term; a run of characters of a script without them (Han, kana, Thai, ...), or of
    Hangul, is cut into terms. Where there is neither, runs of other visible characters are the
    terms, so that no text but white space has none.

    Args:
        text: Any text.
        normalization: What counts as one form.
        cut: Cuts a run of characters; default into overlapping 2-grams.
    """
    found: list[str] = []
    folded = normalization.unmask(text).text
    for piece in _lines(folded):
        found += _terms(piece, normalization, cut)
    return found or normalization.form(folded).split() or text.split()


def spaced(text: str, normalization: Normalization = DEFAULT) -> str:
    """Return a normalized text with one blank for each run of separators, none at its ends.

    Where a text has no letters, marks or digits, its other visible characters stay.
    """
    found: list[str] = []
    folded = normalization.unmask(text).text
    for piece in _lines(folded):
        found += _terms(piece, normalization, None)
    return " ".join(found or normalization.form(folded).split() or text.split())


def _lines(text: str) -> Iterator[str]:
    """Cut a long text at line breaks.

    A line break takes part in no composition and no term: cutting there changes nothing.
    """
    start = 0
    while len(text) - start > _PIECE:
        end = text.find("\n", start + _PIECE)
        if end < 0:
            break
        yield text[start:end]
        start = end
    yield text[start:] if start else text


def _terms(
    text: str, normalization: Normalization, cut: Callable[[str], list[str]] | None
) -> list[str]:
    """Return the terms of a piece of text without disguises.

    Without ``cut``, runs of words and of characters alike.
    """
    if text.isascii():
        return text.translate(_ASCII_WORDS[normalization.case]).split()
    text = normalization.form(text)
    if not text:
        return []
    classes = class_table()[code_points(text)]
    if cut is None:
        classes = np.where(classes == CHARACTER, WORD, classes)
    starts = np.flatnonzero(np.diff(classes, prepend=np.uint8(255)))
    kinds = classes[starts]
    ends = np.append(starts[1:], len(text))
    wanted = kinds != SEPARATOR
    found: list[str] = []
    for first, end, kind in zip(
        starts[wanted].tolist(), ends[wanted].tolist(), kinds[wanted].tolist(), strict=True
    ):
        run = text[first:end]
        if kind == WORD or end - first == 1 or cut is None:
            found.append(run)
        else:
            found += cut(run)
    return found
