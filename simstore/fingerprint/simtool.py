"""The scheme ``simtool``: SimHash of a corpus's most frequent words, for a course assignment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simstore.errors import InvalidParameter
from simstore.fingerprint.feature_hash import generated_rows
from simstore.fingerprint.features import FeatureCounts, count_letters
from simstore.fingerprint.scheme import Scheme, SchemeRecord
from simstore.fingerprint.simhash import check_bits, fingerprints, pack, word_count
from simstore.fingerprint.stopwords import ENGLISH
from simstore.fingerprint.vocabulary import check_features
from simstore.text.decoding import encode


class SimtoolScheme(Scheme):
    """Words of ASCII letters; the N most frequent of the corpus; row i of a table for rank i.

    Args:
        features: Size N of the feature vector, at least 1.
        bits: Fingerprint length M, 1 to 128.
        hash_rows: 0 or 1, uint8, at least N rows of at least M bits; None: a built-in table.
        stopwords: Lower-cased words that are no features; None: a built-in English list.
    """

    name = "simtool"
    version = 1
    corpus = "ranks"
    asked_channels = ("simhash",)

    def __init__(
        self,
        features: int = 1000,
        bits: int = 64,
        *,
        hash_rows: NDArray[np.uint8] | None = None,
        stopwords: frozenset[bytes] | None = None,
    ) -> None:
        check_features(features)
        check_bits(bits)
        rows = generated_rows(features) if hash_rows is None else hash_rows
        if rows.shape[0] < features or rows.shape[1] < bits:
            raise InvalidParameter(
                f"the hash table has {rows.shape[0]} rows of {rows.shape[1]} bits; "
                f"N = {features} and M = {bits} need more"
            )
        self.bits = bits
        self.ranked_features = features
        self.stopwords = ENGLISH if stopwords is None else stopwords
        self._rows = rows[:features, :bits]
        # Filled up at the end: the first bit of a row is the first of its words.
        filled = np.pad(self._rows, ((0, 0), (0, 64 * word_count(bits) - bits)))
        self._hashes = pack(filled.astype(bool))

    @classmethod
    def from_record(cls, record: SchemeRecord) -> SimtoolScheme:
        """Return the scheme that a store keeps.

        Raises:
            ValueError: The hash table is not of the size that the options say.
        """
        features = int(record.parameters["features"])
        table = np.frombuffer(record.hash_table or b"", np.uint8)
        packed = table.reshape(features, (record.bits + 7) // 8)
        return cls(
            features,
            record.bits,
            hash_rows=np.unpackbits(packed, axis=1, count=record.bits),
            stopwords=frozenset(record.stopwords.split()),
        )

    def count(
        self,
        texts: Sequence[str],
        metadata: Sequence[Mapping[str, Any]] | None = None,  # noqa: ARG002 - it reads none
    ) -> FeatureCounts:
        """Count the non-stop words of each text."""
        return count_letters([encode(text) for text in texts], self.stopwords)

    def fingerprints(
        self, counts: FeatureCounts, standing: NDArray[np.int64] | None = None
    ) -> NDArray[np.uint64]:
        """Make a fingerprint of each row; columns without a rank count for nothing."""
        if standing is None:
            raise InvalidParameter("the scheme simtool needs the ranks of a corpus")
        rows = standing[counts.columns]
        ranked = rows >= 0
        kept_before = np.concatenate(([0], np.cumsum(ranked, dtype=np.int64)))
        return fingerprints(
            kept_before[counts.offsets],
            rows[ranked],
            counts.counts[ranked],
            self._hashes,
            self.bits,
        )

    def parameters(self) -> dict[str, Any]:
        """Return the options: the size of the feature vector."""
        return {"features": self.ranked_features}

    def stopword_lines(self) -> bytes:
        """Return the stop words, sorted, one a line."""
        return b"\n".join(sorted(self.stopwords))

    def packed_hash_table(self) -> bytes:
        """Return the first N rows of M bits, packed."""
        return np.packbits(self._rows, axis=1).tobytes()
