"""Verify matches: measure how much of a query text and a stored document is the same.

From the text where the store keeps it, exactly; else from the sketch, as an estimate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.minhash import estimates
from simstore.fingerprint.sketching import unpack_sketches
from simstore.search.resemblance import Overlap, estimated_overlap, overlap
from simstore.services.features import feature_counts
from simstore.services.open_store.open_store import Snapshot
from simstore.storage.rows import chunks
from simstore.storage.sketches import WORDS, StoredSketch

_BATCH_DOCUMENTS = 256


class Verifier:
    """Compares samples with stored documents, in one snapshot of a store."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def overlaps(
        self,
        shingles: NDArray[np.uint64],
        sketch: NDArray[np.uint16],
        digests: Mapping[int, bytes],
        known: Mapping[int, StoredSketch],
    ) -> dict[int, Overlap]:
        """Return the overlap of a sample with documents; those without text and sketch are missing.

        Args:
            shingles: The sample's shingle set, ascending, distinct.
            sketch: Its sketch, shape (128,).
            digests: The documents, and the digest of each; equal texts are looked at once.
            known: Sketches of documents that were read already.
        """
        if self._snapshot.settings.text_kept:
            return self._exact(shingles, digests)
        rows = dict(known)
        missing = [number for number in digests if number not in rows]
        rows |= WORDS.of_documents(self._snapshot.connection, self._snapshot.scheme_id, missing)
        return self._estimated(shingles, sketch, [rows[n] for n in digests if n in rows])

    def _exact(
        self, shingles: NDArray[np.uint64], digests: Mapping[int, bytes]
    ) -> dict[int, Overlap]:
        # One document of each digest stands for all.
        document_of = {digest: number for number, digest in digests.items()}
        found: dict[bytes, Overlap] = {}
        for part in chunks(list(document_of), _BATCH_DOCUMENTS):
            sets = self._shingles({digest: document_of[digest] for digest in part})
            found |= {digest: overlap(shingles, held) for digest, held in sets.items()}
        return {number: found[digest] for number, digest in digests.items() if digest in found}

    def read_ahead(self, document_of: Mapping[bytes, int]) -> None:
        """Read the texts that will be compared with samples, all at once.

        Args:
            document_of: Their digests, and a document that has each.
        """
        for part in chunks(list(document_of), _BATCH_DOCUMENTS):
            self._shingles({digest: document_of[digest] for digest in part})

    def _shingles(self, document_of: Mapping[bytes, int]) -> dict[bytes, NDArray[np.uint64]]:
        """Return the shingle sets of texts by their digests, given a document that has each."""
        found = self._snapshot.store.shingles(self._snapshot, document_of)
        missing = {n: digest for digest, n in document_of.items() if digest not in found}
        if missing:
            texts = feature_counts.stored_texts(self._snapshot, list(missing))
            sets = self._snapshot.channels.sketching.sets(texts.values())
            made = {missing[number]: sets.row(place) for place, number in enumerate(texts)}
            self._snapshot.store.keep_shingles(self._snapshot, made)
            found |= made
        return found

    def _estimated(
        self,
        shingles: NDArray[np.uint64],
        sketch: NDArray[np.uint16],
        rows: Sequence[StoredSketch],
    ) -> dict[int, Overlap]:
        judged = [row for row in rows if row.packed] if len(shingles) else []
        found = {row.document_id: estimated_overlap(0.0, 0, 0) for row in rows}
        try:
            many = unpack_sketches([row.packed for row in judged])
        except ValueError as error:
            raise self._snapshot.corrupt(str(error)) from error
        for row, estimate in zip(judged, estimates(many, sketch).tolist(), strict=True):
            found[row.document_id] = estimated_overlap(estimate, len(shingles), row.size)
        return found
