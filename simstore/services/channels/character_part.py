"""Search by sketches of runs of characters, and verify what is found by the texts themselves.

What agrees in a band is a candidate. The sketches tell about how much it resembles the sample; what
may be enough is compared by its text where the store keeps texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.characters import estimated_resemblances
from simstore.fingerprint.sketching import unpack_sketches
from simstore.search.resemblance import overlap
from simstore.services.channels.samples import ReadSample
from simstore.services.channels.sketch_part import SketchPart
from simstore.services.channels.sketch_search import SketchSearch
from simstore.services.features import feature_counts
from simstore.services.open_store.open_store import Snapshot
from simstore.storage.rows import chunks
from simstore.storage.sketches import StoredSketch

# With a smaller share of their runs in common, texts may just be on one subject.
LEAST_RESEMBLANCE = 0.2
# An estimate is so far from the truth once in 30,000 times, at that share.
LEAST_ESTIMATE = 0.1
_BATCH_DOCUMENTS = 256


class CharacterPart(SketchPart):
    """The store part of the channel ``characters``: sketches, and a search that verifies."""

    def search(self, snapshot: Snapshot) -> CharacterSearch:
        """Return a search that finds what resembles, not all that agrees in a band."""
        return CharacterSearch(snapshot, self.name)


class CharacterSearch:
    """A search by runs of characters in one snapshot of a store.

    Args:
        snapshot: The store in a transaction.
        name: The channel.
    """

    def __init__(self, snapshot: Snapshot, name: str) -> None:
        self._snapshot = snapshot
        self._name = name
        self._sketching = snapshot.channels.recipe(name).sketching
        self._bands = SketchSearch(snapshot, name)

    def candidates(self, samples: Sequence[ReadSample]) -> list[Mapping[int, Any]]:
        """Return the documents that resemble each sample, each with its resemblance.

        Exact where the store keeps texts, else an estimate; 0.2 and more.
        """
        found = [
            self._likely(sample, stored)
            for sample, stored in zip(samples, self._bands.candidates(samples), strict=True)
        ]
        if not self._snapshot.settings.text_kept:
            return [_enough(estimated) for estimated in found]
        asked = [place for place, estimated in enumerate(found) if estimated]
        sets = self._sketching.sets([samples[place].document.text for place in asked])
        result: list[Mapping[int, Any]] = [{}] * len(samples)
        for row, place in enumerate(asked):
            result[place] = _enough(self._exact(sets.row(row), list(found[place])))
        return result

    def _likely(self, sample: ReadSample, stored: Mapping[int, StoredSketch]) -> dict[int, float]:
        """Return the candidates whose sketches may be like enough, with the estimate."""
        if not stored:
            return {}
        try:
            many = unpack_sketches([row.packed for row in stored.values()], self._sketching)
        except ValueError as error:
            raise self._snapshot.corrupt(str(error)) from error
        estimates = estimated_resemblances(many, sample.sketches[self._name])
        return {
            number: estimate
            for number, estimate in zip(stored, estimates.tolist(), strict=True)
            if estimate >= LEAST_ESTIMATE
        }

    def _exact(self, own: NDArray[np.uint64], numbers: Sequence[int]) -> dict[int, float]:
        found: dict[int, float] = {}
        for part in chunks(numbers, _BATCH_DOCUMENTS):
            texts = feature_counts.stored_texts(self._snapshot, part)
            sets = self._sketching.sets(texts.values())
            for row, number in enumerate(texts):
                found[number] = overlap(own, sets.row(row)).resemblance
        return found


def _enough(resemblances: Mapping[int, float]) -> dict[int, float]:
    return {n: share for n, share in resemblances.items() if share >= LEAST_RESEMBLANCE}
