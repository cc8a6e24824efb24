"""Result of comparing papers with one another: pairs of papers that have text in common."""

from __future__ import annotations

from dataclasses import dataclass

from simstore.model.check import CheckedPaper
from simstore.model.ingest import Rejection
from simstore.model.results import Shown


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class MutualPair(Shown):
    """Two papers that have text in common.

    >>> papers = [("anna", "It is well known. " + text), ("ben", text)]
    >>> pair = store.check_mutual(papers).pairs[0]
    >>> pair.first_key, pair.share, pair.second_key, round(pair.second_share, 2)
    ('ben', 1.0, 'anna', 0.94)

    The first is the paper with the larger ``own_share``, then with the larger
    ``share``; of equal ones, the earlier. Who copied from whom is not said.

    Attributes:
        first: Which of the papers, from 0.
        second: The other one.
        first_key: Key of the first.
        second_key: Key of the second.
        share: Share of the first paper's characters that lie in copies of the
            second, 0 to 1, as for :class:`Totals`.
        second_share: The same of the second paper.
        own_share: Share of the first paper's characters that lie in copies of
            the second and in no copy of a stored document. Documents stored
            under the key of one of the papers do not count. Equal to ``share``
            if the store has no passage index.
        second_own_share: The same of the second paper.
        characters: Characters of the first paper that lie in copies.
        identical: Those of words (of scripts without blanks: characters) that
            are the same in the second.
        identical_share: The same as a share of the first paper's characters.
        cases: Copied stretches of the first paper; its result has them as cases
            of which the source is the second.
    """

    first: int
    second: int
    first_key: str
    second_key: str
    share: float
    second_share: float
    own_share: float
    second_own_share: float
    characters: int
    identical: int
    identical_share: float
    cases: int


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class MutualCheck(Shown):
    """Papers that were compared with one another.

    >>> papers = [("anna", "It is well known. " + text), ("ben", text)]
    >>> found = store.check_mutual(papers)
    >>> found.papers[0].sources[0].key
    'ben'

    Attributes:
        papers: The result for each, in order: its sources are the other papers,
            and the ``document_id`` of a source is the place of that paper, from
            0.
        pairs: The pairs that have a copied stretch in common, the largest
            ``own_share`` first.
        rejections: Of files: what could not be read.
    """

    _HOLDS = ("pairs", MutualPair)

    papers: tuple[CheckedPaper, ...]
    pairs: tuple[MutualPair, ...]
    rejections: tuple[Rejection, ...] = ()
