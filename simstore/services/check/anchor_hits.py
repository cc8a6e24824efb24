"""Locate a submitted paper's n-grams in source documents, and cut out the text around each hit."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simstore.search.chains import Hits
from simstore.search.symbols import Symbols
from simstore.services.check.check_index import AnchorPostings, PassageIndex
from simstore.services.check.paper_units import BETWEEN, PaperUnits
from simstore.text.located import located_units

# Hits whose surroundings are cut into units together: few at first, as one may be enough.
_TOGETHER = (256, 1_024, 4_096)
# Characters before and after a hit that are looked at, beyond a run of t units as long as the
# paper's are.
_MARGIN = 16
# How many times the room is looked at that units of the paper's mean length take.
_WIDTHS = (1.5, 6)


@dataclass(frozen=True, slots=True)
class HitContext:
    """The tokens around hits in their sources: parts in one array, with separators between.

    Attributes:
        rows: The hit of each part; int64, shape (parts,).
        symbols: The units of all parts.
        begins: First unit of each part; int64, ascending.
        places: The unit at which the hit begins.
        starts: First character of each unit in its source; -1 between parts; int64.
    """

    rows: NDArray[np.int64]
    symbols: Symbols
    begins: NDArray[np.int64]
    places: NDArray[np.int64]
    starts: NDArray[np.int64]

    def row_at(self, unit: int) -> int:
        """Return the hit whose part has a unit."""
        return int(self.rows[np.searchsorted(self.begins, unit, side="right") - 1])


def hits_of(paper: PaperUnits, postings: AnchorPostings) -> tuple[Hits, NDArray[np.int64]]:
    """Return a hit for each occurrence of an anchor's hash in the paper, and the anchors' lengths.

    Places in the paper are those of its grams, places in sources are characters.

    Args:
        paper: The paper.
        postings: Anchors with hashes of the paper's grams.
    """
    hashes, inverse, repeats = np.unique(
        paper.grams.hashes, return_inverse=True, return_counts=True
    )
    by_hash = np.argsort(inverse.reshape(-1), kind="stable")
    begins = np.cumsum(repeats) - repeats
    numbers = np.searchsorted(hashes, postings.hashes)
    times = repeats[numbers]
    rows = np.repeat(np.arange(len(postings)), times)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(times) - times, times)
    places = by_hash[begins[numbers][rows] + within].astype(np.int64)
    found = Hits(postings.documents[rows], places, postings.starts[rows])
    return found, postings.lengths[rows]


def surroundings(
    paper: PaperUnits,
    index: PassageIndex,
    hits: Hits,
    around: tuple[int, int] | None = None,
) -> Iterator[HitContext]:
    """Yield the text around hits, by source.

    Args:
        paper: The paper.
        index: The index; it has the texts.
        hits: Documents and characters count.
        around: The units of each part before the hit's place, and from there on. None: each part
            holds every run of t units that has the hit's place in it.
    """
    winnowing = index.winnowing
    run = max(winnowing.run_words, winnowing.run_characters)
    before, after = around or (run, run + winnowing.gram_mixed)
    # One unit more: a word at the edge may have been cut.
    needed = before + 1, after + 1
    with ThreadPoolExecutor(1) as pool:
        # One thread cuts texts into units while this one reads the next.
        waiting: list[Future[list[HitContext]]] = []
        order = np.argsort(hits.documents, kind="stable")
        start, sizes = 0, list(_TOGETHER)
        while start < len(order):
            rows = order[start : start + sizes[0]]
            start += len(rows)
            sizes = sizes[1:] or sizes
            texts = index.texts(np.unique(hits.documents[rows]).tolist())
            kept = rows[np.isin(hits.documents[rows], list(texts))]
            waiting.append(pool.submit(_cut_wide_enough, paper, index, hits, kept, texts, needed))
            if len(waiting) > 1:
                yield from waiting.pop(0).result()
        for left in waiting:
            yield from left.result()


def _cut_wide_enough(
    paper: PaperUnits,
    index: PassageIndex,
    hits: Hits,
    rows: NDArray[np.int64],
    texts: dict[int, str],
    needed: tuple[int, int],
) -> list[HitContext]:
    """Return what surrounds hits; more of the texts, or all, where a cut was too narrow."""
    characters = len(paper.text) / max(len(paper.units), 1)
    found = []
    for times in (*_WIDTHS, None):
        margins = None
        if times is not None:
            margins = tuple(int(units * characters * times) + _MARGIN for units in needed)
        part, rows = _cut(paper, index, hits, rows, texts, margins, needed)
        found.append(part)
        if not len(rows):
            break
    return found


def _cut(
    paper: PaperUnits,
    index: PassageIndex,
    hits: Hits,
    rows: NDArray[np.int64],
    texts: dict[int, str],
    margins: tuple[int, ...] | None,
    needed: tuple[int, int],
) -> tuple[HitContext, NDArray[np.int64]]:
    """Return what surrounds hits, and those of which it is too little.

    Args:
        paper: The paper.
        index: The index.
        hits: The hits.
        rows: Which of them.
        texts: The texts of their documents.
        margins: Characters before the hit's place, and from there on; None: whole texts.
        needed: Units that are to be there before it, and from there on.
    """
    documents = hits.documents[rows].tolist()
    sources = hits.sources[rows]
    sizes = np.array([len(texts[number]) for number in documents], np.int64)
    if margins is None:
        firsts, ends = np.zeros(len(rows), np.int64), sizes
    else:
        firsts = np.maximum(sources - margins[0], 0)
        ends = np.minimum(sources + margins[1], sizes)
    joined = BETWEEN.join(
        [
            texts[number][first:end]
            for number, first, end in zip(documents, firsts.tolist(), ends.tolist(), strict=True)
        ]
    )
    units = located_units(joined, index.normalization)
    lengths = ends - firsts + len(BETWEEN)
    begins = np.cumsum(lengths) - lengths
    starts = units.starts.astype(np.int64)
    # A mark in front of a part begins with what it joins, one character earlier.
    bounds = np.searchsorted(starts, np.append(begins - 1, lengths.sum()))
    counts = np.diff(bounds)
    part_of = np.repeat(np.arange(len(rows)), counts)
    shift = np.arange(len(starts)) + part_of
    codes = np.zeros(len(starts) + len(rows), np.uint32)
    codes[shift] = paper.alphabet.symbols(units.hashes).codes
    in_source = np.full(len(codes), -1, np.int64)
    in_source[shift] = np.maximum(starts - begins[part_of], 0) + firsts[part_of]
    places = np.searchsorted(starts, begins + sources - firsts)
    enough = ((places - bounds[:-1] >= needed[0]) | (firsts == 0)) & (
        (bounds[1:] - places >= needed[1]) | (ends == sizes)
    )
    # A text of signs alone has units only where it is cut by itself.
    enough &= counts > 0
    if margins is not None:
        # What was cut may look like another unit.
        codes[shift[~enough[part_of]]] = 0
    parts = np.arange(len(rows))
    found = HitContext(rows, Symbols.of(codes), bounds[:-1] + parts, places + parts, in_source)
    return found, rows[~enough] if margins is not None else rows[:0]
