"""Join neighbouring copies of one source into cases: one case for each copied stretch.

Two copies belong together where the gap between them is short in the paper and in the source,
whatever their order. How long it may be grows with what is copied on both sides of it. Lengths are
in runs: 1 is what the guarantee of a passage index speaks of, 8 words or 13 characters.

References:
    Sanchez-Perez, Sidorov, Gelbukh: The winning approach to text alignment for text reuse
    detection at PAN 2014, CLEF 2014, section 3 (clustering in both texts in turn).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

# How these were chosen: docs/explanation/decisions.md, 240.
LEAST_GAP, MOST_GAP = 4.0, 12.0
# What was left out of a source is not in the paper: gaps are longer there.
SOURCE_GAPS = 2.0
# A phrase of the source that the paper has again and again is one copy each time: the paper's own
# text lies between, and takes so many times as long as all that the source has.
MOST_REPEATED = 2.0
# What has no run that is the same must have so much in common, and by so much more than differs.
LEAST_WITHOUT_RUN, LEAST_EXCESS = 1.6, 1.2


@dataclass(frozen=True, slots=True, kw_only=True)
class CopySpan:
    """A copy, as far as joining needs to know it.

    Attributes:
        paper_first: Where it begins in the paper, in runs.
        paper_end: Where it ends in the paper, in runs.
        source_first: Where it begins in the source, in characters.
        source_end: Where it ends in the source, in characters.
        matched: How much of it is the same in both, in runs.
        is_sure: Whether it is told by itself: it has a run of the guaranteed length, or was
            verified as a whole sentence or passage.
    """

    paper_first: float
    paper_end: float
    source_first: int
    source_end: int
    matched: float
    is_sure: bool = True


@dataclass(slots=True)
class _Segment:
    """Copies that lie together in one text; lengths are in runs."""

    first: float
    end: float
    matched: float
    copies: list[int] = field(default_factory=list)


def joined(copies: Sequence[CopySpan]) -> list[list[int]]:
    """Return the cases that copies of one source belong to: their numbers, ascending.

    Each copy is in one case; the cases are in the order of their first copies.

    Example:
        >>> def copy(first: int, source: int) -> CopySpan:
        ...     return CopySpan(
        ...         paper_first=first,
        ...         paper_end=first + 2,
        ...         source_first=source,
        ...         source_end=source + 96,
        ...         matched=2,
        ...     )
        >>> joined([copy(0, 200), copy(3, 100), copy(50, 300)])
        [[0, 1], [2]]

    Args:
        copies: Copies of one source in one paper, in any order.
    """
    if not copies:
        return []
    # What a run takes in the source, about as much as in the paper.
    of_paper = sum(copy.paper_end - copy.paper_first for copy in copies)
    of_source = sum(copy.source_end - copy.source_first for copy in copies)
    scale = of_paper / of_source if of_source else 1.0
    spans = (
        [(copy.paper_first, copy.paper_end) for copy in copies],
        [(copy.source_first * scale, copy.source_end * scale) for copy in copies],
    )
    found = []
    # What is together in one text is cut by the other one, until both agree.
    waiting = [(list(range(len(copies))), 0, False)]
    while waiting:
        numbers, text, agreed = waiting.pop()
        segments = [
            _Segment(*spans[text][number], copies[number].matched, [number]) for number in numbers
        ]
        parts = _together(segments, SOURCE_GAPS if text else 1.0)
        if len(parts) > 1:
            waiting += [(part, 1 - text, False) for part in parts]
        elif agreed or len(numbers) == 1:
            extents = [_extent([of_text[number] for number in numbers]) for of_text in spans]
            if extents[0] > MOST_REPEATED * extents[1]:
                found += [[number] for number in numbers]
            else:
                found.append(sorted(numbers))
        else:
            waiting.append((numbers, 1 - text, True))
    return sorted(found)


def _extent(spans: Sequence[tuple[float, float]]) -> float:
    """Return the length from where the first span begins to where the last ends."""
    return max(end for _, end in spans) - min(first for first, _ in spans)


def is_told(copies: Sequence[CopySpan]) -> bool:
    """Return whether a case is told: without a sure copy it needs more in common.

    Set phrases of laws and manuals are a few words more than the least that is told, with others
    between them.

    Args:
        copies: The copies of the case.
    """
    if any(copy.is_sure for copy in copies):
        return True
    matched = sum(copy.matched for copy in copies)
    length = max(copy.paper_end for copy in copies) - min(copy.paper_first for copy in copies)
    return matched >= LEAST_WITHOUT_RUN and 2 * matched - length >= LEAST_EXCESS


def _together(segments: list[_Segment], times: float) -> list[list[int]]:
    """Return copies by where they lie in one text: parts with long gaps between them."""
    segments.sort(key=lambda one: (one.first, one.end, one.copies))
    count = 0
    # A part that grew may reach over the next gap.
    while count != len(segments):
        count = len(segments)
        kept = segments[:1]
        for segment in segments[1:]:
            before = kept[-1]
            around = min(before.matched, segment.matched)
            most = min(times * LEAST_GAP + around, times * MOST_GAP)
            if segment.first - before.end <= most:
                before.end = max(before.end, segment.end)
                before.matched += segment.matched
                before.copies += segment.copies
            else:
                kept.append(segment)
        segments = kept
    return [segment.copies for segment in segments]
