"""Find copied text in a paper: align it with the sources that share n-grams (anchors) with it.

Three steps. First the grams that are not everywhere are looked up, and what they hit is gathered
into regions. Sources with a region of several hits are aligned in full; of those with single hits,
only what surrounds a hit is looked at, and only where a run of t units may be. Last come the runs
of t units that are not explained yet and whose anchor is everywhere: their anchors are read in full
until a source is found, so the guarantee does not depend on how common an anchor is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.anchor_neighbours import MOST, SIDE_BITS, bits_around, bits_each
from simstore.fingerprint.winnowing import Winnowing
from simstore.search.alignment import Block, CoveredUnits, Stretch, chained, exact_runs, stretched
from simstore.search.cases import CopySpan
from simstore.search.chains import Hits, regions
from simstore.services.check.anchor_hits import HitContext, hits_of, surroundings
from simstore.services.check.check_index import PassageIndex
from simstore.services.check.paper_units import PaperUnits, SourceUnits, source_units
from simstore.storage.passages import AnchorPostings
from simstore.storage.rows import chunks


@dataclass(frozen=True, slots=True)
class WantedAnchors:
    """The anchors by which runs of a paper are found in documents, with what stands around them.

    Of the bits around an anchor a run knows those of the units that it has itself. Arrays of one
    length, a row for each place of an anchor in a run.

    Attributes:
        runs: The run, as its number among the paper's; int64.
        hashes: The anchor's hash; uint64.
        masks: Which bits the run knows; uint16.
        bits: Those bits; uint16.
    """

    runs: NDArray[np.int64]
    hashes: NDArray[np.uint64]
    masks: NDArray[np.uint16]
    bits: NDArray[np.uint16]

    @classmethod
    def of(cls, paper: PaperUnits, winnowing: Winnowing, runs: Sequence[int]) -> Self:
        """Return the anchors of some runs.

        Args:
            paper: The paper.
            winnowing: How long grams and runs are.
            runs: Numbers of its windows.
        """
        windows, grams = paper.windows, paper.grams
        numbers = np.array(runs, np.int64)
        begins = np.searchsorted(grams.first, windows.first[numbers])
        counts = np.searchsorted(grams.first, windows.end[numbers]) - begins
        within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        places = np.repeat(begins, counts) + within
        numbers = np.repeat(numbers, counts)
        chosen = (grams.hashes[places] == windows.hashes[numbers]) & (
            grams.last[places] < windows.end[numbers]
        )
        places, numbers = places[chosen], numbers[chosen]
        each = bits_each(paper.units, grams, winnowing)[places]
        before = _known(grams.first[places] - windows.first[numbers], each)
        behind = _known(windows.end[numbers] - 1 - grams.last[places], each)
        masks = (before << SIDE_BITS | behind).astype(np.uint16)
        around = bits_around(paper.units, grams, winnowing)[places]
        return cls(numbers, grams.hashes[places], masks, around.astype(np.uint16) & masks)

    def may_have(self, postings: AnchorPostings, runs: Sequence[int]) -> NDArray[np.bool_]:
        """Return which anchors of documents may be in one of some runs.

        Args:
            postings: The anchors, by hash.
            runs: Numbers of runs, of those given before.
        """
        asked = np.isin(self.runs, np.array(runs, np.int64))
        rows = np.unique(
            np.stack((self.hashes[asked], self.masks[asked], self.bits[asked])), axis=1
        )
        firsts = np.searchsorted(postings.hashes, rows[0])
        ends = np.searchsorted(postings.hashes, rows[0], side="right")
        # The largest number may be either of two.
        either = postings.lengths == MOST
        around = (postings.lengths - 1).astype(np.uint16)
        masks, bits = rows[1].astype(np.uint16), rows[2].astype(np.uint16)
        found = np.zeros(len(postings), bool)
        for first, end, mask, wanted in zip(
            firsts.tolist(), ends.tolist(), masks, bits, strict=True
        ):
            part = slice(first, end)
            found[part] |= (around[part] & mask == wanted) | either[part]
        return found


def _known(units: NDArray[np.int64], each: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return which bits of a side are those of so many units, of so many bits each."""
    known: NDArray[np.int64] = (1 << np.minimum(units * each, SIDE_BITS)) - 1
    return known


