"""Normalize texts: fold case, width, composition, accents and Chinese script."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from simstore.errors import InvalidParameter
from simstore.text import folding
from simstore.text.characters import code_points, mark_table, unknown_table
from simstore.text.disguises import IGNORABLE, NOTHING, FoldedText, fold_disguises

Case = Literal["fold", "keep"]
Width = Literal["fold", "keep"]
Accents = Literal["keep", "strip"]
Han = Literal["keep", "characters", "simplified", "simplified-words"]
Disguises = Literal["keep", "fold"]

_VALUES: dict[str, tuple[str, ...]] = {
    "case": get_args(Case),
    "width": get_args(Width),
    "accents": get_args(Accents),
    "han": get_args(Han),
    "disguises": get_args(Disguises),
}
# Folded by OpenCC; the others need no package.
_BY_OPENCC = ("simplified", "simplified-words")

_LONGEST_MARKS = 30

# Characters that show nothing and may stand inside a word, dropped if disguises are kept:
# soft hyphen, joiners, direction marks, word joiner, byte order mark, variation selectors.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u200c-\u200f\u2060\ufe00-\ufe0f\ufeff\U000e0100-\U000e01ef]+"
)

# The blocks of combining marks that Unicode 14.0 knows for Latin, Greek and Cyrillic. The vowel
# signs of Hebrew, Arabic, Thai or Devanagari and the voicing marks of kana are in other blocks.
ACCENTS = re.compile("[\u0300-\u036f\u1ab0-\u1ace\u1dc0-\u1dff]+")


@dataclass(frozen=True, slots=True)
class Normalization:
    """Settings that normalize texts before they are tokenized.

    >>> form = Normalization(accents="strip")
    >>> compare_texts("Café", "CAFE", normalization=form).similar
    True

    Attributes:
        case: ``fold``: upper and lower case are one; ``keep``: they differ.
        width: ``fold``: full-width, half-width, ligature and other
            compatibility forms are their plain characters (NFKC); ``keep``:
            only canonically equivalent ones are (NFC).
        accents: ``strip``: combining marks of Latin, Greek and Cyrillic letters
            are dropped, so ``é`` is ``e`` and ``й`` is ``и``; letters that are
            no base with a mark (``ø``, ``ß``) and the marks of other scripts
            stay. ``keep``: they count.
        han: ``characters``: each traditional Chinese character becomes its
            simplified one, by a table; ``simplified``: by OpenCC's phrases,
            then by character; ``simplified-words``: and words of Taiwan become
            those of the mainland; ``keep``: they differ. OpenCC is the extra
            ``han``.
        disguises: ``fold``: what hides words from a program and not from a
            reader is folded first; see :mod:`simstore.text.disguises`.
            ``keep``: only a few characters that show nothing are dropped.

    Raises:
        InvalidParameter: A value is none of those.
    """

    case: Case = "fold"
    width: Width = "fold"
    accents: Accents = "keep"
    han: Han = "keep"
    disguises: Disguises = "keep"

    def __post_init__(self) -> None:
        for name, values in _VALUES.items():
            value = getattr(self, name)
            if value not in values:
                raise InvalidParameter(f"{name} {value!r}: choose one of {', '.join(values)}")

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> Self:
        """Return the normalization that :meth:`parameters` describes."""
        return cls(**{f.name: parameters[f.name] for f in fields(cls)})

    def parameters(self) -> dict[str, Any]:
        """Return all options, JSON values, with the version of OpenCC.

        Raises:
            MissingExtra: OpenCC is needed and not installed.
        """
        found: dict[str, Any] = asdict(self)
        if self.han in _BY_OPENCC:
            found["opencc"] = folding.version()
        return found

    @property
    def invisible(self) -> re.Pattern[str]:
        """Return what matches runs of the characters that are dropped."""
        return IGNORABLE if self.disguises == "fold" else _INVISIBLE

    @property
    def folds_phrases(self) -> bool:
        """Return whether OpenCC folds Chinese scripts by their neighbours."""
        return self.han in _BY_OPENCC

    def unmask(self, text: str) -> FoldedText:
        """Return a text without its disguises, where they are folded."""
        if self.disguises == "keep":
            return FoldedText(text, NOTHING)
        return fold_disguises(text)

    def apply(self, text: str) -> str:
        """Return text in this form, without disguises and invisible characters.

        Raises:
            MissingExtra: OpenCC is needed and not installed.
        """
        return self.form(self.unmask(text).text)

    def form(self, text: str) -> str:
        """Return a text in this form whose disguises are folded.

        The result does not depend on the version of Python: code points that
        Unicode 14.0 does not know are left as they are and never take part in a
        composition. (Normalization and case folding of assigned code points are
        stable between versions: UAX 15, section 3; UAX 31.)

        Raises:
            MissingExtra: OpenCC is needed and not installed.
        """
        if text.isascii():
            return text.lower() if self.case == "fold" else text
        text = self.invisible.sub("", text)
        points = code_points(text)
        unknown = np.flatnonzero(unknown_table()[points])
        marks = mark_table()[points]
        # Some may be there twice: nothing stands between them.
        cuts = np.sort(np.concatenate((unknown, unknown + 1, _cuts_in_marks(marks))))
        if not len(cuts):
            formed = self._form(text)
        else:
            alone = set(unknown.tolist())
            bounds = [0, *cuts.tolist(), len(text)]
            formed = "".join(
                text[start:end] if start in alone else self._form(text[start:end])
                for start, end in pairwise(bounds)
            )
        if self.han == "keep":
            return formed
        if self.han == "characters":
            return folding.simplify_characters(formed)
        return folding.simplify(formed, words=self.han == "simplified-words")

    def steps(self, text: str) -> Iterator[str]:
        """Yield a text without invisible characters, after each step.

        Chinese scripts are not folded here.
        """
        form: Literal["NFKC", "NFC"] = "NFKC" if self.width == "fold" else "NFC"
        text = unicodedata.normalize(form, text)
        yield text
        if self.case == "fold":
            text = text.casefold()
            yield text
            text = unicodedata.normalize(form, text)
            yield text
        if self.accents == "strip":
            text = ACCENTS.sub("", unicodedata.normalize("NFD", text))
            yield text
            yield unicodedata.normalize(form, text)

    def _form(self, text: str) -> str:
        for formed in self.steps(text):
            text = formed
        return text


DEFAULT = Normalization()
# The form of the scheme web.
FOLDED = Normalization(han="characters", disguises="fold")


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
