"""The base class of schemes: named, versioned definitions of how a text becomes a fingerprint.

A fingerprint is comparable only with one made by the same scheme. A store keeps the whole scheme
as a :class:`SchemeRecord`, with the fingerprints of known texts (known answers), and refuses to
go on where these texts get other fingerprints.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.features import FeatureCounts, count_scanned
from simstore.fingerprint.simhash import to_hex, to_integers
from simstore.fingerprint.vocabulary import rank_array, rank_features
from simstore.fingerprint.weights import idf_weights
from simstore.text.normalization import DEFAULT, Normalization
from simstore.text.scanning import Scanned

if TYPE_CHECKING:
    from simstore.fingerprint.one_text import PreparedText

Corpus = Literal["none", "ranks", "frequencies"]

KNOWN_TEXTS = (
    "",
    "The quick brown fox jumps over the lazy dog; the dog sleeps on.",
    "Don't count 42 sheep at 3.14 a.m. -- re-count them!\r\nÜber-naïve CAFÉ ﬁnds, x² ≥ 0 ?",
    "搜索引擎需要判断抓取的网页是否已经收录。搜索引擎,網頁;ｆｕｌｌ　ｗｉｄｔｈ.",
    "カタカナとひらがな 한국어 문장 ประโยคภาษาไทย Ελληνικά кириллица עברית हिन्दी",
    "one two two three three three four four four four " * 40,
    "\udcff\udcfe raw bytes \x00 and \U0001f600 \U0001f600",
)


@dataclass(frozen=True, slots=True)
class SchemeRecord:
    """A scheme as stored in a store.

    Attributes:
        name: ``simtool`` or ``web``.
        version: Version of the scheme, from 1.
        bits: Fingerprint length M, 1 to 128.
        parameters: All options, JSON values.
        stopwords: Features that do not count, one a line.
        hash_table: Packed bits, a row a rank, ``ceil(M / 8)`` bytes each; None: hashed features.
        known_answers: Fingerprints of the scheme's known documents, hexadecimal.
    """

    name: str
    version: int
    bits: int
    parameters: Mapping[str, Any]
    stopwords: bytes
    hash_table: bytes | None
    known_answers: tuple[str, ...]

    @property
    def label(self) -> str:
        """Return name and version, as in ``web/1``."""
        return f"{self.name}/{self.version}"


class Scheme(ABC):
    """A definition of fingerprints: counts the features of texts and hashes the counts.

    Attributes:
        bits: Fingerprint length M.
        corpus: What a fingerprint depends on besides its document: ``none``; ``ranks`` of the
            features in the store's vocabulary; ``frequencies``, the documents that have each.
        reads_metadata: Whether features are made of metadata fields.
        ranked_features: Size N of the feature vocabulary whose ranks the fingerprints depend on;
            0 where they depend on the document alone.
        normalization: The form of texts that count as one.
        least_features: Texts of fewer features are too short to be judged by their likeness.
        asked_channels: The channels that a query looks by unless it says otherwise; none: all that
            the store has.
    """

    name: str
    version: int
    bits: int
    corpus: Corpus = "none"
    reads_metadata: bool = False
    ranked_features: int = 0
    normalization: Normalization = DEFAULT
    least_features: int = 0
    asked_channels: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Return name and version, as in ``web/1``."""
        return f"{self.name}/{self.version}"

    @property
    def depends_on_corpus(self) -> bool:
        """Return whether a fingerprint depends on the other documents of the store."""
        return self.corpus != "none"

    @abstractmethod
    def count(
        self, texts: Sequence[str], metadata: Sequence[Mapping[str, Any]] | None = None
    ) -> FeatureCounts:
        """Count the features of each text.

        Args:
            texts: The texts.
            metadata: The metadata of each text, for schemes that read them; None: they have none.
        """

    def scan(self, texts: Sequence[str]) -> Scanned | None:  # noqa: ARG002 - for others
        """Return the words of texts, compiled, where they are both features and tokens.

        Returns:
            What :meth:`count_words` counts and sketches are made of; None where it is not worth
            it, or features are made of something else.
        """
        return None

    def prepared_alone(
        self,
        text: str,  # noqa: ARG002 - for others
        encoded: bytes,  # noqa: ARG002
        shingle: int,  # noqa: ARG002
    ) -> PreparedText | None:
        """Return what a store keeps of one text, made at once; None: it is prepared as a batch.

        Args:
            text: The text.
            encoded: Its bytes.
            shingle: Words of a shingle of its sketch.
        """
        return None

    def count_words(self, scanned: Scanned) -> FeatureCounts:
        """Count the features of texts by what :meth:`scan` returned of them."""
        return count_scanned(scanned)

    def token_counts(self, counts: FeatureCounts) -> NDArray[np.int64]:
        """Return how many features each text itself has, with repetitions, shape (documents,)."""
        return counts.token_counts()

    @abstractmethod
    def fingerprints(
        self, counts: FeatureCounts, standing: NDArray[np.int64] | None = None
    ) -> NDArray[np.uint64]:
        """Make a fingerprint of each row of counts.

        Args:
            counts: Feature counts; terms may be missing where ``standing`` holds ranks.
            standing: What the corpus says of each column, int64: its rank, -1 for none
                (``ranks``), or its weight by :func:`~simstore.fingerprint.weights.idf_weights`
                (``frequencies``). For corpus-dependent schemes only.

        Returns:
            uint64, shape (documents, ceil(M / 64)).
        """

    def fingerprinted(
        self,
        texts: Sequence[str],
        metadata: Sequence[Mapping[str, Any]] | None = None,
        scanned: Scanned | None = None,
    ) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Make fingerprints of texts whose feature counts nobody wants.

        For schemes whose fingerprints depend on the document alone.

        Args:
            texts: The texts.
            metadata: As for :meth:`count`.
            scanned: What :meth:`scan` returned of the texts.

        Returns:
            What :meth:`fingerprints` and :meth:`token_counts` return.
        """
        counts = self.count(texts, metadata) if scanned is None else self.count_words(scanned)
        return self.fingerprints(counts), self.token_counts(counts)

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """Return all options of the recipe, JSON values."""

    def stopword_lines(self) -> bytes:
        """Return the features that do not count, one a line."""
        return b""

    def packed_hash_table(self) -> bytes | None:
        """Return the packed hash table, where the recipe has one."""
        return None

    def known_documents(self) -> Sequence[tuple[str, Mapping[str, Any]]]:
        """Return texts, with their metadata, that show whether the recipe is the same."""
        return [(text, {}) for text in KNOWN_TEXTS]

    def known_answers(self) -> tuple[str, ...]:
        """Return the fingerprints of :meth:`known_documents`, as if they were the corpus."""
        texts, metadata = zip(*self.known_documents(), strict=True)
        counts = self.count(texts, metadata)
        width = len(counts.terms)
        standing = None
        if self.corpus == "ranks":
            totals = np.bincount(counts.columns, counts.counts, width).astype(np.int64)
            triples = [
                (t, i, int(n)) for i, (t, n) in enumerate(zip(counts.terms, totals, strict=True))
            ]
            standing = rank_array(rank_features(triples, self.ranked_features), width)
        elif self.corpus == "frequencies":
            standing = idf_weights(np.bincount(counts.columns, minlength=width), len(texts))
        values = to_integers(self.fingerprints(counts, standing))
        return tuple(to_hex(value, self.bits) for value in values)

    def record(self) -> SchemeRecord:
        """Return the scheme as a store keeps it."""
        return SchemeRecord(
            self.name,
            self.version,
            self.bits,
            self.parameters(),
            self.stopword_lines(),
            self.packed_hash_table(),
            self.known_answers(),
        )
