"""Build what the HTML report of a class tells: pairs of papers, a matrix, papers side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from simstore.model import MutualCheck, MutualPair
from simstore.reports.html_page import percent

# Pairs that are listed, and of which two papers can be put side by side.
MOST_PAIRS = 500
# A matrix of more papers cannot be read.
MOST_IN_MATRIX = 40
_SHADES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class PairRow:
    """A pair of papers, as people read it.

    Attributes:
        first: Place of the first paper among the sections, from 0.
        second: That of the other.
        share: Share of the first that is in the second.
        width: The same, 0 to 1000.
        second_share: Share of the second that is in the first.
        facts: Characters, share that is word for word the same, cases.
        data: What the script needs to put both side by side.
    """

    first: int
    second: int
    share: str
    width: int
    second_share: str
    facts: tuple[str, str, str]
    data: list[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PapersBeside:
    """The papers of a report beside each other.

    Attributes:
        titles: What the papers are called.
        pairs: Those that are listed, the largest share first.
        left: How many pairs are not listed.
        shares: Of each paper the share that is in any other paper.
        nearest: Of each paper the paper that has most of it; None where none has any.
        matrix: Of each paper, for each other one, the share of it that is there in whole percent
            and a shade from 0 to 5; None for itself. Empty where there are too many.
    """

    titles: tuple[str, ...]
    pairs: tuple[PairRow, ...]
    left: int
    shares: tuple[str, ...]
    nearest: tuple[int | None, ...]
    matrix: tuple[tuple[tuple[str, int] | None, ...], ...]


def papers_beside(mutual: MutualCheck, titles: Sequence[str]) -> PapersBeside:
    """Return what a report tells of papers that were compared with one another.

    Args:
        mutual: The comparison.
        titles: What the papers are called, in the same order.
    """
    papers = mutual.papers
    return PapersBeside(
        titles=tuple(titles),
        pairs=tuple(_row(mutual, pair) for pair in mutual.pairs[:MOST_PAIRS]),
        left=max(len(mutual.pairs) - MOST_PAIRS, 0),
        shares=tuple(percent(paper.totals.share) for paper in papers),
        nearest=tuple(paper.sources[0].document_id if paper.sources else None for paper in papers),
        matrix=_matrix(mutual) if len(papers) <= MOST_IN_MATRIX else (),
    )


def _row(mutual: MutualCheck, pair: MutualPair) -> PairRow:
    copies = [
        [copy.start, copy.end, copy.source_start, copy.source_end, *_flat(copy.blocks)]
        for copy in mutual.papers[pair.first].copies
        if copy.source_document_id == pair.second
    ]
    return PairRow(
        first=pair.first,
        second=pair.second,
        share=percent(pair.share),
        width=round(1000 * pair.share),
        second_share=percent(pair.second_share),
        facts=(f"{pair.characters:,}", percent(pair.identical_share), f"{pair.cases:,}"),
        data=[pair.first, pair.second, copies],
    )


def _flat(blocks: Sequence[tuple[int, int, int, int]]) -> list[int]:
    return [place for block in blocks for place in block]


def _matrix(mutual: MutualCheck) -> tuple[tuple[tuple[str, int] | None, ...], ...]:
    shares = {
        (number, source.document_id): source.share
        for number, paper in enumerate(mutual.papers)
        for source in paper.sources
    }
    numbers = range(len(mutual.papers))
    return tuple(
        tuple(None if one == other else _cell(shares.get((one, other), 0.0)) for other in numbers)
        for one in numbers
    )


def _cell(share: float) -> tuple[str, int]:
    """Return a share in whole percent, and its shade; what is not nothing is never shown as 0."""
    if not share:
        return "", 0
    whole = min(max(round(100 * share), 1), 100 if share == 1 else 99)
    return str(whole), min(1 + int(share * _SHADES), _SHADES)
