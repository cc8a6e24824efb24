"""Channel 1: from texts to the stored fingerprints within the radius."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.features import FeatureCounts
from simstore.fingerprint.simhash import to_hex, to_integers, to_words
from simstore.model import QueryOptions
from simstore.search.hamming import distances
from simstore.search.methods import CLASSIC_METHODS
from simstore.search.scan import scan_many
from simstore.services import standing
from simstore.services.finding.lookup import Answer, Lookup
from simstore.services.opened import OpenStore, State
from simstore.storage import fingerprints
from simstore.storage.engine import Connection


@dataclass(frozen=True, slots=True)
class Neighbours:
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


class NeighbourSearch:
    """A search in one snapshot of a store."""

    def __init__(
        self, opened: OpenStore, connection: Connection, state: State, options: QueryOptions
    ) -> None:
        self._opened = opened
        self._connection = connection
        self._state = state
        self._options = options
        self._bits = state.scheme.bits
        self._radius = options.radius or 0
        row = state.generation
        self._generation_id = row.generation_id if row else None
        self._lookup = Lookup(connection, self._bits, row, opened.database.label) if row else None
        self._everything: NDArray[np.uint64] | None = None
        self._tables = None
        if row and opened.resident is not None and options.plan == "auto":
            self._tables = opened.resident.tables(connection, self._bits, row)

    def find(self, counts: FeatureCounts, *, first: bool = False) -> list[Neighbours]:
        """Return the fingerprints within the radius of each text.

        Args:
            counts: Feature counts of the texts.
            first: Stop at the first segment that gives one.
        """
        if not len(counts):
            return []
        words = self._fingerprints(counts)
        values = to_integers(words)
        if self._lookup is None:
            return [
                Neighbours(v, w, "scan", [], (), 0, 0, 0.0)
                for v, w in zip(values, words, strict=True)
            ]
        if self._options.plan in CLASSIC_METHODS:
            return self._by_classic(values, words)
        plan = self._lookup.plan(
            self._radius, query_count=len(set(values)), method=self._options.plan
        )
        scanned = None
        if plan.method == "scan" and self._tables is None:
            scanned = self._scan(values)
        results = []
        for value, query in zip(values, words, strict=True):
            started = time.perf_counter()
            if self._tables is not None:
                chosen, probes, candidates = self._tables.explain(value, self._radius)
                found = self._tables.near(value, self._radius)
                answer = Answer(found, chosen.thresholds, probes, candidates)
            elif scanned is not None:
                answer = Answer(scanned[value], (), 0, self._lookup.count)
            else:
                answer = self._lookup.search(value, self._radius, plan, first=first)
            seconds = time.perf_counter() - started
            results.append(
                Neighbours(
                    value,
                    query,
                    plan.method,
                    answer.found,
                    answer.thresholds,
                    answer.probe_count,
                    answer.candidate_count,
                    seconds,
                )
            )
        return results

    def documents_near(self, near: Neighbours) -> dict[int, tuple[bytes, int]]:
        """Return key and distance of the documents with these fingerprints, by their numbers."""
        if not near.found or self._generation_id is None:
            return {}
        distance_of = dict(near.found)
        rows = fingerprints.documents_with(
            self._connection, self._bits, self._generation_id, list(distance_of)
        )
        return {document_id: (key, distance_of[value]) for value, document_id, key in rows}

    def distances_to(self, near: Neighbours, document_ids: Sequence[int]) -> dict[int, int]:
        """Return the distances of documents, those that have a fingerprint, by their numbers."""
        if self._generation_id is None:
            return {}
        values = fingerprints.of_documents(
            self._connection, self._bits, self._generation_id, document_ids
        )
        chosen = sorted(values)
        words = to_words([values[number] for number in chosen], self._bits)
        return dict(zip(chosen, distances(words, near.query).tolist(), strict=True))

    def hexadecimal(self, near: Neighbours) -> str:
        """Return the fingerprint of the text, zero-padded."""
        return to_hex(near.value, self._bits)

    def _fingerprints(self, counts: FeatureCounts) -> NDArray[np.uint64]:
        scheme = self._state.scheme
        if not scheme.depends_on_corpus:
            return scheme.fingerprints(counts)
        known = standing.of_terms(
            self._opened, self._connection, self._state, self._generation_id, counts.terms
        )
        return scheme.fingerprints(counts, known)

    def _scan(self, values: Sequence[int]) -> dict[int, list[tuple[int, int]]]:
        """Return (fingerprint, distance) of the matches of each query, looking at everything."""
        found: dict[int, list[tuple[int, int]]] = {value: [] for value in values}
        asked = list(found)
        queries = to_words(asked, self._bits)
        for part in self._all_fingerprints():
            rows, positions, far = scan_many(part, queries, self._radius)
            near = zip(rows.tolist(), to_integers(part[positions]), far.tolist(), strict=True)
            for row, value, distance in near:
                found[asked[row]].append((value, distance))
        return found

    def _by_classic(self, values: Sequence[int], words: NDArray[np.uint64]) -> list[Neighbours]:
        """Return the answers of the plan that was asked for, on all fingerprints in memory."""
        from simstore.search.classic import near_many_by

        started = time.perf_counter()
        method = self._options.plan
        if self._everything is None:
            empty = np.empty((0, words.shape[1]), np.uint64)
            self._everything = np.concatenate([empty, *self._all_fingerprints()])
        answer = near_many_by(method, self._everything, self._bits, words, self._radius)
        found: list[list[tuple[int, int]]] = [[] for _ in values]
        for row, value, distance in zip(
            answer.query_rows.tolist(),
            to_integers(answer.words),
            answer.distances.tolist(),
            strict=True,
        ):
            found[row].append((value, distance))
        costs = zip(answer.probe_counts.tolist(), answer.candidate_counts.tolist(), strict=True)
        each = (time.perf_counter() - started) / len(values)
        return [
            Neighbours(value, query, method, near, (), probes, candidates, each)
            for value, query, near, (probes, candidates) in zip(
                values, words, found, costs, strict=True
            )
        ]

    def _all_fingerprints(self) -> Iterator[NDArray[np.uint64]]:
        if self._generation_id is not None:
            yield from fingerprints.scan(self._connection, self._bits, self._generation_id)
