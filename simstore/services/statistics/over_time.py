"""Compute figures of a store: growth over time, cluster sizes, distances, vocabulary size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from itertools import accumulate

from simstore.errors import NotFound
from simstore.model import Progress, StoreFigures, TimeSlot, VocabularySlice
from simstore.services.clusters.read import kept_clusters
from simstore.services.features import feature_counts
from simstore.services.generations import drift
from simstore.services.open_store.open_store import OpenStore, Snapshot
from simstore.storage import clusters, documents, history
from simstore.storage.engine import Connection

_MOST_SLOTS = 60
_SPANS = (
    60, 300, 900, 3_600, 21_600, 86_400, 604_800, 2_592_000, 7_776_000, 31_536_000, 315_360_000,
)  # fmt: skip
_SAMPLE = 2_000
_MOST_SLICES = 20
_LEAST_SLICE = 10


def store_figures(opened: OpenStore, on_progress: Progress | None = None) -> StoreFigures:
    """Return the figures of a store; for clusters, those of the stored ones as last updated.

    Args:
        opened: The store.
        on_progress: Called with documents of a sample counted, and its size.
    """
    with opened.database.read() as connection:
        snapshot = opened.snapshot(connection)
        seconds, slots = _slots(connection)
        vocabulary = tuple(_vocabulary(snapshot, on_progress))
        kept = clusters.row(connection) is not None
        waiting = clusters.count_changes(connection)
    sizes: Counter[int] = Counter()
    distances: Counter[int] = Counter()
    try:
        for cluster in kept_clusters(opened) if kept else ():
            sizes[len(cluster.members)] += 1
            distances.update(
                one.distance for one in cluster.members[1:] if one.distance is not None
            )
    except NotFound:
        # They were dropped meanwhile.
        kept = False
    ranks = fingerprints = None
    if snapshot.scheme.depends_on_corpus:
        found = drift.status(opened)
        ranks = found.changed_ranks, found.rank_count
        fingerprints = found.changed_fingerprints, found.sampled
    return StoreFigures(
        slot_seconds=seconds,
        slots=slots,
        cluster_sizes=dict(sorted(sizes.items())) if kept else None,
        distances=dict(sorted(distances.items())),
        waiting=waiting,
        vocabulary=vocabulary,
        changed_ranks=ranks,
        changed_fingerprints=fingerprints,
    )


def _slots(connection: Connection) -> tuple[int, tuple[TimeSlot, ...]]:
    """Return the length of a span of time, and what was first seen in each."""
    found = history.first_seen_span(connection)
    if found is None:
        return _SPANS[0], ()
    first, last = found
    seconds = next((one for one in _SPANS if (last - first) < one * _MOST_SLOTS), _SPANS[-1])
    # Days and hours begin where they do in UTC.
    start = first // seconds * seconds
    counts = {
        what: history.first_seen_counts(connection, what, start, seconds)
        for what in history.COUNTED
    }
    return seconds, tuple(
        TimeSlot(
            start + slot * seconds,
            *(counts[what].get(slot, 0) for what in history.COUNTED),
        )
        for slot in range((last - start) // seconds + 1)
    )


def _vocabulary(snapshot: Snapshot, on_progress: Progress | None) -> Iterator[VocabularySlice]:
    """Yield how the terms of a sample grow with the documents."""
    if not (snapshot.keeps_counts or snapshot.settings.text_kept):
        return
    sample = drift.sample_documents(snapshot.connection, _SAMPLE)
    total = documents.count(snapshot.connection)
    size = max(-(-len(sample) // _MOST_SLICES), _LEAST_SLICE)
    parts = [sample[start : start + size] for start in range(0, len(sample), size)]
    known: set[Hashable] = set()
    for part, done in zip(parts, accumulate(map(len, parts)), strict=True):
        counted = _terms(snapshot, part)
        occurrences = sum(counted.values())
        fresh = sum(count for term, count in counted.items() if term not in known)
        known.update(counted)
        yield VocabularySlice(
            round(total * done / len(sample)),
            done,
            len(known),
            fresh / occurrences if occurrences else 0.0,
        )
        if on_progress is not None:
            on_progress(done, len(sample))


def _terms(snapshot: Snapshot, document_ids: Sequence[int]) -> Counter[Hashable]:
    """Return the terms of documents with their counts, by number or by name."""
    found: Counter[Hashable] = Counter()
    if snapshot.keeps_counts:
        rows = feature_counts.feature_rows(snapshot, document_ids)
        for numbers, amounts in rows.values():
            found.update(dict(zip(numbers.tolist(), amounts.tolist(), strict=True)))
        return found
    texts = feature_counts.whole_texts(snapshot, document_ids)
    counts = feature_counts.count_stored(snapshot.connection, snapshot.scheme, texts)
    _, totals = feature_counts.feature_sums(counts)
    found.update(dict(zip(counts.terms, totals.tolist(), strict=True)))
    return found
