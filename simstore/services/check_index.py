"""What a check asks of a passage index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.winnowing import Winnowing
from simstore.text.normalization import Normalization


@dataclass(frozen=True, slots=True)
class Postings:
    """Anchors that were found by their hashes; arrays of one length.

    Attributes:
        hashes: uint64.
        documents: The document that has it; int64.
        starts: First character of the anchor in the document's text; int64.
        lengths: Its characters; int64.
    """

    hashes: NDArray[np.uint64]
    documents: NDArray[np.int64]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.hashes)

    def of(self, chosen: NDArray[np.bool_]) -> Postings:
        """Return some of them, by a mask."""
        return Postings(
            self.hashes[chosen],
            self.documents[chosen],
            self.starts[chosen],
            self.lengths[chosen],
        )


class PassageIndex(Protocol):
    """A passage index in one snapshot of a store."""

    @property
    def normalization(self) -> Normalization:
        """The form in which units are compared."""

    @property
    def winnowing(self) -> Winnowing:
        """How long grams and runs are."""

    @property
    def text_kept(self) -> bool:
        """Whether the store has the texts."""

    def counts(self, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return how many anchors each of these hashes has; they are distinct and ascending."""

    def postings(self, hashes: NDArray[np.uint64]) -> Postings:
        """Return the anchors with these hashes, all of them."""

    def texts(self, document_ids: Sequence[int]) -> dict[int, str]:
        """Return the texts of documents, those that are kept."""
