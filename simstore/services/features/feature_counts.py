"""Count, store and read the features of documents, and change the vocabulary's counts by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.features import FeatureCounts
from simstore.fingerprint.packed_terms import packed as packed_terms
from simstore.fingerprint.scheme import Scheme
from simstore.services.open_store.open_store import Snapshot
from simstore.storage import codecs, deltas, documents, vocabularies
from simstore.storage.engine import Connection
from simstore.storage.vocabularies import FeatureRow
from simstore.text.decoding import exact_text

_EMPTY = np.empty(0, np.int64)


def stored_texts(snapshot: Snapshot, document_ids: Sequence[int]) -> dict[int, str]:
    """Return the stored texts of documents.

    Raises:
        CorruptStore: A kept text is damaged.
    """
    texts = {}
    for document_id, packed in documents.texts_of(snapshot.connection, document_ids).items():
        try:
            texts[document_id] = exact_text(codecs.decompress(packed))
        except ValueError as error:
            raise snapshot.corrupt(f"the text of document {document_id} is damaged") from error
    return texts


def whole_texts(snapshot: Snapshot, document_ids: Sequence[int]) -> dict[int, str]:
    """Return the texts of documents of a store that keeps them, in the order given.

    Raises:
        CorruptStore: A text is missing or damaged.
    """
    texts = stored_texts(snapshot, document_ids)
    for document_id in document_ids:
        if document_id not in texts:
            raise snapshot.corrupt(f"the text of document {document_id} is missing")
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


def feature_rows(snapshot: Snapshot, document_ids: Sequence[int]) -> dict[int, FeatureRow]:
    """Return the feature counts of documents of a store that keeps them.

    Raises:
        CorruptStore: Some are damaged, or gone.
    """
    try:
        rows = vocabularies.features_of(snapshot.connection, snapshot.scheme_id, document_ids)
    except ValueError as error:
        raise snapshot.corrupt(f"feature counts: {error}") from error
    if missing := set(document_ids) - rows.keys():
        raise snapshot.corrupt(f"the feature counts of document {min(missing)} are gone")
    return rows


def write_counts(
    connection: Connection,
    scheme_id: int,
    ids: NDArray[np.int64],
    counts: FeatureCounts,
    document_ids: Sequence[int],
    *,
    replacing: Sequence[int] = (),
) -> None:
    """Keep the feature counts of documents, one a row of ``counts``.

    Args:
        connection: A writer.
        scheme_id: The scheme that counted.
        ids: Feature number of each term of ``counts``.
        counts: Feature counts.
        document_ids: Document of each row.
        replacing: Those of the documents that have counts already.
    """
    rows = np.repeat(np.arange(len(counts)), np.diff(counts.offsets))
    numbers = ids[counts.columns]
    order = np.lexsort((numbers, rows))
    numbers, amounts = numbers[order], counts.counts[order]
    ends = counts.offsets.tolist()
    packed = [
        (document_id, codecs.pack_features(numbers[start:end], amounts[start:end]))
        for document_id, start, end in zip(document_ids, ends, ends[1:], strict=False)
    ]
    vocabularies.put_features(connection, scheme_id, packed, replacing=replacing)


def change_vocabulary(
    snapshot: Snapshot,
    *,
    added: FeatureCounts | None = None,
    removed: Sequence[int] = (),
) -> NDArray[np.int64]:
    """Append the vocabulary changes of added and removed documents.

    Args:
        snapshot: The store in the writer's transaction.
        added: Counts of the documents that come.
        removed: Stored documents that go.

    Returns:
        Feature number of each term that comes, where the store keeps the documents' counts.
    """
    connection = snapshot.connection
    if not snapshot.records_vocabulary:
        return _EMPTY
    if snapshot.keeps_counts:
        gone = feature_rows(snapshot, removed) if removed else {}
        ids = (
            snapshot.store.feature_ids(connection, snapshot.scheme_id, added.terms)
            if added
            else _EMPTY
        )
        _change_numbered(connection, snapshot.scheme_id, ids, added, gone)
        return ids
    if added is not None:
        deltas.add_packed(connection, snapshot.scheme_id, pack_change(added))
    if removed:
        texts = stored_texts(snapshot, removed)
        counts = count_stored(connection, snapshot.scheme, texts)
        deltas.add_packed(connection, snapshot.scheme_id, pack_change(counts, sign=-1))
    return _EMPTY


def pack_change(counts: FeatureCounts, *, sign: int = 1) -> bytes:
    """Pack the changes of added (``sign`` 1) or removed (-1) documents to a vocabulary by terms."""
    documents_of, totals = feature_sums(counts)
    return codecs.pack_named_delta(*packed_terms(counts.terms), sign * documents_of, sign * totals)


def feature_sums(counts: FeatureCounts) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the documents that have each term, and its occurrences."""
    width = len(counts.terms)
    # Sums of integers below 2**53 are exact.
    totals = np.bincount(counts.columns, counts.counts, width).astype(np.int64)
    return np.bincount(counts.columns, minlength=width).astype(np.int64), totals


def _change_numbered(
    connection: Connection,
    scheme_id: int,
    ids: NDArray[np.int64],
    added: FeatureCounts | None,
    removed: Mapping[int, FeatureRow],
) -> None:
    parts = [(_EMPTY, _EMPTY, _EMPTY)]
    if added is not None:
        parts.append((ids, *feature_sums(added)))
    for columns, amounts in removed.values():
        parts.append((columns, np.full(len(columns), -1, np.int64), -amounts))
    named, document_changes, total_changes = (
        np.concatenate(arrays) for arrays in zip(*parts, strict=True)
    )
    features, places = np.unique(named, return_inverse=True)
    document_counts = np.zeros(len(features), np.int64)
    total_counts = np.zeros(len(features), np.int64)
    np.add.at(document_counts, places, document_changes)
    np.add.at(total_counts, places, total_changes)
    deltas.add_numbered(connection, scheme_id, features, document_counts, total_counts)
