"""Compare submitted papers with one another: the same check, over an index of them in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.passage_recipe import PassageRecipe
from simstore.model import CheckedPaper, CheckOptions, Document, MutualCheck, MutualPair, Rejection
from simstore.model.documents import SourceFacts, facts_told
from simstore.services.check.check import PaperChecker, check_options, check_papers
from simstore.services.check.check_index import PassageIndex
from simstore.services.check.checked_paper import Ink
from simstore.services.check.copies import Step, no_step
from simstore.services.open_store.open_store import OpenStore
from simstore.storage.passages import AnchorPostings
from simstore.text.decoding import encode
from simstore.text.passages import Span


class PaperPassages(PassageIndex):
    """A passage index of papers in memory: what the index of a store is to its documents.

    Each anchor is found however many papers have it, so every pair that has one is found.

    Args:
        papers: The papers; the number of each is its place, from 0.
        recipe: How an index is made of a text.
        on_step: Called before each paper is indexed; what it raises ends the work.
    """

    def __init__(
        self, papers: Sequence[Document], recipe: PassageRecipe, on_step: Step = no_step
    ) -> None:
        super().__init__(recipe, text_kept=True, has_sentences=recipe.sentences)
        self._papers = papers
        made = []
        for paper in papers:
            on_step()
            made.append(recipe.index(paper.text))
        counts = [len(each.hashes) for each in made]
        hashes = np.concatenate([np.zeros(0, np.uint64), *(each.hashes for each in made)])
        # Of no paper: an array of its type.
        none = np.zeros(0, np.int64)
        starts = np.concatenate([none, *(each.starts for each in made)])
        lengths = np.concatenate([none, *(each.lengths for each in made)])
        order = np.argsort(hashes, kind="stable")
        self._postings = AnchorPostings(
            hashes[order],
            np.repeat(np.arange(len(made), dtype=np.int64), counts)[order],
            starts[order],
            lengths[order],
        )
        self._spans = [each.spans for each in made]
        self._own = -1

    def beside(self, number: int) -> PaperPassages:
        """Return the same index without the paper of a number, which is checked against it."""
        other = copy(self)
        other._own = number
        return other

    def postings(
        self,
        hashes: NDArray[np.uint64],
        most: int | None = None,  # noqa: ARG002 - papers are few
    ) -> AnchorPostings:
        """Return the anchors with these hashes, but for the paper's own."""
        held, wanted = self._postings, np.unique(hashes)
        firsts = np.searchsorted(held.hashes, wanted)
        counts = np.searchsorted(held.hashes, wanted, side="right") - firsts
        offsets = np.cumsum(counts) - counts
        rows = np.arange(int(counts.sum())) + np.repeat(firsts - offsets, counts)
        rows = rows[held.documents[rows] != self._own]
        return AnchorPostings(
            held.hashes[rows], held.documents[rows], held.starts[rows], held.lengths[rows]
        )

    def texts(self, document_ids: Sequence[int]) -> dict[int, str]:
        """Return the texts of papers."""
        return {number: self._papers[number].text for number in document_ids}

    def indexed_spans(self, document_ids: Sequence[int]) -> dict[int, NDArray[np.int32]]:
        """Return the passages of papers, each of shape (n, 2)."""
        return {number: self._spans[number] for number in document_ids}

    def keys(self, document_ids: Sequence[int]) -> dict[int, bytes]:
        """Return the keys of the papers but for the own one, which is no source of itself."""
        return {
            number: encode(self._papers[number].key)
            for number in document_ids
            if number != self._own
        }

    def facts(self, document_ids: Sequence[int]) -> dict[int, SourceFacts]:
        """Return what papers tell of themselves."""
        papers = {number: self._papers[number] for number in document_ids}
        return {
            number: facts_told(
                paper.key, paper.title, paper.collection, paper.metadata, paper.published_at
            )
            for number, paper in papers.items()
        }


