"""Statistics of a store over time, for charts and for JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from simstore.model.results import Shown


@dataclass(frozen=True, slots=True)
class TimeSlot:
    """Counts of documents first seen in a span of time.

    >>> slots = store.maintenance.stats_over_time().slots
    >>> sum(slot.documents for slot in slots)
    3

    Attributes:
        start: When it begins, seconds since 1970-01-01 UTC.
        documents: Documents that are stored.
        copies: Of those, how many have the text of an earlier one.
        near: Of the others, how many are behind another in a kept cluster.
        skipped_copies: Keys that were skipped since their text was there.
        skipped_near: Keys that were skipped since a text like theirs was there.
    """

    start: int
    documents: int
    copies: int
    near: int
    skipped_copies: int
    skipped_near: int


@dataclass(frozen=True, slots=True)
class VocabularySlice:
    """A part of a sample of documents, taken evenly over the order of ingest.

    >>> figures = store.maintenance.stats_over_time()
    >>> [part.sampled for part in figures.vocabulary]
    [3]

    Attributes:
        documents: Documents of the store up to here.
        sampled: Documents of the sample up to here.
        terms: Distinct terms of those.
        new_share: Share of the occurrences in this part whose term no earlier
            part has, 0 to 1.
    """

    documents: int
    sampled: int
    terms: int
    new_share: float


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class StoreFigures(Shown):
    """Statistics of a store over time.

    >>> status = store.clusters.build()
    >>> store.maintenance.stats_over_time().cluster_sizes
    {2: 1}

    Attributes:
        slot_seconds: Length of a span of time.
        slots: Spans of time, none left out between the first and the last.
        cluster_sizes: Number of kept clusters by their number of documents,
            from 2; None where no clusters are kept.
        distances: Number of documents by the distance to their canonical
            document, bits.
        waiting: Texts that kept clusters do not take into account yet.
        vocabulary: Parts of the sample; empty where the store keeps nothing to
            count by.
        changed_ranks: Ranks or frequencies of the standing generation that a
            refresh would change, and how many it has; None where the scheme
            does not depend on the corpus.
        changed_fingerprints: Fingerprints that a refresh would change, of a
            sample, and its size.
    """

    slot_seconds: int
    slots: tuple[TimeSlot, ...]
    cluster_sizes: Mapping[int, int] | None
    distances: Mapping[int, int]
    waiting: int
    vocabulary: tuple[VocabularySlice, ...]
    changed_ranks: tuple[int, int] | None = None
    changed_fingerprints: tuple[int, int] | None = None

    def record(self) -> dict[str, Any]:
        """Return them as JSON values."""
        return asdict(self)
