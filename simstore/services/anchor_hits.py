"""Hits of a paper's grams in sources, and the texts around them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from simstore.search.chains import Hits
from simstore.services.check_index import PassageIndex, Postings
from simstore.services.checked_text import PaperUnits, SourceUnits, source_units
from simstore.storage.documents import chunks

_BATCH_PARTS = 2048
# Characters before and after a hit that are looked at.
_MARGIN = 160


def hits_of(paper: PaperUnits, postings: Postings) -> tuple[Hits, NDArray[np.int64]]:
    """Return a hit for each place of an anchor's hash in the paper, and the anchors' lengths.

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


def parts_around(
    paper: PaperUnits, index: PassageIndex, hits: Hits
) -> Iterator[tuple[Sequence[int], list[SourceUnits]]]:
    """Yield the rows of hits, by source, with the part of the source around each.

    A part holds every run of t units that has the hit's place in it.
    """
    order = np.argsort(hits.documents, kind="stable")
    for rows in chunks(order.tolist(), _BATCH_PARTS):
        texts = index.texts(np.unique(hits.documents[rows]).tolist())
        kept = [row for row in rows if int(hits.documents[row]) in texts]
        cut = [_cut(hits, row, texts) for row in kept]
        parts = source_units(cut, paper.alphabet, index.normalization)
        narrow = [
            number
            for number, row in enumerate(kept)
            if not _is_wide_enough(
                index, parts[number], int(hits.sources[row]), len(texts[cut[number][0]])
            )
        ]
        wide = [(cut[n][0], 0, texts[cut[n][0]]) for n in narrow]
        for number, part in zip(
            narrow, source_units(wide, paper.alphabet, index.normalization), strict=True
        ):
            parts[number] = part
        yield kept, parts


def _cut(hits: Hits, row: int, texts: dict[int, str]) -> tuple[int, int, str]:
    document_id, start = int(hits.documents[row]), int(hits.sources[row])
    first = max(0, start - _MARGIN)
    return document_id, first, texts[document_id][first : start + 2 * _MARGIN]


def _is_wide_enough(index: PassageIndex, part: SourceUnits, start: int, size: int) -> bool:
    """Return whether a part has a run of t units on both sides of a hit, or is at an end."""
    winnowing = index.winnowing
    # One unit more: a word at the edge may have been cut.
    needed = max(winnowing.run_words, winnowing.run_characters) + 1
    unit = int(part.unit_at(np.array([start], np.int64))[0])
    return (unit >= needed or part.offset == 0) and (
        len(part.symbols) - unit >= needed or part.offset + len(part.text) == size
    )
