"""Decide whether a text is covered by others: whether they say all that it says.

A text that is dropped, or replaced by another one, is lost unless the texts that stay cover it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.shingle_sets import runs
from simstore.text.located import located_units
from simstore.text.normalization import Normalization
from simstore.text.passages import Span, sentences

RUN = 5
LEAST_SHARE = 0.9
SENTENCE_WORDS = 8
SENTENCE_CHARACTERS = 13
MOST_OUTSIDE = 0.5


@dataclass(frozen=True, slots=True)
class Coverage:
    """The part of a text that other texts have too.

    Attributes:
        share: Share of its words that lie in runs which others have, 0 to 1; 1 for a text without
            words.
        new_sentences: Its sentences that are mostly new, as spans of code points, ascending.
    """

    share: float
    new_sentences: tuple[Span, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Return whether others cover the text."""
        return self.share >= LEAST_SHARE and not self.new_sentences


def coverage(text: str, others: Sequence[str], normalization: Normalization) -> Coverage:
    """Return how much of a text others cover.

    Words are compared in their normalized form; each Han character counts as a word, and so do
    characters of other scripts without blanks. A word is covered if it lies in a run of 5 words
    that occurs in one of the others, or of all words of a shorter text. A sentence of at least 8
    words or 13 characters is new if more than half of its words are not covered. The text is
    covered if at least .9 of its words are, and none of its sentences is new.

    Args:
        text: The text that may be dropped.
        others: The texts that stay.
        normalization: The form in which words are compared.

    Example:
        >>> from simstore.text.normalization import FOLDED
        >>> old = "The ferry to the island leaves at nine and comes back at noon. Seen 41 times."
        >>> coverage(old, [old.replace("41", "42")], FOLDED).is_complete
        False
        >>> longer = old + " " + "Bring a coat, as the wind on the upper deck is cold in spring."
        >>> coverage(old, [longer], FOLDED).is_complete
        True
    """
    units = located_units(text, normalization)
    count = len(units)
    if not count:
        return Coverage(1.0)
    size = min(RUN, count)
    known = [runs(located_units(other, normalization).hashes, size) for other in others]
    found = np.isin(runs(units.hashes, size), np.concatenate((np.empty(0, np.uint64), *known)))
    is_covered = _spread(found, size)
    spans = sentences(text)
    firsts = np.searchsorted(units.starts, [start for start, _ in spans])
    ends = np.searchsorted(units.starts, [end for _, end in spans])
    new = [
        span
        for span, first, end in zip(spans, firsts.tolist(), ends.tolist(), strict=True)
        if _is_long(units.spaced[first:end])
        and np.count_nonzero(~is_covered[first:end]) > MOST_OUTSIDE * (end - first)
    ]
    return Coverage(float(np.count_nonzero(is_covered)) / count, tuple(new))


def _spread(found: NDArray[np.bool_], size: int) -> NDArray[np.bool_]:
    """Return which words lie in a run that was found, given the first word of each run."""
    edges = np.zeros(len(found) + size, np.int64)
    edges[: len(found)] += found
    edges[size:] -= found
    covered: NDArray[np.bool_] = np.cumsum(edges)[:-1] > 0
    return covered


def _is_long(spaced: NDArray[np.bool_]) -> bool:
    """Return whether a sentence is long enough to say something of its own."""
    words = int(np.count_nonzero(spaced))
    characters = len(spaced) - words
    return words / SENTENCE_WORDS + characters / SENTENCE_CHARACTERS >= 1
