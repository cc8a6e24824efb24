"""SimHash search: find the stored fingerprints within a Hamming radius of each query text's."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.features import FeatureCounts
from simstore.fingerprint.simhash import to_hex, to_integers, to_words
from simstore.model import QueryOptions
from simstore.search.methods import CLASSIC_METHODS
from simstore.services.channels.fingerprint_index import (
    FingerprintIndex,
    LookupResult,
    by_query,
    by_tables,
)
from simstore.services.open_store.open_store import Snapshot
from simstore.services.open_store.state import check_generation
from simstore.storage.engine import Connection
from simstore.storage.fingerprints import fingerprints

if TYPE_CHECKING:
    from simstore.search.sorted_tables import GrowingTables


@dataclass(frozen=True, slots=True, kw_only=True)
class SimhashNeighbours:
    """The fingerprints within the radius of a text.

    Attributes:
        value: The text's fingerprint.
        query: The same as words, shape (ceil(M / 64),).
        result: What was found, and how.
        seconds: Wall time; for many at once, an equal share of theirs.
    """

    value: int
    query: NDArray[np.uint64]
    result: LookupResult
    seconds: float


@dataclass(frozen=True, slots=True)
class Linked:
    """Links between fingerprints and documents in a snapshot."""

    connection: Connection
    bits: int
    generation_id: int

    def holders_of(self, values: Sequence[int]) -> list[tuple[int, int]]:
        """Return (fingerprint, document) of the documents with these fingerprints."""
        return fingerprints.holders_of(self.connection, self.bits, self.generation_id, values)

    def values_of(self, document_ids: Sequence[int]) -> dict[int, int]:
        """Return the fingerprints of documents that have one."""
        return fingerprints.of_documents(
            self.connection, self.bits, self.generation_id, document_ids
        )


class FingerprintSearch:
    """SimHash search in one snapshot of a store."""

    def __init__(self, snapshot: Snapshot, options: QueryOptions) -> None:
        self._snapshot = snapshot
        self._options = options
        self._bits = snapshot.scheme.bits
        self._radius = options.radius or 0
        check_generation(snapshot, snapshot.store.database.label)
        row = snapshot.generation
        self._generation_id = row.generation_id if row else None
        self._index = FingerprintIndex(snapshot, row) if row else None
        self.linked = Linked(snapshot.connection, self._bits, row.generation_id) if row else None
        self._everything: NDArray[np.uint64] | None = None
        self._tables: GrowingTables | None = None
        resident = snapshot.store.resident
        if row and resident is not None and options.plan == "auto":
            self._tables = resident.current(snapshot.connection, snapshot, row).tables

    def find(self, words: NDArray[np.uint64], *, first: bool = False) -> list[SimhashNeighbours]:
        """Return the stored fingerprints within the radius of each given one.

        Args:
            words: Fingerprints, shape (n, ceil(M / 64)).
            first: Stop at the first segment that gives one.
        """
        if not len(words):
            return []
        values = to_integers(words)
        index = self._index
        started = time.perf_counter()
        distinct = list(dict.fromkeys(values))
        asked = to_words(distinct, self._bits)
        if index is None:
            results = [LookupResult("none", [], (), 0, 0)] * len(distinct)
        elif self._options.plan in CLASSIC_METHODS:
            results = self._by_classic(index, asked)
        elif self._tables is not None:
            results = by_tables(self._tables, asked, self._radius)
        else:
            plan = index.plan(self._radius, query_count=len(distinct), method=self._options.plan)
            results = index.search_many(asked, self._radius, plan, first=first, in_file=True)
        result_of = dict(zip(distinct, results, strict=True))
        each = (time.perf_counter() - started) / len(values)
        return [
            SimhashNeighbours(value=value, query=query, result=result_of[value], seconds=each)
            for value, query in zip(values, words, strict=True)
        ]

    def hexadecimal(self, near: SimhashNeighbours) -> str:
        """Return the fingerprint of the text, zero-padded."""
        return to_hex(near.value, self._bits)

    def fingerprints(self, counts: FeatureCounts) -> NDArray[np.uint64]:
        """Compute the fingerprints of texts as the current generation's were."""
        scheme = self._snapshot.scheme
        if not scheme.depends_on_corpus:
            return scheme.fingerprints(counts)
        from simstore.services.features import corpus_statistics

        known = corpus_statistics.of_terms(self._snapshot, self._generation_id, counts.terms)
        return scheme.fingerprints(counts, known)

    def _by_classic(
        self, index: FingerprintIndex, queries: NDArray[np.uint64]
    ) -> list[LookupResult]:
        """Return the results of a classic plan, on all fingerprints in memory."""
        from simstore.classic.hamming_plans import near_many_by

        method = self._options.plan
        if self._everything is None:
            self._everything = np.concatenate([queries[:0], *index.everything()])
        answer = near_many_by(method, self._everything, self._bits, queries, self._radius)
        found_of = by_query(answer.query_rows, answer.words, answer.distances, len(queries))
        costs = zip(answer.probe_counts.tolist(), answer.candidate_counts.tolist(), strict=True)
        return [
            LookupResult(method, found, (), probes, candidates)
            for found, (probes, candidates) in zip(found_of, costs, strict=True)
        ]
