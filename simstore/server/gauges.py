"""The figures of the store and of its queues, for ``/metrics``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simstore.model import StoreVitals, VocabularyStatus
from simstore.server.metrics import family
from simstore.store import Store

if TYPE_CHECKING:
    from simstore.server.service import Service


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
    yield from _gauge("simstore_store_documents", "Stored documents.", vitals.document_count)
    yield from _gauge(
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
    yield from _gauge(
        "simstore_store_waiting_documents",
        "Documents that have no fingerprint in the standing generation.",
        vitals.waiting,
    )
    yield from _gauge(
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
    yield from _gauge("simstore_store_rejects", "Rejected records.", vitals.reject_count)
    yield from _gauge("simstore_store_bytes", "Bytes of the file and its log.", vitals.file_bytes)
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
    yield from _gauge(
        "simstore_vocabulary_terms", "Features that the vocabulary knows.", vocabulary.term_count
    )


def queue_lines(service: Service) -> Iterator[str]:
    """Yield what there is to tell of what waits."""
    writes = service.writes
    done = writes.counters
    yield from _gauge(
        "simstore_write_queue_documents", "Documents that wait to be written.", writes.depth
    )
    yield from _gauge(
        "simstore_writer_up", "1 while the writer works.", int(writes.failure is None)
    )
    yield from _gauge(
        "simstore_query_processes",
        "Processes that answer queries; 0 where none is up, or the one that listens does.",
        service.query_processes,
    )
    yield from family(
        "simstore_process_restarts_total",
        "counter",
        "Processes that had died and were started again.",
        (({"process": name}, count) for name, count in service.restarts.items()),
    )
    for name, told, value in (
        ("groups", "Transactions of the writer.", done.groups),
        ("requests", "Requests that the writer answered.", done.requests),
        ("failed_requests", "Requests that failed in the writer.", done.failed),
        ("refused_requests", "Requests that found the queue full.", done.refused),
        ("seconds", "Time that commits took.", done.seconds),
    ):
        yield from family(f"simstore_writer_{name}_total", "counter", told, [({}, value)])
    lanes = (("reader", service.readers), ("heavy", service.heavy))
    yield from family(
        "simstore_lane_requests",
        "gauge",
        "Requests that run or wait in threads.",
        (({"lane": name}, lane.taken) for name, lane in lanes),
    )


def _gauge(name: str, told: str, value: float) -> Iterator[str]:
    return family(name, "gauge", told, [({}, value)])
