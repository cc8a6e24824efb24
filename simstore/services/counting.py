"""Feature counts of stored documents and their part in the vocabulary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from simstore.errors import CorruptStore
from simstore.fingerprint.features import FeatureCounts
from simstore.fingerprint.scheme import Scheme
from simstore.services.opened import OpenStore, State
from simstore.storage import codecs, documents, vocabularies
from simstore.storage.engine import Connection
from simstore.storage.vocabularies import FeatureRow

_EMPTY = np.empty(0, np.int64)


def stored_texts(
    opened: OpenStore, connection: Connection, document_ids: Sequence[int]
) -> dict[int, str]:
    """Return the kept texts of documents.

    Raises:
        CorruptStore: A kept text is damaged.
    """
    texts = {}
    for document_id, packed in documents.texts_of(connection, document_ids).items():
        try:
            texts[document_id] = codecs.decompress(packed).decode("utf-8", "surrogateescape")
        except ValueError as error:
            raise CorruptStore(
                opened.database.label, f"the text of document {document_id} is damaged"
            ) from error
    return texts


def whole_texts(
    opened: OpenStore, connection: Connection, document_ids: Sequence[int]
) -> dict[int, str]:
    """Return the texts of documents of a store that keeps them, in the order given.

    Raises:
        CorruptStore: A text is missing or damaged.
    """
    texts = stored_texts(opened, connection, document_ids)
    for document_id in document_ids:
        if document_id not in texts:
            raise CorruptStore(
                opened.database.label, f"the text of document {document_id} is missing"
            )
    return {document_id: texts[document_id] for document_id in document_ids}


def count_stored(connection: Connection, scheme: Scheme, texts: Mapping[int, str]) -> FeatureCounts:
    """Count the features of stored documents, one a row in the order of ``texts``.

    Args:
        connection: A snapshot, which knows the documents' metadata.
        scheme: The scheme that counts.
        texts: Document number to its text.
    """
    if not scheme.reads_metadata:
        return scheme.count(list(texts.values()))
    metadata = documents.metadata_of(connection, list(texts))
    return scheme.count(list(texts.values()), [metadata.get(number, {}) for number in texts])


def feature_rows(
    opened: OpenStore, connection: Connection, state: State, document_ids: Sequence[int]
) -> dict[int, FeatureRow]:
    """Return the feature counts of stored documents: those kept, else counted from the text.

    Features are numbers of the vocabulary; a writer adds those it does not know.
    """
    if state.keeps_counts:
        try:
            return vocabularies.features_of(connection, state.scheme_id, document_ids)
        except ValueError as error:
            raise CorruptStore(opened.database.label, f"feature counts: {error}") from error
    texts = stored_texts(opened, connection, document_ids)
    counts = count_stored(connection, state.scheme, texts)
    ids = opened.feature_ids(connection, state.scheme_id, counts.terms)
    return {document_id: _sorted_row(ids, counts, row) for row, document_id in enumerate(texts)}


def write_counts(
    connection: Connection,
    scheme_id: int,
    ids: NDArray[np.int64],
    counts: FeatureCounts,
    document_ids: Sequence[int],
) -> None:
    """Keep the feature counts of documents, one a row of ``counts``.

    Args:
        connection: A writer.
        scheme_id: The scheme that counted.
        ids: Feature number of each term of ``counts``.
        counts: Feature counts.
        document_ids: Document of each row.
    """
    packed = {
        document_id: codecs.pack_features(*_sorted_row(ids, counts, row))
        for row, document_id in enumerate(document_ids)
    }
    vocabularies.put_features(connection, scheme_id, packed)


def change_vocabulary(
    connection: Connection,
    scheme_id: int,
    *,
    added: tuple[NDArray[np.int64], FeatureCounts] | None = None,
    removed: Mapping[int, FeatureRow] | None = None,
) -> None:
    """Append what documents that come and go change in the vocabulary.

    Args:
        connection: A writer.
        scheme_id: The scheme that counted.
        added: Feature number of each term, and the counts of the documents that come.
        removed: Counts of the documents that go.
    """
    parts = [(_EMPTY, _EMPTY, _EMPTY)]
    if added is not None:
        numbers, counts = added
        width = len(numbers)
        totals = np.zeros(width, np.int64)
        np.add.at(totals, counts.columns, counts.counts)
        parts.append((numbers, np.bincount(counts.columns, minlength=width), totals))
    for columns, amounts in (removed or {}).values():
        parts.append((columns, np.full(len(columns), -1, np.int64), -amounts))
    ids, document_changes, total_changes = (
        np.concatenate(arrays) for arrays in zip(*parts, strict=True)
    )
    features, places = np.unique(ids, return_inverse=True)
    document_counts = np.zeros(len(features), np.int64)
    total_counts = np.zeros(len(features), np.int64)
    np.add.at(document_counts, places, document_changes)
    np.add.at(total_counts, places, total_changes)
    vocabularies.add_delta(connection, scheme_id, features, document_counts, total_counts)


def _sorted_row(ids: NDArray[np.int64], counts: FeatureCounts, row: int) -> FeatureRow:
    columns, amounts = counts.row(row)
    numbers = ids[columns]
    order = np.argsort(numbers)
    return numbers[order], amounts[order]
