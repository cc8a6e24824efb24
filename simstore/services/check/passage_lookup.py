"""Find stored passages whose SimHash fingerprints differ in at most 3 bits from a text's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simstore.errors import InvalidParameter
from simstore.fingerprint.passage_recipe import RADIUS, passage_fingerprints, segment_hashes
from simstore.services.open_store.open_store import Snapshot
from simstore.storage import passages
from simstore.text.located import located_units


@dataclass(frozen=True, slots=True)
class NearPassages:
    """Pairs of passages within the radius, by place in the text; shape (found,).

    Attributes:
        places: Which passage of the text, from 0; int64.
        document_ids: The document that has the other; int64.
        starts: Its first code point there; int32.
        ends: The one after its last; int32.
        distances: Bits in which the fingerprints differ, 0 to 3; int64.
    """

    places: NDArray[np.int64]
    document_ids: NDArray[np.int64]
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]
    distances: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.places)


def near_passages(
    snapshot: Snapshot, text: str, spans: NDArray[np.int32] | None = None
) -> NearPassages:
    """Return the stored passages whose fingerprints differ in at most 3 bits.

    All of them: of fingerprints within 3 bits, one of the four segments is equal.

    Args:
        snapshot: The store in a read transaction.
        text: The text whose passages are looked up.
        spans: Its passages, shape (n, 2); None: as the index cuts.

    Raises:
        InvalidParameter: The store has no passage index, or one without fingerprints.
        CorruptStore: The index is damaged.
    """
    recipe = snapshot.passages
    if recipe is None or not recipe.fingerprints:
        raise InvalidParameter(
            "this store keeps no fingerprints of passages; "
            "`simstore compact --drop-passages` and `simstore passages build --simhash` make them"
        )
    paper_spans = recipe.spans(text) if spans is None else spans
    words = passage_fingerprints(located_units(text, recipe.normalization), paper_spans)
    found = passages.postings(snapshot.connection, segment_hashes(words).ravel())
    document_ids = np.unique(found.documents)
    held = passages.passages_of(snapshot.connection, document_ids.tolist())
    # Passages that share a segment with one that is asked for.
    candidates = np.unique(np.stack((found.documents, found.starts), axis=1), axis=0)
    if not len(candidates):
        none = np.empty(0, np.int64)
        return NearPassages(none, none, none.astype(np.int32), none.astype(np.int32), none)
    bounds = np.searchsorted(candidates[:, 0], document_ids, side="right")
    firsts = np.concatenate(([0], bounds[:-1]))
    numbers: list[NDArray[np.int64]] = []
    others: list[NDArray[np.uint64]] = []
    places: list[NDArray[np.int32]] = []
    for number, first, end in zip(
        document_ids.tolist(), firsts.tolist(), bounds.tolist(), strict=True
    ):
        of_document, fingerprints = held[number]
        rows = np.flatnonzero(np.isin(of_document[:, 0], candidates[first:end, 1]))
        numbers.append(np.full(len(rows), number))
        others.append(fingerprints[rows])
        places.append(of_document[rows])
    stored, stored_spans = np.concatenate(others), np.concatenate(places)
    # A row a passage of the text: there are few beside what is stored.
    near = []
    for place, word in enumerate(words):
        distances = np.bitwise_count(stored ^ word)
        rows = np.flatnonzero(distances <= RADIUS)
        near.append((np.full(len(rows), place), rows, distances[rows].astype(np.int64)))
    places_of, chosen, distances_of = (np.concatenate(part) for part in zip(*near, strict=True))
    return NearPassages(
        places_of,
        np.concatenate(numbers)[chosen],
        stored_spans[chosen, 0],
        stored_spans[chosen, 1],
        distances_of,
    )
