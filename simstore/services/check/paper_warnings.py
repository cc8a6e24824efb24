"""Warn of what hides words of a checked paper from a program, and of text that no reader sees."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace

from simstore.model import CheckedPassage, Document, PaperWarning
from simstore.text.disguises import fold_disguises
from simstore.text.passages import Span

LETTERS_BETWEEN = "letters between words"


def flagged(
    paper: Document, passages: Sequence[CheckedPassage], between: Sequence[Span]
) -> tuple[tuple[PaperWarning, ...], tuple[CheckedPassage, ...]]:
    """Return the word-hiding tricks in a paper, and its passages with those in each.

    Args:
        paper: The paper.
        passages: Its passages.
        between: Letters that stand between all words.
    """
    counts = fold_disguises(paper.text).counts.flag_counts()
    if between:
        counts[LETTERS_BETWEEN] = len(between)
    told = []
    spans: dict[str, list[Span]] = {}
    starts = [start for start, _ in between]
    for passage in passages if counts else ():
        flags = fold_disguises(paper.text[passage.start : passage.end]).counts.flags()
        if bisect_left(starts, passage.start) < bisect_left(starts, passage.end):
            flags += (LETTERS_BETWEEN,)
        for flag in flags:
            spans.setdefault(flag, []).append((passage.start, passage.end))
        told.append(replace(passage, flags=flags) if flags else passage)
    warnings = [
        PaperWarning(kind=kind, count=count, spans=tuple(spans.get(kind, ())))
        for kind, count in counts.items()
    ]
    return (*warnings, *paper.hidden), tuple(told or passages)
