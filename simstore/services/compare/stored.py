"""Compare two texts by what a store holds and knows."""

from __future__ import annotations

import time
from dataclasses import replace

from simstore.errors import DocumentNotFound, NotFound, printable
from simstore.fingerprint.simhash import to_hex, to_integers
from simstore.model import Comparison, Document, Measurement
from simstore.search.hamming import distances
from simstore.search.resemblance import overlap
from simstore.services.compare.compare import Progress, compare_texts
from simstore.services.compare.compared import CollectionCounts, CompareOptions
from simstore.services.features import corpus_statistics, feature_counts
from simstore.services.open_store.open_store import OpenStore, Snapshot
from simstore.storage import documents, vocabularies
from simstore.text.decoding import encode


def compare_in_store(
    opened: OpenStore,
    first: str | Document,
    second: str | Document,
    options: CompareOptions | None = None,
    *,
    on_progress: Progress | None = None,
) -> Comparison:
    """Compare two texts, of which some are stored.

    I-Match goes by the store's vocabulary. Behind the other algorithms come fingerprints and
    shingles as the store's own scheme makes them: what a query says of the two.

    Args:
        opened: The store.
        first: Key of a stored document, or a document whose text is given.
        second: Another one.
        options: How to compare.
        on_progress: Called with algorithms done and in all.

    Raises:
        DocumentNotFound: No document has a key.
        NotFound: The store keeps no texts.
    """
    options = options or CompareOptions()
    with opened.database.read() as connection:
        snapshot = opened.snapshot(connection)
        given = [_document(snapshot, one) for one in (first, second)]
        collection = _collection_counts(snapshot, given, options)
        by_store = _by_store(snapshot, given)
    found = compare_texts(
        given[0].text,
        given[1].text,
        options,
        names=(given[0].key, given[1].key),
        collection=collection,
        on_progress=on_progress,
    )
    return replace(found, measurements=found.measurements + by_store)


def _document(snapshot: Snapshot, given: str | Document) -> Document:
    if isinstance(given, Document):
        return given
    key = encode(given)
    row = documents.by_keys(snapshot.connection, [key]).get(key)
    if row is None:
        raise DocumentNotFound(given)
    if not snapshot.settings.text_kept:
        raise NotFound(
            f"the text of {printable(given)!r} is not kept (the store was made with --no-text); "
            "compare files"
        )
    text = feature_counts.whole_texts(snapshot, [row.document_id])[row.document_id]
    return Document(given, text, metadata=row.metadata or {})


def _collection_counts(
    snapshot: Snapshot,
    given: list[Document],
    options: CompareOptions,
) -> CollectionCounts | None:
    """Return the document counts of the texts' features; None where the store counts none."""
    connection = snapshot.connection
    size = documents.count(connection)
    if not snapshot.records_vocabulary or size < 2:
        return None
    counts = snapshot.scheme.count([document.text for document in given])
    return CollectionCounts(
        snapshot.store.database.label,
        snapshot.scheme.label,
        counts,
        vocabularies.document_counts(
            connection,
            snapshot.scheme_id,
            counts.terms,
            vocabularies.pending_documents(connection, snapshot.scheme_id),
        ),
        size,
        options.counts_like(snapshot.scheme),
    )


def _by_store(snapshot: Snapshot, given: list[Document]) -> tuple[Measurement, ...]:
    found = []
    if snapshot.channels.simhash and (snapshot.generation or not snapshot.scheme.depends_on_corpus):
        found.append(_store_simhash(snapshot, given))
    start = time.perf_counter()
    sketching = snapshot.channels.sketching
    sets = sketching.sets([document.text for document in given])
    a_size, b_size = sets.sizes().tolist()
    shared = overlap(sets.row(0), sets.row(1))
    found.append(
        Measurement(
            "store-resemblance",
            {
                "jaccard": shared.resemblance if a_size or b_size else None,
                "a_in_b": shared.containment if a_size else None,
                "b_in_a": shared.containment_reverse if b_size else None,
            },
            f"sets of {sketching.shingle} words, as a query verifies",
            time.perf_counter() - start,
        )
    )
    return tuple(found)


def _store_simhash(snapshot: Snapshot, given: list[Document]) -> Measurement:
    """Compare the fingerprints that the standing generation gives the texts."""
    start = time.perf_counter()
    scheme = snapshot.scheme
    counts = scheme.count([one.text for one in given], [one.metadata for one in given])
    known = None
    if scheme.depends_on_corpus and snapshot.generation is not None:
        generation_id = snapshot.generation.generation_id
        known = corpus_statistics.of_terms(snapshot, generation_id, counts.terms)
    words = scheme.fingerprints(counts, known)
    one, other = to_integers(words)
    distance = int(distances(words[:1], words[1])[0])
    return Measurement(
        "store-simhash",
        {"distance": distance, "a": to_hex(one, scheme.bits), "b": to_hex(other, scheme.bits)},
        f"of {scheme.bits} bits; scheme {scheme.label}",
        time.perf_counter() - start,
    )
