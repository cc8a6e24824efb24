"""Count the terms of stored documents, and make term vectors of them for similarity measures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import count

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.features import FeatureCounts
from simstore.model import Progress
from simstore.search.likeness import TermVectors, plain_vectors, term_vectors
from simstore.services.features import feature_counts
from simstore.services.open_store.open_store import Snapshot
from simstore.storage import documents, vocabularies
from simstore.storage.rows import chunks

_PAGE_DOCUMENTS = 400


class CountsOfPages:
    """Merges the feature counts of batches of documents, with one number for each term."""

    def __init__(self) -> None:
        self._numbers: defaultdict[bytes, int] = defaultdict(count().__next__)
        self._columns: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
        self._counts: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
        self._lengths: list[NDArray[np.int64]] = [np.zeros(1, np.int64)]

    def add(self, page: FeatureCounts) -> None:
        """Add the documents of a page behind those of the pages before it."""
        numbers = np.fromiter(map(self._numbers.__getitem__, page.terms), np.int64, len(page.terms))
        self._columns.append(numbers[page.columns])
        self._counts.append(page.counts)
        self._lengths.append(np.diff(page.offsets))

    def whole(self) -> FeatureCounts:
        """Return the counts of all documents; the columns of a row are in no order."""
        return FeatureCounts(
            tuple(self._numbers),
            np.cumsum(np.concatenate(self._lengths)),
            np.concatenate(self._columns),
            np.concatenate(self._counts),
        )


def read_vectors(
    snapshot: Snapshot,
    document_ids: Sequence[int],
    on_progress: Progress | None = None,
) -> tuple[TermVectors, TermVectors]:
    """Return the term vectors of documents for likeness and for cosine, from their stored texts.

    How rare a term is, the vocabulary of the store says. 24 bytes a term of a document, twice.

    Args:
        snapshot: The store in a read transaction.
        document_ids: The documents, in the order wanted.
        on_progress: Called with texts read and in all.

    Raises:
        CorruptStore: A text is missing or damaged.
    """
    connection = snapshot.connection
    joined = CountsOfPages()
    done = 0
    for part in chunks(document_ids, _PAGE_DOCUMENTS):
        texts = feature_counts.whole_texts(snapshot, part)
        joined.add(feature_counts.count_stored(connection, snapshot.scheme, texts))
        done += len(part)
        if on_progress is not None:
            on_progress(done, len(document_ids))
    counts = joined.whole()
    pending = vocabularies.pending_documents(connection, snapshot.scheme_id)
    held = vocabularies.document_counts(connection, snapshot.scheme_id, counts.terms, pending)
    return term_vectors(counts, held, documents.count(connection)), plain_vectors(counts)
