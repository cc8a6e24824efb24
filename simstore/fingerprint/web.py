"""The scheme ``web``: words and character 2-grams of any language, hashed; no corpus needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simstore.errors import InvalidParameter
from simstore.fingerprint.feature_hash import xxh3
from simstore.fingerprint.features import FeatureCounts, count_features
from simstore.fingerprint.scheme import Scheme, SchemeRecord, check_bits
from simstore.fingerprint.simhash import fingerprints, signs_of_hashes
from simstore.fingerprint.weights import SCALE, WEIGHTINGS, integer_weights
from simstore.text.characters import CHARACTER, class_table
from simstore.text.words import terms


class WebScheme(Scheme):
    """Normalized terms, hashed with XXH3 and weighted by their count in the document.

    Args:
        bits: Fingerprint length M, 1 to 128.
        weights: ``log-tf`` (words weigh 1 + ln of their count, character 2-grams their count),
            ``tf`` (all weigh their count) or ``uniform`` (all weigh 1).
        stopwords: Normalized terms that are no features.
        tie: ``zero`` or ``one``: the bit that a zero sum gives.
    """

    name = "web"
    version = 1

    def __init__(
        self,
        bits: int = 64,
        *,
        weights: str = "log-tf",
        stopwords: frozenset[bytes] = frozenset(),
        tie: str = "zero",
    ) -> None:
        check_bits(bits)
        if weights not in WEIGHTINGS:
            raise InvalidParameter(f"weights {weights!r}: choose one of {', '.join(WEIGHTINGS)}")
        if tie not in ("zero", "one"):
            raise InvalidParameter(f"tie {tie!r}: choose zero or one")
        self.bits = bits
        self.weights = weights
        self.stopwords = stopwords
        self.tie = tie

    @classmethod
    def from_record(cls, record: SchemeRecord) -> WebScheme:
        """Return the scheme that a store keeps."""
        return cls(
            record.bits,
            weights=record.parameters["weights"],
            stopwords=frozenset(record.stopwords.split(b"\n")) - {b""},
            tie=record.parameters["tie"],
        )

    def count(self, texts: Sequence[str]) -> FeatureCounts:
        """Count the terms of each text."""
        return count_features((iter((terms(text),)) for text in texts), self.stopwords)

    def fingerprints(
        self,
        counts: FeatureCounts,
        ranks: NDArray[np.int64] | None = None,  # noqa: ARG002 - the recipe needs none
    ) -> NDArray[np.uint64]:
        """Make a fingerprint of each row from its terms."""
        weights = integer_weights(counts.counts, self.weights)
        if self.weights == "log-tf":
            by_character = np.array([_is_character_term(term) for term in counts.terms], bool)
            weights = np.where(by_character[counts.columns], counts.counts * SCALE, weights)
        signs = signs_of_hashes(xxh3(counts.terms, self.bits), self.bits)
        return fingerprints(
            counts.offsets, counts.columns, weights, signs, 1 if self.tie == "one" else 0
        )

    def parameters(self) -> dict[str, Any]:
        """Return the options: weights and tie."""
        return {"weights": self.weights, "tie": self.tie, "feature_hash": "xxh3"}

    def stopword_lines(self) -> bytes:
        """Return the stop words, sorted, one a line."""
        return b"\n".join(sorted(self.stopwords))


def _is_character_term(term: bytes) -> bool:
    if term[0] < 0x80:
        return False
    return bool(class_table()[ord(term.decode("utf-8", "surrogatepass")[0])] == CHARACTER)
