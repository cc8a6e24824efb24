"""Samples as they are looked up: with fingerprint, sketch, and the digest of their text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.channels import Sketching
from simstore.fingerprint.minhash import sketches as make_sketches
from simstore.fingerprint.shingle_sets import from_rows
from simstore.model import Document
from simstore.services.features.prepare import scanned_words
from simstore.services.open_store.state import State
from simstore.services.query.sentence_channel import FoundSentence
from simstore.services.query.simhash_channel import SimhashChannel, SimhashNeighbours
from simstore.storage.sketches import StoredSketch
from simstore.text.decoding import encode, text_digest


@dataclass(slots=True)
class ReadSample:
    """A sample with what is made of it: shingles and sketch only when they are asked for.

    Attributes:
        document: The sample.
        digest: That of its text.
        feature_count: Features that occur in its text.
        sketching: How its shingles and sketch are made.
        shingle_count: Its shingles, where it was sketched.
        near: What channel 1 found.
        agreeing: What channel 2 found, by the documents.
        sentences: Documents with a sentence of the sample, or one much like it.
    """

    document: Document
    digest: bytes
    feature_count: int
    sketching: Sketching
    shingle_count: int = 0
    near: SimhashNeighbours | None = None
    agreeing: Mapping[int, StoredSketch] = field(default_factory=dict)
    sentences: Mapping[int, FoundSentence] = field(default_factory=dict)
    known_sketch: NDArray[np.uint16] | None = None
    known_shingles: NDArray[np.uint64] | None = None

    @property
    def shingles(self) -> NDArray[np.uint64]:
        """The hashes of its shingles, ascending."""
        if self.known_shingles is None:
            self.known_shingles = self.sketching.sets([self.document.text]).row(0)
        return self.known_shingles

    @property
    def sketch(self) -> NDArray[np.uint16]:
        """Its sketch; zeros where it has no shingles."""
        if self.known_sketch is None:
            self.known_sketch = make_sketches(from_rows([self.shingles]))[0]
        return self.known_sketch


def read_samples(
    state: State,
    samples: Sequence[Document],
    neighbours: SimhashChannel | None,
    *,
    sketched: bool,
) -> tuple[list[ReadSample], NDArray[np.uint64] | None]:
    """Return what is made of samples, and their fingerprints; None: they need none.

    Args:
        state: What stands in the snapshot in which they are looked up.
        samples: The samples.
        neighbours: Knows the standing generation; None: fingerprints are not looked up.
        sketched: Make their sketches.
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
    if sketched:
        sizes, rows = sketching.sketched(texts, scanned)
        for one, size, row in zip(made, sizes.tolist(), rows, strict=True):
            one.shingle_count, one.known_sketch = size, row
    return made, words
