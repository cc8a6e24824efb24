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
from simstore.services.channels.fingerprint_index import FingerprintIndex, LookupResult, by_query
from simstore.services.open_store.open_store import Snapshot
from simstore.services.open_store.state import check_generation
from simstore.storage.engine import Connection
from simstore.storage.fingerprints import fingerprints

if TYPE_CHECKING:
    from simstore.services.open_store.resident_index import ResidentTables


@dataclass(frozen=True, slots=True, kw_only=True)
class SimhashNeighbours:
    """The fingerprints within the radius of a text.

    Attributes:
        value: The text's fingerprint.
        query: The same as words, shape (ceil(M / 64),).
        method: ``segments``, ``scan``, or the plan that was asked for.
        found: Fingerprints and their distances.
        thresholds: Bits flipped in each segment; -1: the segment was not looked at.
        probe_count: Segment values looked up.
        candidate_count: Postings compared; a fingerprint counts for each probe that it shares.
        seconds: Wall time.
    """

    value: int
    query: NDArray[np.uint64]
    method: str
    found: Sequence[tuple[int, int]]
    thresholds: tuple[int, ...]
    probe_count: int
    candidate_count: int
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
        self._tables: ResidentTables | None = None
        resident = snapshot.store.resident
        if row and resident is not None and options.plan == "auto":
            self._tables = resident.current(snapshot.connection, snapshot, row)

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
        if index is None:
            return [
                SimhashNeighbours(
                    value=v,
                    query=w,
                    method="scan",
                    found=[],
                    thresholds=(),
                    probe_count=0,
                    candidate_count=0,
                    seconds=0.0,
                )
                for v, w in zip(values, words, strict=True)
            ]
        if self._options.plan in CLASSIC_METHODS:
            return self._by_classic(index, values, words)
        if self._tables is not None:
            return self._by_tables(self._tables, values, words)
        started = time.perf_counter()
        distinct = list(dict.fromkeys(values))
        asked = to_words(distinct, self._bits)
        plan = index.plan(self._radius, query_count=len(distinct), method=self._options.plan)
        if plan.method == "scan":
            near = by_query(*index.scan(asked, self._radius), len(distinct))
            answers = [LookupResult(found, (), 0, index.count) for found in near]
        elif first or self._options.plan != "auto":
            # A plan that is asked for is told as it is followed.
            answers = [index.search(v, self._radius, plan, first=first) for v in distinct]
        else:
            answers = index.search_many(asked, self._radius, plan)
        answer_of = dict(zip(distinct, answers, strict=True))
        each = (time.perf_counter() - started) / len(values)
        return [
            SimhashNeighbours(
                value=value,
                query=query,
                method=plan.method,
                found=answer_of[value].found,
                thresholds=answer_of[value].thresholds,
                probe_count=answer_of[value].probe_count,
                candidate_count=answer_of[value].candidate_count,
                seconds=each,
            )
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

    def _by_tables(
        self, tables: ResidentTables, values: Sequence[int], words: NDArray[np.uint64]
    ) -> list[SimhashNeighbours]:
        """Return the answers of what is in memory, where fingerprints that have gone may be."""
        started = time.perf_counter()
        if len(values) == 1:
            found = [tables.near(values[0], self._radius)]
        else:
            found = by_query(*tables.near_many(words, self._radius), len(values))
        plan, probes, candidates = tables.base.explain_many(words, self._radius)
        each = (time.perf_counter() - started) / len(values)
        return [
            SimhashNeighbours(
                value=value,
                query=query,
                method=plan.method,
                found=some,
                thresholds=plan.thresholds,
                probe_count=probes,
                candidate_count=count,
                seconds=each,
            )
            for value, query, some, count in zip(
                values, words, found, candidates.tolist(), strict=True
            )
        ]

    def _by_classic(
        self, index: FingerprintIndex, values: Sequence[int], words: NDArray[np.uint64]
    ) -> list[SimhashNeighbours]:
        """Return the answers of the plan that was asked for, on all fingerprints in memory."""
        from simstore.search.classic import near_many_by

        started = time.perf_counter()
        method = self._options.plan
        if self._everything is None:
            empty = np.empty((0, words.shape[1]), np.uint64)
            self._everything = np.concatenate([empty, *index.everything()])
        answer = near_many_by(method, self._everything, self._bits, words, self._radius)
        found = by_query(answer.query_rows, answer.words, answer.distances, len(values))
        costs = zip(answer.probe_counts.tolist(), answer.candidate_counts.tolist(), strict=True)
        each = (time.perf_counter() - started) / len(values)
        return [
            SimhashNeighbours(
                value=value,
                query=query,
                method=method,
                found=near,
                thresholds=(),
                probe_count=probes,
                candidate_count=candidates,
                seconds=each,
            )
            for value, query, near, (probes, candidates) in zip(
                values, words, found, costs, strict=True
            )
        ]
