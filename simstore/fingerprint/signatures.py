"""Signatures of a batch of texts: fingerprints, sketches and their sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.channels import Channels
from simstore.fingerprint.scheme import Scheme

# Bytes a character of texts that are looked at as words alone.
NARROW = 1.1


@dataclass(frozen=True, slots=True)
class Signatures:
    """What is made of a batch of texts.

    Attributes:
        words: Fingerprints, shape (texts, ceil(M / 64)); None without the channel simhash.
        feature_counts: Features of each text, with repetitions, int64, shape (texts,).
        shingle_counts: Distinct shingles of each, int64, shape (texts,).
        sketches: uint16, shape (texts, 128); None without the channel minhash.
    """

    words: NDArray[np.uint64] | None
    feature_counts: NDArray[np.int64]
    shingle_counts: NDArray[np.int64]
    sketches: NDArray[np.uint16] | None


def signatures(
    scheme: Scheme, channels: Channels, texts: Sequence[str], byte_count: int
) -> Signatures:
    """Make the signatures of texts, by a scheme whose fingerprints depend on the text alone.

    Args:
        scheme: The scheme.
        channels: Which there are.
        texts: The texts.
        byte_count: Bytes of all of them, UTF-8.
    """
    # Few bytes beyond one a character: hardly any script without blanks between words.
    narrow = byte_count <= NARROW * sum(map(len, texts))
    scanned = scheme.scan(texts) if narrow else None
    words, feature_counts = scheme.fingerprinted(texts, None, scanned)
    if channels.minhash:
        sizes, made = channels.sketching.sketched(texts, scanned)
        return Signatures(words if channels.simhash else None, feature_counts, sizes, made)
    sizes = channels.sketching.sets(texts).sizes()
    return Signatures(words, feature_counts, sizes, None)
