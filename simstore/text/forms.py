"""Lookup tables of each code point's normalized form, for texts where neighbours do not matter."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simstore.text.characters import CHANGES, class_table, unknown_table
from simstore.text.folding import simplified_points
from simstore.text.normalization import Normalization

DROPPED, DEPENDS = -1, -2
_FIRST_EXPANSION = -3

# Code points that may change or depend on their neighbours. The others are control characters, Han
# and Yi, Hangul syllables, surrogates and private ones, and planes where nothing changes.
_BLOCKS = ((0x20, 0x3400), (0xA490, 0xAC00), (0xF900, 0x20000), (0x2F800, 0x2FA20),
           (0xE0000, 0xE1000))  # fmt: skip
_ASCII_BLOCKS = ((0x20, 0x7F),)
_BETWEEN = "\n"

# Second characters of primary compositions that are no marks that may be reordered: vowel signs
# (UnicodeData.txt, 14.0), and the vowels and final consonants of Hangul.
_COMPOSED = frozenset(
    "\u09be\u09d7\u0b3e\u0b56\u0b57\u0bbe\u0bd7\u0cc2\u0cd5\u0cd6\u0d3e\u0d57\u0dcf\u0ddf\u102e"
    "\u1b35\U00011127\U0001133e\U00011357\U000114b0\U000114ba\U000114bd\U000115af\U00011930"
) | frozenset(map(chr, (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3))))


@dataclass(frozen=True, slots=True)
class FormTables:
    """The normalized form of each code point, for texts in which none changes beside another.

    Attributes:
        kinds: First row: the class of each as it stands; second row: the class of its form where
            this is itself, else :data:`~.characters.CHANGES`; uint8, shape (2, points).
        forms: Its code point; -1: nothing; -2: it depends on its neighbours; n <= -3: entry
            ``-3 - n`` of the expansions; int32, shape (points,); points is 0x110000, or 128.
        offsets: Expansion e is ``points[offsets[e]:offsets[e + 1]]``; int32.
        points: Code points of the expansions; int32.
    """

    kinds: NDArray[np.uint8]
    forms: NDArray[np.int32]
    offsets: NDArray[np.int32]
    points: NDArray[np.int32]


def _frozen(*arrays: NDArray[Any]) -> FormTables:
    for array in arrays:
        array.flags.writeable = False
    return FormTables(*arrays)


# For texts that are in their form, of ASCII letters alone.
NO_TABLES = _frozen(np.zeros((2, 1), np.uint8), *(np.zeros(1, np.int32) for _ in range(3)))


@lru_cache(8)
def form_tables(normalization: Normalization, *, of_ascii: bool = False) -> FormTables:
    """Return what each code point becomes, but that no phrases of Chinese scripts are folded.

    Args:
        normalization: The form.
        of_ascii: Only of ASCII, 128 code points: those of all take 0.3 s.

    A code point depends on its neighbours if, at any step of the normalization, its decomposition
    begins with a mark that may be reordered, or with a character that is composed with one before
    it. Between others nothing happens: each stands at a boundary where normalization begins anew.
    (Unicode Standard Annex 15, section 9.)

    Code points that Unicode 14.0 does not know stay as they are.
    """
    blocks, count = (_ASCII_BLOCKS, 0x80) if of_ascii else (_BLOCKS, 0x110000)
    points = np.concatenate([np.arange(*block, dtype=np.int32) for block in blocks])
    characters = list(map(chr, points.tolist()))
    # All in one call each: a line break is composed with nothing.
    step = _BETWEEN.join(characters)
    invisible = set("".join(normalization.invisible.findall(step)))
    depends = _joins(step)
    for formed in normalization.steps(step):
        depends |= _joins(formed)
        step = formed
    unknown = unknown_table()[points].tolist()
    forms = np.arange(count, dtype=np.int32)
    expansions: list[str] = []
    for character, form, joins, fixed in zip(
        characters, step.split(_BETWEEN), depends.tolist(), unknown, strict=True
    ):
        if character in invisible:
            forms[ord(character)] = DROPPED
        elif fixed:
            continue
        elif joins or not form:
            forms[ord(character)] = DEPENDS
        elif len(form) > 1:
            forms[ord(character)] = _FIRST_EXPANSION - len(expansions)
            expansions.append(form)
        elif form != character:
            forms[ord(character)] = ord(form)
    offsets = np.cumsum([0, *map(len, expansions)], dtype=np.int32)
    made = np.array([ord(c) for form in expansions for c in form], np.int32)
    if normalization.han == "characters" and not of_ascii:
        simplified = simplified_points().astype(np.int32)
        forms = np.where(forms >= 0, simplified[np.maximum(forms, 0)], forms)
        made = simplified[made]
    stays = forms == np.arange(count)
    classes = class_table()[:count]
    kinds = np.stack([classes, np.where(stays, classes, np.uint8(CHANGES))])
    return _frozen(kinds, forms, offsets, made)


def _joins(step: str) -> NDArray[np.bool_]:
    """Return, for each piece between line breaks, whether it may join the text before it."""
    joining = _joining()
    found = np.zeros(step.count(_BETWEEN) + 1, bool)
    for form in ("NFD", "NFKD"):
        pieces = unicodedata.normalize(form, step).split(_BETWEEN)
        found |= np.array([piece[:1] in joining for piece in pieces])
    return found


@lru_cache(1)
def _joining() -> frozenset[str]:
    """Return the characters that may join what stands before them."""
    points = map(chr, chain.from_iterable(range(*block) for block in _BLOCKS))
    return _COMPOSED | frozenset(filter(unicodedata.combining, points))
