"""Find copied passages of a paper among stored passages with a similar SimHash fingerprint."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from simstore.model import Copy
from simstore.search.alignment import Stretch, aligned
from simstore.services.check.check_index import PassageIndex
from simstore.services.check.copies import FindOptions, FoundCopy
from simstore.services.check.counted_copies import UnitCopy
from simstore.services.check.paper_units import PaperUnits, source_units
from simstore.services.check.passage_lookup import NearPassages
from simstore.services.check.position_only import span_by_place
from simstore.storage.rows import chunks

_FINGERPRINT_BITS = 64
_BATCH = 1024


def aligned_passages(
    paper: PaperUnits,
    index: PassageIndex,
    near: NearPassages,
    spans: Sequence[tuple[int, int]],
    options: FindOptions,
) -> list[FoundCopy]:
    """Return the near passages that are as similar as asked, aligned text by text.

    Args:
        paper: The paper.
        index: The index; it has the texts.
        near: Pairs of passages.
        spans: The paper's passages.
        options: How to find copies.
    """
    found: list[FoundCopy] = []
    allowed = np.flatnonzero(options.allowed(near.document_ids))
    for rows in chunks(allowed.tolist(), _BATCH):
        texts = index.texts(np.unique(near.document_ids[rows]).tolist())
        kept = [row for row in rows if int(near.document_ids[row]) in texts]
        parts = [
            (number, start, texts[number][start:end])
            for number, start, end in (
                (int(near.document_ids[row]), int(near.starts[row]), int(near.ends[row]))
                for row in kept
            )
        ]
        sources = source_units(parts, paper.alphabet, index.normalization)
        for row, source in zip(kept, sources, strict=True):
            options.on_step()
            bounds = spans[int(near.places[row])]
            first, end = np.searchsorted(paper.units.starts, bounds).tolist()
            blocks = aligned(paper.symbols.text[first:end], source.symbols.text)
            matched = sum(size for _, _, size in blocks)
            if matched and 2 * matched >= options.moderate * (end - first + len(source.symbols)):
                moved = tuple((place + first, other, size) for place, other, size in blocks)
                found.append(FoundCopy(source, Stretch(moved)))
    return found


def named_passages(
    paper: PaperUnits,
    index: PassageIndex,
    near: NearPassages,
    spans: Sequence[tuple[int, int]],
    options: FindOptions,
) -> list[UnitCopy]:
    """Return the near passages of a store without texts, without the keys of their sources.

    Their similarity is what the distance of fingerprints stands for: cos(pi * distance / bits).

    Args:
        paper: The paper.
        index: The index.
        near: Pairs of passages.
        spans: The paper's passages.
        options: How to find copies.
    """
    found = []
    runs = paper.runs_before(index.winnowing)
    for row in np.flatnonzero(options.allowed(near.document_ids)).tolist():
        start, end = spans[int(near.places[row])]
        similarity = math.cos(math.pi * int(near.distances[row]) / _FINGERPRINT_BITS)
        copy = Copy(
            start=start,
            end=end,
            source_key="",
            source_document_id=int(near.document_ids[row]),
            source_start=int(near.starts[row]),
            source_end=int(near.ends[row]),
            similarity=similarity,
            evidence="simhash",
        )
        first, last = np.searchsorted(paper.units.starts, (start, end)).tolist()
        span = span_by_place(copy, float(runs[first]), float(runs[last]))
        found.append(UnitCopy(copy, (), span))
    return found
