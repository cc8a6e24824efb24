"""Split a text into its characters or words, in order, for the comparison of two texts."""

from __future__ import annotations

from simstore.text import segmentation
from simstore.text.folding import HAN_RUN
from simstore.text.normalization import Normalization
from simstore.text.tokens import tokens
from simstore.text.words import terms


def characters(text: str, normalization: Normalization | None) -> str:
    """Return the characters of a text.

    Args:
        text: Any text.
        normalization: Its form, in which each run of white space is one blank, none at the ends;
            None: the text as it is.
    """
    return text if normalization is None else " ".join(normalization.apply(text).split())


def words(text: str, normalization: Normalization, segmenter: str = "chars") -> list[str]:
    """Return the words of a text, with repetitions.

    A run of letters, marks and digits of a script with blanks between words is a word; each
    character of a script without them, and of Hangul, is one, but that a segmenter cuts runs of Han
    characters into words. Where there is neither, runs of other visible characters are the words.

    Args:
        text: Any text.
        normalization: Its form.
        segmenter: ``chars``, or one of :func:`simstore.text.segmentation.segmenter`.

    Raises:
        InvalidParameter: There is no such segmenter.
        MissingExtra: The segmenter is not installed.
    """
    if segmenter == "chars":
        return tokens(normalization.apply(text))
    to_words = segmentation.segmenter(segmenter)

    def cut(run: str) -> list[str]:
        found: list[str] = []
        place = 0
        for han in HAN_RUN.finditer(run):
            found += run[place : han.start()]
            found += to_words(han.group())
            place = han.end()
        return found + list(run[place:])

    return terms(text, normalization, cut)
