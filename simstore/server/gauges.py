"""Gauges of the store, for ``/metrics``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from simstore.model import StoreVitals, VocabularyStatus
from simstore.server.metrics import family
from simstore.store import Store


@dataclass(frozen=True, slots=True)
class Figures:
    """A store's vital figures, and how far its vocabulary has drifted; None: it cannot."""

    vitals: StoreVitals
    vocabulary: VocabularyStatus | None


def figures_of(store: Store) -> Figures:
    """Return the figures of a store."""
    vitals = store.vitals()
    return Figures(vitals, store.vocabulary_status() if vitals.follows_corpus else None)


def store_lines(figures: Figures) -> Iterator[str]:
    """Yield what there is to tell of a store."""
    vitals, vocabulary = figures.vitals, figures.vocabulary
    yield from gauge("simstore_store_documents", "Stored documents.", vitals.document_count)
    yield from gauge(
        "simstore_store_fingerprints",
        "Distinct fingerprints of the standing generation.",
        vitals.fingerprint_count,
    )
    yield from family(
        "simstore_store_tail",
        "gauge",
        "Fingerprints and sketches that are in no page yet.",
        [
            ({"of": "fingerprints"}, vitals.tail_fingerprints),
            ({"of": "sketches"}, vitals.tail_sketches),
        ],
    )
    yield from gauge(
        "simstore_store_waiting_documents",
        "Documents that have no fingerprint in the standing generation.",
        vitals.waiting,
    )
    yield from gauge(
        "simstore_store_fresh",
        "1 where the standing generation covers every document and the present vocabulary.",
        int(vitals.fresh),
    )
    yield from family(
        "simstore_store_duplicates",
        "gauge",
        "Duplicates that were found before the insert, by their state.",
        (({"state": state}, count) for state, count in vitals.duplicates.items()),
    )
    yield from gauge("simstore_store_rejects", "Rejected records.", vitals.reject_count)
    yield from gauge("simstore_store_bytes", "Bytes of the file and its log.", vitals.file_bytes)
    if vocabulary is None:
        return
    drift = {
        "ranks": (vocabulary.changed_ranks, vocabulary.rank_count),
        "fingerprints": (vocabulary.changed_fingerprints, vocabulary.sampled),
    }
    yield from family(
        "simstore_vocabulary_drift",
        "gauge",
        "Share of ranks or frequencies, and of a sample of fingerprints, that a refresh would "
        "change.",
        (({"of": name}, part / whole if whole else 0.0) for name, (part, whole) in drift.items()),
    )
    yield from gauge(
        "simstore_vocabulary_terms", "Features that the vocabulary knows.", vocabulary.term_count
    )


def gauge(name: str, told: str, value: float) -> Iterator[str]:
    """Yield the lines of a gauge with one value."""
    return family(name, "gauge", told, [({}, value)])
