"""Find copied passages by the offsets of shared n-grams (anchors), in stores that keep no texts."""

from __future__ import annotations

import numpy as np

from simstore.model import Copy
from simstore.search.alignment import Block, Stretch, chained
from simstore.search.cases import CopySpan
from simstore.search.chains import Hits, regions
from simstore.services.check.anchor_hits import hits_of
from simstore.services.check.check_index import PassageIndex
from simstore.services.check.copies import DRIFT, GAP, FindOptions
from simstore.services.check.counted_copies import UnitCopy
from simstore.services.check.paper_units import PaperUnits

# Characters by which white space may differ between two anchors of one run.
_SLACK = 2


def copies_by_place(paper: PaperUnits, index: PassageIndex, options: FindOptions) -> list[UnitCopy]:
    """Return the copies by their anchors, without the keys of their sources.

    Each has at least two anchors. Where those follow each other as closely as winnowing chooses
    them, and as far apart in both texts, what lies between counts as the same.

    Args:
        paper: The paper.
        index: The index.
        options: How to find them; only sources that explain are told of.
    """
    postings = index.postings(np.unique(paper.grams.hashes))
    hits, lengths = hits_of(paper, postings.of(options.allowed(postings.documents)))
    if not len(hits):
        return []
    firsts = paper.units.starts[paper.grams.first[hits.papers]].astype(np.int64)
    ends = paper.units.ends[paper.grams.last[hits.papers]].astype(np.int64)
    found = regions(Hits(hits.documents, firsts, hits.sources), drift=DRIFT, gap=GAP)
    order = np.argsort(found.labels, kind="stable")
    bounds = np.cumsum(np.bincount(found.labels, minlength=len(found)))
    sums = np.r_[0.0, np.cumsum(options.weights)]
    before = paper.runs_before(index.winnowing)
    copies: list[UnitCopy] = []
    for region in np.flatnonzero(found.seeds >= 2).tolist():
        options.on_step()
        rows = order[bounds[region - 1] if region else 0 : bounds[region]]
        runs = _runs(paper, index, hits.of(rows), firsts[rows], ends[rows], lengths[rows])
        for chain in chained(runs, options.least, GAP):
            stretch = Stretch(tuple(chain))
            copy = _copy(int(found.documents[region]), stretch)
            first, end = np.searchsorted(paper.units.starts, (copy.start, copy.end)).tolist()
            if stretch.similarity >= options.moderate and sums[end] - sums[first] > 1 - 1e-9:
                span = span_by_place(copy, float(before[first]), float(before[end]))
                copies.append(UnitCopy(copy, (), span))
    return copies


def span_by_place(copy: Copy, first: float, end: float) -> CopySpan:
    """Return what joining needs to know of a copy of which the texts were not compared.

    Args:
        copy: The copy.
        first: Where it begins in the paper, in runs.
        end: Where it ends there.
    """
    return CopySpan(
        paper_first=first,
        paper_end=end,
        source_first=copy.source_start,
        source_end=copy.source_end,
        matched=copy.similarity * (end - first),
    )


def _runs(
    paper: PaperUnits,
    index: PassageIndex,
    hits: Hits,
    firsts: np.ndarray[tuple[int], np.dtype[np.int64]],
    ends: np.ndarray[tuple[int], np.dtype[np.int64]],
    lengths: np.ndarray[tuple[int], np.dtype[np.int64]],
) -> list[Block]:
    """Return runs of at least two anchors that go on as winnowing lets them, in characters."""
    step = index.winnowing.window_mixed
    open_runs: list[list[int]] = []
    grams = paper.grams
    for row in np.lexsort((hits.sources, hits.papers)).tolist():
        place, first, source = int(hits.papers[row]), int(firsts[row]), int(hits.sources[row])
        unit = int(grams.first[place])
        for run in reversed(open_runs[-16:]):
            if (
                0 < unit - run[4] <= step
                and abs((first - run[2]) - (source - run[3])) <= _SLACK * step
            ):
                run[2], run[3], run[4] = first, source, unit
                run[5], run[6] = int(ends[row]), source + int(lengths[row])
                run[7] += 1
                break
        else:
            end = source + int(lengths[row])
            open_runs.append([first, source, first, source, unit, int(ends[row]), end, 1])
    return sorted(
        (run[0], run[1], min(run[5] - run[0], run[6] - run[1])) for run in open_runs if run[7] >= 2
    )


def _copy(document_id: int, stretch: Stretch) -> Copy:
    return Copy(
        start=stretch.paper_first,
        end=stretch.paper_end,
        source_key="",
        source_document_id=document_id,
        source_start=stretch.source_first,
        source_end=stretch.source_end,
        similarity=stretch.similarity,
        evidence="anchors",
        blocks=tuple((p, p + n, s, s + n) for p, s, n in stretch.blocks),
    )