def check_mutual(
    opened: OpenStore,
    papers: Iterable[Document | Rejection],
    options: CheckOptions,
    on_step: Step | None = None,
) -> MutualCheck:
    """Compare papers with one another, as they would be with stored documents.

    Nothing is stored. The store says how units are compared, and how long runs are that are surely
    found. If it has a passage index, the text that stored documents have ranks no pair higher.

    Args:
        opened: The store; it needs no passage index.
        papers: The papers. They are held in memory.
        options: How to check them. ``fast`` has no effect; passages are not compared by
            fingerprints. Excluded documents do not belong to the library.
        on_step: Called between pieces of work; what it raises ends the check.

    Raises:
        InvalidParameter: The options contradict each other.
        MissingExtra: rapidfuzz is not installed.
    """
    check_options(options)
    step = on_step or no_step
    given, rejections = list[Document](), list[Rejection]()
    for one in papers:
        if isinstance(one, Rejection):
            rejections.append(one)
        else:
            given.append(one)
    channels = tuple(name for name in options.channels if name != "simhash")
    rule = replace(
        options,
        exclude=(),
        exclude_author=(),
        exclude_collection=(),
        include_self=True,
        fast=False,
        channels=channels,
    )
    index = PaperPassages(given, _recipe(opened, "sentences" in channels), step)
    found = [
        PaperChecker(index.beside(number), rule, step, "another paper").check(paper)
        for number, paper in enumerate(given)
    ]
    known = _in_library(opened, given, options, step)
    return MutualCheck(
        papers=tuple(found), pairs=_pairs(found, known), rejections=tuple(rejections)
    )


def _recipe(opened: OpenStore, sentences: bool) -> PassageRecipe:
    """Return the recipe of the store's index; without one, that which a new index would have."""
    with opened.database.read() as connection:
        state = opened.state(connection)
    held = state.passages or PassageRecipe(normalization=state.scheme.normalization)
    return replace(held, fingerprints=False, sentences=sentences, neighbours=True)


def _in_library(
    opened: OpenStore, papers: Sequence[Document], options: CheckOptions, step: Step
) -> list[list[Span]]:
    """Return the stretches of each paper that stored documents have; none without an index.

    A class may be stored already, so documents with the key of one of the papers are left out.
    """
    with opened.database.read() as connection:
        state = opened.state(connection)
    if state.passages is None or not state.settings.passages_complete:
        return [[] for _ in papers]
    keys = {paper.key for paper in papers}
    checked = check_papers(opened, papers, replace(options, channels=("anchors",)), step)
    return [
        [(one.start, one.end) for one in paper.copies if one.source_key not in keys]
        for paper in checked
        if isinstance(paper, CheckedPaper)
    ]


def _own_shares(paper: CheckedPaper, known: Sequence[Span]) -> dict[int, float]:
    """Return the share of a paper that each other paper has, without what the library has."""
    spans: dict[int, list[Span]] = {}
    for one in paper.copies:
        spans.setdefault(one.source_document_id, []).append((one.start, one.end))
    ink = Ink(paper.text, [*known, *((one.start, one.end) for one in paper.excluded)])
    return {number: ink.share(ink.count(theirs)) for number, theirs in spans.items()}


def _pairs(
    papers: Sequence[CheckedPaper], known: Sequence[Sequence[Span]]
) -> tuple[MutualPair, ...]:
    """Return the pairs that have copies in common, the largest share of their own first."""
    shares = {
        (number, source.document_id): source
        for number, paper in enumerate(papers)
        for source in paper.sources
    }
    own = [_own_shares(paper, spans) for paper, spans in zip(papers, known, strict=True)]
    pairs = []
    for (first, second), source in shares.items():
        other = shares.get((second, first))
        reverse = 0.0 if other is None else other.share
        own_share, own_reverse = own[first][second], own[second].get(first, 0.0)
        # Each pair once: by the side with the larger share, the earlier one of equal sides.
        if (-own_share, -source.share, first) < (-own_reverse, -reverse, second):
            pairs.append(
                MutualPair(
                    first=first,
                    second=second,
                    first_key=papers[first].key,
                    second_key=papers[second].key,
                    share=source.share,
                    second_share=reverse,
                    own_share=own_share,
                    second_own_share=own_reverse,
                    characters=source.characters,
                    identical=source.identical,
                    identical_share=source.identical_share,
                    cases=source.cases,
                )
            )
    pairs.sort(key=lambda pair: (-pair.own_share, -pair.share, -pair.second_share, pair.first))
    return tuple(pairs)
