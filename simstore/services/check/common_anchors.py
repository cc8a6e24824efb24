"""Choose which documents that have a common anchor may have a run of a checked paper.

A phrase that tens of thousands of documents have is an anchor of all of them. Few have around it
what the paper has. Where the index tells what stands around an anchor, only their texts are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.anchor_neighbours import MOST, SIDE_BITS, bits_around, bits_each
from simstore.fingerprint.winnowing import Winnowing
from simstore.services.check.check_index import AnchorPostings
from simstore.services.check.paper_units import PaperUnits


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
    def of(
        cls, paper: PaperUnits, winnowing: Winnowing, runs: Sequence[int], *, has_neighbours: bool
    ) -> Self:
        """Return the anchors of some runs.

        Args:
            paper: The paper.
            winnowing: How long grams and runs are.
            runs: Numbers of its windows.
            has_neighbours: Whether the index tells what stands around an anchor.
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
        masks = bits = np.zeros(len(places), np.uint16)
        if has_neighbours:
            each = bits_each(paper.units, grams, winnowing)[places]
            before = _known(grams.first[places] - windows.first[numbers], each)
            behind = _known(windows.end[numbers] - 1 - grams.last[places], each)
            masks = (before << SIDE_BITS | behind).astype(np.uint16)
            around = bits_around(paper.units, grams, winnowing)[places]
            bits = around.astype(np.uint16) & masks
        return cls(numbers, grams.hashes[places], masks, bits)

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
