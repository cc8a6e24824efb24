"""Read the passage index during a paper check: indexed n-grams (anchors), passages and texts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from simstore.errors import NotFound
from simstore.fingerprint.passage_recipe import PassageRecipe
from simstore.model.documents import SourceFacts
from simstore.services.check.passage_lookup import NearPassages, near_passages
from simstore.services.features.feature_counts import stored_texts
from simstore.services.open_store.open_store import Snapshot
from simstore.storage import documents, passages
from simstore.storage.passages import AnchorPostings


class PassageIndex(ABC):
    """A passage index: that of a store in one snapshot, or one of papers in memory.

    Args:
        recipe: How an index is made of a text.
        text_kept: The texts are stored.
        has_sentences: Edited sentences can be looked up, and verified by the texts.

    Attributes:
        normalization: The form in which units are compared.
        winnowing: The lengths of n-grams and of the runs that are sure to be found.
        text_kept: As given.
        has_sentences: As given.
    """

    def __init__(self, recipe: PassageRecipe, *, text_kept: bool, has_sentences: bool) -> None:
        self._recipe = recipe
        self.normalization = recipe.normalization
        self.winnowing = recipe.winnowing
        self.text_kept = text_kept
        self.has_sentences = has_sentences

    def spans(self, text: str) -> NDArray[np.int32]:
        """Return the passages of a text as the index cuts them, shape (n, 2)."""
        return self._recipe.spans(text)

    def sentences_of(self, text: str) -> NDArray[np.int32]:
        """Return the sentences of a text, shape (n, 2)."""
        return self._recipe.sentence_spans(text)

    def sentence_spans(self, texts: Mapping[int, str]) -> dict[int, NDArray[np.int32]]:
        """Return the sentences of documents, each of shape (n, 2), from their texts.

        Raises:
            CorruptStore: The spans that are stored are damaged.
        """
        if self._recipe.cut == "sentences":
            return self.indexed_spans(list(texts))
        return {number: self._recipe.sentence_spans(text) for number, text in texts.items()}

    @abstractmethod
    def indexed_spans(self, document_ids: Sequence[int]) -> dict[int, NDArray[np.int32]]:
        """Return the passages of documents as they are indexed, each of shape (n, 2)."""

    @abstractmethod
    def postings(self, hashes: NDArray[np.uint64], most: int | None = None) -> AnchorPostings:
        """Return the anchors with these hashes; those with more than ``most`` are left out."""

    @abstractmethod
    def texts(self, document_ids: Sequence[int]) -> dict[int, str]:
        """Return the texts of documents that the store keeps."""

    @abstractmethod
    def keys(self, document_ids: Sequence[int]) -> dict[int, bytes]:
        """Return the keys of documents."""

    @abstractmethod
    def facts(self, document_ids: Sequence[int]) -> dict[int, SourceFacts]:
        """Return what documents tell of themselves."""

    def near(self, text: str, spans: NDArray[np.int32]) -> NearPassages:
        """Return the stored passages whose fingerprints are near those of a text's passages.

        Raises:
            NotImplementedError: The index keeps no fingerprints of passages.
        """
        raise NotImplementedError


class StoredPassages(PassageIndex):
    """The passage index of a store, in one snapshot.

    Raises:
        NotFound: The store has no passage index, or it is not finished.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        if snapshot.passages is None:
            remedy = (
                "`simstore passages build` makes it"
                if snapshot.settings.text_kept
                else "it keeps no texts to make it from: ingest the sources into a new store with "
                "--passages"
            )
            raise NotFound(f"this store has no passage index; {remedy}")
        if not snapshot.settings.passages_complete:
            raise NotFound(
                "the passage index of this store is not finished; `simstore passages build` goes on"
            )
        super().__init__(
            snapshot.passages,
            text_kept=snapshot.settings.text_kept,
            has_sentences=snapshot.finds_sentences,
        )
        self._snapshot = snapshot

    def postings(self, hashes: NDArray[np.uint64], most: int | None = None) -> AnchorPostings:
        """Return the anchors with these hashes; those with more than ``most`` are left out."""
        return passages.postings(self._snapshot.connection, hashes, most)

    def indexed_spans(self, document_ids: Sequence[int]) -> dict[int, NDArray[np.int32]]:
        """Return the passages of documents as they are indexed, each of shape (n, 2).

        Raises:
            CorruptStore: The spans that are stored are damaged.
        """
        return passages.spans_of(self._snapshot.connection, document_ids)

    def near(self, text: str, spans: NDArray[np.int32]) -> NearPassages:
        """Return the stored passages whose fingerprints are near those of a text's passages.

        Raises:
            InvalidParameter: The index has no fingerprints.
        """
        return near_passages(self._snapshot, text, spans)

    def texts(self, document_ids: Sequence[int]) -> dict[int, str]:
        """Return the texts of documents that the store keeps.

        Raises:
            CorruptStore: A kept text is damaged.
        """
        return stored_texts(self._snapshot, document_ids)

    def keys(self, document_ids: Sequence[int]) -> dict[int, bytes]:
        """Return the keys of documents."""
        return documents.keys_of(self._snapshot.connection, document_ids)

    def facts(self, document_ids: Sequence[int]) -> dict[int, SourceFacts]:
        """Return what documents tell of themselves."""
        return documents.source_facts_of(self._snapshot.connection, document_ids)
