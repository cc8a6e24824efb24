"""Locate a submitted paper's n-grams in source documents, and cut out the text around each hit."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simstore.search.chains import Hits
from simstore.search.symbols import Symbols
from simstore.services.check.check_index import PassageIndex
from simstore.services.check.paper_units import BETWEEN, PaperUnits
from simstore.storage.passages import AnchorPostings
from simstore.text.located import located_units

# Hits whose surroundings are cut into units together.
_TOGETHER = 4_096
# Characters before and after a hit that are looked at, beyond a run of t units as long as the
# paper's are.
_MARGIN = 16


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


def surroundings(paper: PaperUnits, index: PassageIndex, hits: Hits) -> Iterator[HitContext]:
    """Yield the text around hits, by source.

    Each part holds every run of t units that has the hit's place in it.

    Args:
        paper: The paper.
        index: The index; it has the texts.
        hits: Documents and characters count.
    """
    winnowing = index.winnowing
    # One unit more: a word at the edge may have been cut.
    needed = max(winnowing.run_words, winnowing.run_characters, winnowing.run_mixed) + 1
    characters = len(paper.text) / max(len(paper.units), 1)
    margin = max(1, int(needed * characters * 1.5) + _MARGIN)
    with ThreadPoolExecutor(1) as pool:
        # One thread cuts texts into units while this one reads the next.
        waiting: list[Future[list[HitContext]]] = []
        order = np.argsort(hits.documents, kind="stable")
        for start in range(0, len(order), _TOGETHER):
            rows = order[start : start + _TOGETHER]
            texts = index.texts(np.unique(hits.documents[rows]).tolist())
            kept = rows[np.isin(hits.documents[rows], list(texts))]
            waiting.append(
                pool.submit(
                    _cut_twice, paper, index, hits, kept, texts=texts, margin=margin, needed=needed
                )
            )
            if len(waiting) > 1:
                yield from waiting.pop(0).result()
        for left in waiting:
            yield from left.result()


def _cut_twice(
    paper: PaperUnits,
    index: PassageIndex,
    hits: Hits,
    rows: NDArray[np.int64],
    texts: dict[int, str],
    margin: int,
    needed: int,
) -> list[HitContext]:
    """Return what surrounds hits; whole texts where the first cut was too narrow."""
    whole = np.zeros(len(rows), bool)
    found, narrow = _cut(
        paper, index, hits, rows, texts=texts, margin=margin, whole=whole, needed=needed
    )
    if not len(narrow):
        return [found]
    whole = np.ones(len(narrow), bool)
    return [
        found,
        _cut(paper, index, hits, narrow, texts=texts, margin=margin, whole=whole, needed=needed)[0],
    ]


def _cut(
    paper: PaperUnits,
    index: PassageIndex,
    hits: Hits,
    rows: NDArray[np.int64],
    texts: dict[int, str],
    margin: int,
    whole: NDArray[np.bool_],
    needed: int,
) -> tuple[HitContext, NDArray[np.int64]]:
    """Return what surrounds hits, and those of which it is too little."""
    documents = hits.documents[rows].tolist()
    sources = hits.sources[rows]
    firsts = np.where(whole, 0, np.maximum(sources - margin, 0))
    sizes = np.array([len(texts[number]) for number in documents], np.int64)
    # The anchor itself is of about so many characters too.
    ends = np.where(whole, sizes, np.minimum(sources + margin + margin // 2, sizes))
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
    enough = ((places - bounds[:-1] >= needed) | (firsts == 0)) & (
        (bounds[1:] - places >= needed) | (ends == sizes)
    )
    # A text of signs alone has units only where it is cut by itself.
    enough &= counts > 0
    parts = np.arange(len(rows))
    found = HitContext(rows, Symbols.of(codes), bounds[:-1] + parts, places + parts, in_source)
    return found, rows[~enough & ~whole]
