"""Find where disguises were folded in a text, word by word, for people to look at."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from simstore.model import FoldedPlace
from simstore.text.characters import code_points
from simstore.text.disguises import fold_disguises

# How far a place reaches to the blanks around it, in characters.
_REACH = 40


def folded_places(text: str, most: int = 20) -> tuple[FoldedPlace, ...]:
    r"""Return the first places of a text that are compared otherwise than they stand there.

    Each reaches to the blanks around it, so that it shows whole words.

    Args:
        text: Any text.
        most: How many places.

    Example:
        >>> folded_places("ships are fr\u200bee &amp; ch\u0435\u0430p")[0]
        FoldedPlace(start=10, end=15, given='fr\u200bee', compared='free')
        >>> [place.compared for place in folded_places("fr\u200bee &amp; ch\u0435\u0430p")]
        ['free', '&', 'cheap']
    """
    folded = fold_disguises(text)
    if folded.starts is None or folded.ends is None:
        return ()
    starts, ends = folded.starts, folded.ends
    alike = (ends - starts == 1) & (code_points(text)[starts] == code_points(folded.text))
    changed = np.ones(len(text), bool)
    changed[starts[alike]] = False
    edges = np.flatnonzero(np.diff(np.concatenate(([False], changed, [False]))))
    spans = _words(text, zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
    found = []
    for start, end in islice(spans, most):
        first, last = np.searchsorted(starts, (start, end)).tolist()
        found.append(
            FoldedPlace(
                start=start, end=end, given=text[start:end], compared=folded.text[first:last]
            )
        )
    return tuple(found)


def _words(text: str, spans: Iterator[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield spans that reach to the blanks around them, those that overlap as one."""
    begun: tuple[int, int] | None = None
    for start, end in spans:
        first, last = start, end
        while first > 0 and start - first < _REACH and not text[first - 1].isspace():
            first -= 1
        while last < len(text) and last - end < _REACH and not text[last].isspace():
            last += 1
        if begun is not None and first <= begun[1]:
            begun = (begun[0], max(last, begun[1]))
        else:
            if begun is not None:
                yield begun
            begun = (first, last)
    if begun is not None:
        yield begun
