"""Lookup tables of each code point's normalized form, for texts where neighbours do not matter."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from itertools import chain
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simstore.text.characters import CHANGES, class_table, unknown_table
from simstore.text.folding import simplified_points
from simstore.text.normalization import ACCENTS, Normalization

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


class FormTables(NamedTuple):
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


@lru_cache(8)
def form_tables(normalization: Normalization, *, of_ascii: bool = False) -> FormTables:
    """Return what each code point becomes, but that no phrases of Chinese scripts are folded.

    Args:
        normalization: The form.
        of_ascii: Only of ASCII, 128 code points: those of all take 0.1 s.

    A code point depends on its neighbours if, at any step of the normalization, its decomposition
    begins with a mark that may be reordered, or with a character that is composed with one before
    it. Between others nothing happens: each stands at a boundary where normalization begins anew.
    (Unicode Standard Annex 15, section 9.)

    Code points that Unicode 14.0 does not know stay as they are.
    """
    blocks, count = (_ASCII_BLOCKS, 0x80) if of_ascii else (_BLOCKS, 0x110000)
    made = _Forms(normalization, count)
    made.add(np.concatenate([np.arange(*block, dtype=np.int32) for block in blocks]))
    classes = class_table()[:count]
    stays = made.forms == np.arange(count)
    kinds = np.stack([classes, np.where(stays, classes, np.uint8(CHANGES))])
    offsets = np.cumsum([0, *map(len, made.expansions)], dtype=np.int32)
    points = np.concatenate([np.empty(0, np.int32), *made.expansions])
    tables = FormTables(kinds, made.forms, offsets, points)
    for array in tables:
        array.flags.writeable = False
    return tables


class FormsOfTexts:
    """The normalized forms of the code points of texts, each worked out when it is first asked for.

    A single text has some hundred of them; :func:`form_tables` works out 90,000.

    Args:
        normalization: The form.
    """

    def __init__(self, normalization: Normalization) -> None:
        self._made = _Forms(normalization, 0x110000)
        self._known = np.ones(0x110000, bool)
        for block in _BLOCKS:
            self._known[slice(*block)] = False
        self._filling = Lock()

    def of(self, points: NDArray[np.uint32]) -> NDArray[np.int32]:
        """Return what each code point becomes, as :attr:`FormTables.forms` tells it."""
        if not self._known[points].all():
            with self._filling:
                new = np.unique(points).astype(np.int32)
                new = new[~self._known[new]]
                self._made.add(new)
                self._known[new] = True
        return self._made.forms[points]

    def expansion(self, form: int) -> NDArray[np.int32]:
        """Return the code points that a form below -2 stands for."""
        return self._made.expansions[_FIRST_EXPANSION - form]


@lru_cache(8)
def forms_of_texts(normalization: Normalization) -> FormsOfTexts:
    """Return the forms that this process has worked out so far."""
    return FormsOfTexts(normalization)


class _Forms:
    """Normalized forms of the code points that were added; the others stay as they are.

    Args:
        normalization: The form.
        count: How many code points there are, 0x110000 or 128.
    """

    def __init__(self, normalization: Normalization, count: int) -> None:
        self._normalization = normalization
        self._simplified: NDArray[np.int32] | None = None
        self.forms = np.arange(count, dtype=np.int32)
        self.expansions: list[NDArray[np.int32]] = []
        if normalization.han == "characters" and count > 0x80:
            self._simplified = simplified_points().astype(np.int32)
            self.forms = self._simplified.copy()

    def add(self, points: NDArray[np.int32]) -> None:
        """Work out what these code points become; each is added once."""
        dropped = set("".join(self._normalization.invisible.findall("".join(map(chr, points)))))
        self.forms[[ord(character) for character in dropped]] = DROPPED
        known = points[~unknown_table()[points]]
        changing = [one for one in _changing(known) if one not in dropped]
        if not changing:
            return
        # In one call for each step: a line break is composed with nothing.
        step = _BETWEEN.join(changing)
        depends = _joins(step)
        for formed in self._normalization.steps(step):
            depends |= _joins(formed)
            step = formed
        for character, form, joins in zip(
            changing, step.split(_BETWEEN), depends.tolist(), strict=True
        ):
            made = np.array([ord(one) for one in form], np.int32)
            if self._simplified is not None:
                made = self._simplified[made]
            if joins or not form:
                self.forms[ord(character)] = DEPENDS
            elif len(form) > 1:
                self.forms[ord(character)] = _FIRST_EXPANSION - len(self.expansions)
                self.expansions.append(made)
            else:
                self.forms[ord(character)] = made[0]


def _changing(points: NDArray[np.int32]) -> list[str]:
    """Return the characters that change or depend on their neighbours in some normalization."""
    if not len(points):
        return []
    characters = list(map(chr, points.tolist()))
    given = _BETWEEN.join(characters)
    joining = _joining()
    return [
        one
        for one, decomposed, folded, stripped in zip(
            characters,
            unicodedata.normalize("NFKD", given).split(_BETWEEN),
            given.casefold().split(_BETWEEN),
            ACCENTS.sub("", given).split(_BETWEEN),
            strict=True,
        )
        if one != decomposed or one != folded or one != stripped or one in joining
    ]


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
