"""Give checked papers numbers in the place of their names, for a report that others read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from simstore.model import CheckedPaper, MutualCheck


def unnamed(
    papers: Iterable[CheckedPaper], mutual: MutualCheck | None = None
) -> tuple[Iterator[CheckedPaper], MutualCheck | None]:
    """Return papers that are called ``paper 1``, ``paper 2``, ... in their order, without titles.

    Names of sources of the library stay, and so does what the texts of the papers say.

    Args:
        papers: The papers.
        mutual: The same papers beside each other.
    """
    anonymous = (
        replace(paper, key=_name(number), title=None) for number, paper in enumerate(papers)
    )
    return anonymous, None if mutual is None else _mutual(mutual)


def _name(number: int) -> str:
    return f"paper {number + 1}"


def _mutual(mutual: MutualCheck) -> MutualCheck:
    papers = tuple(
        replace(
            paper,
            key=_name(number),
            title=None,
            sources=tuple(
                replace(
                    one, key=_name(one.document_id), title=None, author=None, date=None, url=None
                )
                for one in paper.sources
            ),
            cases=tuple(
                replace(one, source_key=_name(one.source_document_id)) for one in paper.cases
            ),
            copies=tuple(
                replace(one, source_key=_name(one.source_document_id)) for one in paper.copies
            ),
        )
        for number, paper in enumerate(mutual.papers)
    )
    pairs = tuple(
        replace(one, first_key=_name(one.first), second_key=_name(one.second))
        for one in mutual.pairs
    )
    return replace(mutual, papers=papers, pairs=pairs, rejections=())
