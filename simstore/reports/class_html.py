"""Build what the HTML report of a class tells: pairs of papers, a matrix, papers side by side."""

from __future__ import annotations

from collections.abc import Sequence

from simstore.model import MutualCheck, MutualPair
from simstore.reports.html_page import PairRow, PapersBeside, percent

# Pairs that are listed, and of which two papers can be put side by side.
MOST_PAIRS = 500
# A matrix of more papers cannot be read.
MOST_IN_MATRIX = 40
_SHADES = 5


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
        own_share=percent(pair.own_share),
        width=round(1000 * pair.own_share),
        share=percent(pair.share),
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
