"""Compute the fingerprints, shingles and MinHash sketches of query texts (samples)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.channels import WORD_SKETCHES
from simstore.fingerprint.minhash import sketches as make_sketches
from simstore.fingerprint.shingle_sets import from_rows
from simstore.fingerprint.sketching import Sketching
from simstore.model import Document
from simstore.services.channels.fingerprint_search import FingerprintSearch, SimhashNeighbours
from simstore.services.features.prepare import scanned_words
from simstore.services.open_store.state import State
from simstore.text.decoding import encode, text_digest


@dataclass(slots=True)
class ReadSample:
    """A sample with its derived data; shingles and sketch are computed on demand.

    Attributes:
        document: The sample.
        digest: That of its text.
        feature_count: Features that occur in its text.
        sketching: How its shingles are made.
        near: The fingerprints within the radius.
        sizes: By the channels of sketches that look, the size of its shingle set.
        sketches: And its sketch.
        found: By the channels but ``simhash`` that looked, the documents, and what was found.
        title_features: Of a title that was looked up as one, up to how many features a document is
            a title too; else 0.
    """

    document: Document
    digest: bytes
    feature_count: int
    sketching: Sketching
    near: SimhashNeighbours | None = None
    sizes: dict[str, int] = field(default_factory=dict)
    sketches: dict[str, NDArray[Any]] = field(default_factory=dict)
    found: dict[str, Mapping[int, Any]] = field(default_factory=dict)
    title_features: int = 0
    known_shingles: NDArray[np.uint64] | None = None

    @property
    def shingles(self) -> NDArray[np.uint64]:
        """The hashes of its shingles, ascending."""
        if self.known_shingles is None:
            self.known_shingles = self.sketching.sets([self.document.text]).row(0)
        return self.known_shingles

    @property
    def sketch(self) -> NDArray[np.uint16]:
        """The sketch of its shingles; zeros where it has none."""
        if WORD_SKETCHES not in self.sketches:
            self.sketches[WORD_SKETCHES] = make_sketches(from_rows([self.shingles]))[0]
        return self.sketches[WORD_SKETCHES]

    @property
    def candidates(self) -> set[int]:
        """The documents that channels other than ``simhash`` found."""
        return set().union(*self.found.values())


def read_samples(
    state: State,
    samples: Sequence[Document],
    neighbours: FingerprintSearch | None,
    *,
    channels: Collection[str],
) -> tuple[list[ReadSample], NDArray[np.uint64] | None]:
    """Return samples with their derived data, and their fingerprints; None: they need none.

    Args:
        state: What stands in the snapshot in which they are looked up.
        samples: The samples.
        neighbours: Knows the standing generation; None: fingerprints are not looked up.
        channels: Those of sketches make their sketches.
    """
    scheme, sketching = state.scheme, state.channels.sketching
    texts = [sample.text for sample in samples]
    metadata = [sample.metadata for sample in samples]
    encoded = [encode(text) for text in texts]
    scanned = scanned_words(scheme, texts, encoded)
    words = None
    if neighbours is not None and not scheme.depends_on_corpus:
        words, feature_counts = scheme.fingerprinted(texts, metadata, scanned)
    else:
        counts = scheme.count(texts, metadata) if scanned is None else scheme.count_words(scanned)
        feature_counts = scheme.token_counts(counts)
        if neighbours is not None:
            words = neighbours.fingerprints(counts)
    made = [
        ReadSample(
            sample,
            text_digest(data),
            feature_count,
            sketching,
        )
        for sample, data, feature_count in zip(
            samples, encoded, feature_counts.tolist(), strict=True
        )
    ]
    for recipe in state.channels.sketched:
        if recipe.name in channels:
            sizes, rows = recipe.sketching.sketched(texts, scanned)
            for one, size, row in zip(made, sizes.tolist(), rows, strict=True):
                one.sizes[recipe.name], one.sketches[recipe.name] = size, row
    return made, words
