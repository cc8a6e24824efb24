"""Choose which documents that have a common anchor may have a run of a checked paper.

A phrase that tens of thousands of documents have is an anchor of all of them. Few have around it
what the paper has. Where the index tells what stands around an anchor, only their texts are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.anchor_neighbours import MOST, SIDE_BITS, bits_each, neighbours
from simstore.fingerprint.winnowing import Winnowing
from simstore.services.check.check_index import AnchorPostings
from simstore.services.check.paper_units import PaperUnits

_BITS = np.uint64(2 * SIDE_BITS)


@dataclass(frozen=True, slots=True)
class WantedAnchors:
    """The anchors by which runs of a paper are found in documents, with what stands around them.

    Of the bits around an anchor a run knows those of the units that it has itself. Arrays of one
    length, a row for each place of an anchor in a run.

    Attributes:
        runs: The run, as its number among the paper's; int64.
        masks: Which bits the run knows; uint64.
        keys: The anchor's hash and those bits; uint64.
    """

    runs: NDArray[np.int64]
    masks: NDArray[np.uint64]
    keys: NDArray[np.uint64]

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
        masks = np.zeros(len(places), np.uint64)
        around = masks
        if has_neighbours:
            each = bits_each(paper.units, grams, winnowing)[places]
            before = _known(grams.first[places] - windows.first[numbers], each)
            behind = _known(windows.end[numbers] - 1 - grams.last[places], each)
            masks = (before << SIDE_BITS | behind).astype(np.uint64)
            around = _bits(neighbours(paper.units, grams, winnowing)[places])
        return cls(numbers, masks, grams.hashes[places] << _BITS | around & masks)

    def may_have(self, postings: AnchorPostings, runs: Sequence[int]) -> NDArray[np.bool_]:
        """Return which anchors of documents may be in one of some runs.

        Args:
            postings: The anchors.
            runs: Numbers of runs, of those given before.
        """
        asked = np.isin(self.runs, np.array(runs, np.int64))
        hashes, around = postings.hashes << _BITS, _bits(postings.lengths)
        # The largest number may be either of two.
        found: NDArray[np.bool_] = (postings.lengths == MOST) & np.isin(
            hashes, self.keys[asked] >> _BITS << _BITS
        )
        for mask in np.unique(self.masks[asked]):
            keys = self.keys[asked & (self.masks == mask)]
            found |= np.isin(hashes | around & mask, keys)
        return found


def _bits(lengths: NDArray[np.integer[Any]]) -> NDArray[np.uint64]:
    return (lengths - 1).astype(np.uint64)


def _known(units: NDArray[np.int64], each: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return which bits of a side are those of so many units, of so many bits each."""
    known: NDArray[np.int64] = (1 << np.minimum(units * each, SIDE_BITS)) - 1
    return known