# An anchor of more documents is looked up only where nothing else explains a run.
MOST_POSTINGS = 100
# Hits of one hash: its places in the paper, times its anchors.
_MOST_PAIRS = 4096
# Characters: how far diagonals of one region may lie apart, and its hits in the paper.
DRIFT, GAP = 48, 320
_BATCH_SOURCES = 256
# Anchors that are read in full together.
_BATCH_COMMON = 1024
# Of the documents that have them, so many are read first, and at most so many together: the first
# of a stretch that all have explains it.
_FIRST_READ, _MOST_READ = 64, 4_096
_NO_PLACES = np.zeros(0, np.int64)
Allowed = Callable[[NDArray[np.int64]], NDArray[np.bool_]]
# Called between pieces of work; what it raises ends the work.
Step = Callable[[], None]


def no_step() -> None:
    """Do nothing: the default step callback."""


@dataclass(frozen=True, slots=True)
class UnitBounds:
    """Where a copy begins and ends, in units; the ends are behind the last."""

    first: int
    end: int
    source_first: int
    source_end: int


@dataclass(frozen=True, slots=True)
class FoundCopy:
    """An aligned stretch of the paper and a source, with the source's units.

    Attributes:
        source: The source, or a part of it.
        stretch: In units of the paper and of the source.
        is_sure: Whether it is told by itself: it has, or is a part of what has, a run long enough;
            or it was verified as a whole sentence or passage. Others are told as parts of a case.
        bounds: Where it begins and ends, where that is more than the stretch: it was found by its
            words in any order. None: it is the stretch.
        cosine: How much alike those are as bags of words.
    """

    source: SourceUnits
    stretch: Stretch
    is_sure: bool = True
    bounds: UnitBounds | None = None
    cosine: float = 0.0

    @property
    def similarity(self) -> float:
        """The share of units in common, or the cosine of the bags of words."""
        return self.stretch.similarity if self.bounds is None else self.cosine

    @property
    def place(self) -> UnitBounds:
        """Where it begins and ends."""
        one = self.stretch
        return self.bounds or UnitBounds(
            one.paper_first, one.paper_end, one.source_first, one.source_end
        )

    def span(self, runs: NDArray[np.float64]) -> CopySpan:
        """Return what joining needs to know of it.

        Args:
            runs: How many runs of the guaranteed length are before each unit of the paper.
        """
        blocks, source, place = self.stretch.blocks, self.source, self.place
        return CopySpan(
            paper_first=float(runs[place.first]),
            paper_end=float(runs[place.end]),
            source_first=source.offset + int(source.starts[place.source_first]),
            source_end=source.offset + int(source.ends[place.source_end - 1]),
            matched=sum(float(runs[place + size] - runs[place]) for place, _, size in blocks),
            is_sure=self.is_sure,
        )


@dataclass(frozen=True, slots=True)
class FindOptions:
    """Options of the search for copies.

    Attributes:
        moderate: Least similarity of a copy, but for runs that are the same.
        weights: What each unit of the paper counts; a copy's common units count 1 together.
        allowed: Which documents may be sources, of an array of them.
        explains: Which of them may explain a run; the others are found only beside those.
        fast: Leave out a source where every stretch of the paper that it has is explained.
        on_step: Called before each source is aligned, and before others are read; what it raises
            ends the search.
    """

    moderate: float
    weights: NDArray[np.float64]
    allowed: Allowed
    explains: Allowed
    fast: bool = False
    on_step: Step = no_step

    @property
    def least(self) -> float:
        """The similarity below which a stretch is not extended."""
        return min(max(self.moderate, 0.4), 0.9)


class CopyFinder:
    """Finds the copies in one paper, in a store that keeps the texts."""

    def __init__(self, paper: PaperUnits, index: PassageIndex, options: FindOptions) -> None:
        self._paper = paper
        self._index = index
        self._options = options
        self._sums = np.r_[0.0, np.cumsum(options.weights)]
        self._found: list[FoundCopy] = []
        self._known: dict[int, CoveredUnits] = {}
        # Stretches without a run that is long enough: they explain nothing, and come last.
        self._unsure: list[FoundCopy] = []
        self._explaining: dict[int, bool] = {}
        self._explained = np.zeros(len(paper.units), bool)
        # By unit, how far what is the same in a source reaches that begins there or before it.
        self._reached = np.zeros(len(paper.units) + 1, np.int64)

    def find(self) -> list[FoundCopy]:
        """Return the copies, in no particular order."""
        rare, read = self._looked_up()
        if len(rare):
            self._align_regions(rare)
        self._explain(read)
        for copy in self._unsure:
            known = self._known_of(copy.source)
            self._add(replace(copy, stretch=one) for one in known.new([copy.stretch]))
        return self._found

    def _looked_up(self) -> tuple[Hits, NDArray[np.uint64]]:
        """Return the hits of the grams that are not everywhere, and their hashes, ascending.

        A gram that no source has is not among those.
        """
        hashes, repeats = np.unique(self._paper.grams.hashes, return_counts=True)
        postings = self._index.postings(hashes, MOST_POSTINGS)
        numbers = np.searchsorted(hashes, postings.hashes)
        pairs = np.bincount(numbers, minlength=len(hashes)) * repeats
        postings = postings.of(pairs[numbers] <= _MOST_PAIRS)
        read = np.unique(postings.hashes)
        return hits_of(self._paper, postings.of(self._options.allowed(postings.documents)))[0], read

    def _align_regions(self, hits: Hits) -> None:
        in_characters = Hits(
            hits.documents,
            self._paper.units.starts[self._paper.grams.first[hits.papers]].astype(np.int64),
            hits.sources,
        )
        found = regions(in_characters, drift=DRIFT, gap=GAP)
        several = found.seeds >= 2
        strong = np.unique(found.documents[several])
        in_strong = np.isin(hits.documents, strong)
        single = ~in_strong & np.isin(
            self._paper.grams.hashes[hits.papers], self._paper.windows.hashes
        )
        # The sources of most hits come first: with `fast` they leave little to the others.
        seeds = np.bincount(np.searchsorted(strong, found.documents[several]), found.seeds[several])
        ordered = strong[np.argsort(-seeds, kind="stable")].tolist() if len(strong) else []
        self._align_sources(hits.of(in_strong), ordered)
        self._align_sources(hits.of(single), self._promising(hits.of(single)))

    def _promising(self, hits: Hits) -> list[int]:
        """Return the documents in which a single hit is within a run that is long enough."""
        kept: dict[int, None] = {}
        for around in surroundings(self._paper, self._index, hits):
            self._options.on_step()
            places = self._paper.grams.first[hits.papers[around.rows]].tolist()
            seeds = list(zip(places, around.places.tolist(), strict=True))
            for run in exact_runs(self._paper.symbols, around.symbols, seeds):
                if self._is_enough((run,)):
                    kept[int(hits.documents[around.row_at(run[1])])] = None
        return list(kept)

    def _align_sources(self, hits: Hits, documents: Sequence[int]) -> None:
        order = np.argsort(hits.documents, kind="stable")
        sorted_documents = hits.documents[order]
        for part in chunks(documents, _BATCH_SOURCES):
            rows_of = {
                number: order[
                    np.searchsorted(sorted_documents, number) : np.searchsorted(
                        sorted_documents, number, side="right"
                    )
                ]
                for number in part
            }
            wanted = [n for n in part if not self._is_settled(hits.papers[rows_of[n]])]
            texts = self._index.texts(wanted)
            parts = [(number, 0, texts[number]) for number in wanted if number in texts]
            for source in source_units(parts, self._paper.alphabet, self._index.normalization):
                rows = rows_of[source.document_id]
                if self._is_settled(hits.papers[rows]):
                    continue
                places = self._paper.grams.first[hits.papers[rows]].tolist()
                others = source.unit_at(hits.sources[rows]).tolist()
                self._align(source, list(zip(places, others, strict=True)))

    def _is_settled(self, places: NDArray[np.int64]) -> bool:
        """Return whether no run of t units with one of these grams needs a source.

        Only where one source is enough.
        """
        if not self._options.fast:
            return False
        grams, winnowing = self._paper.grams, self._index.winnowing
        beside = max(
            winnowing.run_words - winnowing.gram_words,
            winnowing.run_characters - winnowing.gram_characters,
        )
        first = np.maximum(grams.first[places] - beside, 0)
        end = np.minimum(grams.last[places] + 1 + beside, len(self._explained))
        done = np.r_[0, np.cumsum(self._explained)]
        return bool((done[end] - done[first] == end - first).all())

    def _align(self, source: SourceUnits, seeds: Sequence[tuple[int, int]]) -> None:
        self._options.on_step()
        paper, least = self._paper.symbols, self._options.least
        runs = exact_runs(paper, source.symbols, seeds)
        stretches: list[Stretch] = []
        for chain in chained(runs, least):
            # What a stretch reached from another chain need not be aligned again.
            if any(_holds(stretch, chain) for stretch in stretches):
                continue
            stretch = stretched(paper, source.symbols, chain, least)
            if stretch.similarity >= self._options.moderate and self._is_enough(stretch.blocks):
                stretches.append(stretch)
                continue
            stretches += [Stretch((run,)) for run in chain if self._is_enough((run,))]
        sure, unsure = list[Stretch](), list[Stretch]()
        for stretch in stretches:
            has_run = any(self._is_enough((block,)) for block in stretch.blocks)
            (sure if has_run else unsure).append(stretch)
        known = self._known_of(source)
        self._add(FoundCopy(source, stretch) for stretch in known.new(sure))
        # Runs that a chain cut where they overlap in the source are whole again by themselves.
        for run in runs:
            if self._is_enough((run,)) and not known.covers(run):
                self._add(FoundCopy(source, stretch) for stretch in known.whole(run))
        unsure.sort(key=lambda stretch: (-stretch.matched, stretch.paper_first))
        self._unsure += [FoundCopy(source, stretch, is_sure=False) for stretch in unsure]

    def _known_of(self, source: SourceUnits) -> CoveredUnits:
        return self._known.setdefault(source.document_id, CoveredUnits(set(), set()))

    def _add(self, copies: Iterable[FoundCopy]) -> None:
        for copy in copies:
            first, end = copy.stretch.paper_first, copy.stretch.paper_end
            if self._options.fast and self._explained[first:end].all():
                continue
            self._found.append(copy)
            if self._is_explaining(copy.source.document_id):
                self._explained[first:end] = True
                for place, _, size in copy.stretch.blocks:
                    reached = self._reached[place : place + size]
                    np.maximum(reached, place + size, out=reached)

    def _is_explaining(self, document_id: int) -> bool:
        if document_id not in self._explaining:
            asked = np.array([document_id], np.int64)
            self._explaining[document_id] = bool(self._options.explains(asked)[0])
        return self._explaining[document_id]

    def _is_enough(self, blocks: Sequence[Block]) -> bool:
        """Return whether enough units are equal for the copy to be reported."""
        weight = sum(self._sums[place + size] - self._sums[place] for place, _, size in blocks)
        return bool(weight > 1 - 1e-9)

    def _explain(self, read: NDArray[np.uint64]) -> None:
        """Find a source of each run of t units that has none and whose anchor was not read."""
        windows = self._paper.windows
        waiting: dict[int, list[int]] = {}
        for number in np.flatnonzero(~np.isin(windows.hashes, read)).tolist():
            if not self._is_explained(number):
                waiting.setdefault(int(windows.hashes[number]), []).append(number)
        for values in chunks(list(waiting), _BATCH_COMMON):
            self._options.on_step()
            left = [number for value in values for number in waiting[value]]
            index = self._index
            wanted = WantedAnchors.of(self._paper, index.winnowing, left)
            postings = index.postings(np.sort(np.array(values, np.uint64)))
            self._explain_by(wanted, postings, left)

    def _is_explained(self, number: int) -> bool:
        windows = self._paper.windows
        first, end = int(windows.first[number]), int(windows.end[number])
        if self._options.fast and bool(self._explained[first:end].all()):
            return True
        return int(self._reached[first]) >= end

    def _explain_by(
        self, wanted: WantedAnchors, postings: AnchorPostings, waiting: Sequence[int]
    ) -> None:
        """Read the documents of anchors, few at first, until each run has a source.

        Args:
            wanted: The anchors of the runs.
            postings: Those of them that documents have, by hash.
            waiting: The runs.
        """
        windows = self._paper.windows
        there = np.isin(windows.hashes[np.array(waiting, np.int64)], postings.hashes)
        waiting = [number for number, is_there in zip(waiting, there, strict=True) if is_there]
        by_document = np.argsort(postings.documents, kind="stable")
        is_left = np.ones(len(postings), bool)
        size = _FIRST_READ
        while waiting:
            chosen = is_left & wanted.may_have(postings, waiting)
            rows = by_document[chosen[by_document]][:size]
            if not len(rows):
                return
            is_left[rows] = False
            size = min(2 * size, _MOST_READ)
            read = postings.of(rows)
            read = read.of(self._options.explains(read.documents))
            hits = Hits(read.documents, np.zeros(len(read), np.int64), read.starts)
            for around in surroundings(self._paper, self._index, hits):
                self._options.on_step()
                waiting = self._explained_by(read, around, waiting)

    def _explained_by(
        self, read: AnchorPostings, around: HitContext, waiting: Sequence[int]
    ) -> list[int]:
        """Align the documents that have runs; return the runs that wait for others.

        Args:
            read: Anchors of documents.
            around: The text around them.
            waiting: The runs.
        """
        windows = self._paper.windows
        hashes = read.hashes[around.rows]
        order = np.argsort(hashes, kind="stable")
        ordered = hashes[order]
        left = []
        for number in waiting:
            if self._is_explained(number):
                continue
            value = windows.hashes[number]
            parts = order[slice(*np.searchsorted(ordered, (value, value + np.uint64(1))).tolist())]
            units = self._window_at(number, around, parts)
            if not len(units):
                left.append(number)
                continue
            unit = int(units[0])
            document_id = int(read.documents[around.row_at(unit)])
            self._align_one(document_id, int(windows.first[number]), int(around.starts[unit]))
        return left

    def _window_at(
        self, number: int, around: HitContext, parts: NDArray[np.intp]
    ) -> NDArray[np.int64]:
        """Return where parts have a run of the paper, by its anchor, as places of first units."""
        if not len(parts):
            return _NO_PLACES
        paper, windows = self._paper, self._paper.windows
        first, end = int(windows.first[number]), int(windows.end[number])
        grams = slice(*np.searchsorted(paper.grams.first, (first, end)).tolist())
        same = paper.grams.hashes[grams] == windows.hashes[number]
        offsets = paper.grams.first[grams][same] - first
        begins = (around.places[parts][:, None] - offsets).reshape(-1)
        begins = begins[(begins >= 0) & (begins + end - first <= len(around.symbols))]
        codes = around.symbols.codes[begins[:, None] + np.arange(end - first)]
        found: NDArray[np.int64] = begins[(codes == paper.symbols.codes[first:end]).all(axis=1)]
        return found

    def _align_one(self, document_id: int, place: int, character: int) -> None:
        texts = self._index.texts([document_id])
        source = source_units(
            [(document_id, 0, texts[document_id])],
            self._paper.alphabet,
            self._index.normalization,
        )[0]
        other = int(source.unit_at(np.array([character], np.int64))[0])
        self._align(source, [(place, other)])


def _holds(stretch: Stretch, chain: Sequence[Block]) -> bool:
    """Return whether a chain lies within a stretch, in both texts."""
    place, other, _ = chain[0]
    last, second, size = chain[-1]
    return (
        stretch.paper_first <= place
        and last + size <= stretch.paper_end
        and stretch.source_first <= other
        and second + size <= stretch.source_end
    )
