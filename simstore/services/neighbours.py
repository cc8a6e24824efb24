"""Channel 1: from texts to the stored fingerprints within the radius."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.features import FeatureCounts
from simstore.fingerprint.simhash import to_hex, to_integers, to_words
from simstore.model import QueryOptions
from simstore.search.hamming import distances, verify
from simstore.search.plan import Plan, choose_plan, threshold_cost, uniform_costs
from simstore.search.segments import probe_count, probe_values, segment_values, segment_widths
from simstore.services import standing
from simstore.services.opened import OpenStore, State
from simstore.storage import fingerprints
from simstore.storage.engine import Connection

# Postings of the plain plan above which the planner asks for the posting counts of others.
_SKEWED = 1_000
# Fingerprints below which even one crowded segment value is quickly verified.
_WORTH_COUNTING = 20_000


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The fingerprints within the radius of a text.

    Attributes:
        value: The text's fingerprint.
        query: The same as words, shape (ceil(M / 64),).
        method: ``segments`` or ``scan``.
        found: Fingerprints and their distances.
        thresholds: Bits flipped in each segment; -1: the segment was not looked at.
        probe_count: Segment values looked up.
        candidate_count: Distinct fingerprints that were verified.
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
        self._widths = segment_widths(self._bits)
        self._generation_id = state.generation.generation_id if state.generation else None
        self._count = opened.fingerprint_count(connection, state)
        self._uniform = uniform_costs(self._bits, self._radius, self._count)

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
        plan = choose_plan(
            self._uniform,
            self._radius,
            self._count,
            query_count=len(set(values)),
            method=self._options.plan,
        )
        scanned = self._scan(values, words) if plan.method == "scan" else None
        results = []
        for value, query in zip(values, words, strict=True):
            started = time.perf_counter()
            answer: tuple[list[tuple[int, int]], tuple[int, ...], int, int]
            if scanned is not None:
                answer = scanned[value], (), 0, self._count
            else:
                answer = self._look_up(value, query, plan, first=first)
            seconds = time.perf_counter() - started
            results.append(Neighbours(value, query, plan.method, *answer, seconds))
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

    def _scan(
        self, values: Sequence[int], words: NDArray[np.uint64]
    ) -> dict[int, list[tuple[int, int]]]:
        """Return (fingerprint, distance) of the matches of each query, looking at everything."""
        found: dict[int, list[tuple[int, int]]] = {value: [] for value in values}
        queries_of = dict(zip(values, words, strict=True))
        if self._generation_id is None:
            return found
        for part in fingerprints.scan(self._connection, self._bits, self._generation_id):
            for value, query in queries_of.items():
                found[value] += self._verified(part, query)
        return found

    def _look_up(
        self, value: int, query: NDArray[np.uint64], plan: Plan, *, first: bool
    ) -> tuple[list[tuple[int, int]], tuple[int, ...], int, int]:
        """Return (fingerprint, distance) of the matches of one query, by its segments."""
        if self._generation_id is None:
            return [], (), 0, 0
        thresholds = self._thresholds(value, plan)
        segments = segment_values(value, self._bits)
        probes = [
            (segment, probe_values(segments[segment], self._widths[segment], threshold))
            for segment, threshold in enumerate(thresholds)
            if threshold >= 0
        ]
        found: dict[int, int] = {}
        looked_up = candidate_count = 0
        steps = [[probe] for probe in probes] if first else [probes]
        for step in steps:
            candidates = fingerprints.candidates(
                self._connection, self._bits, self._generation_id, step
            )
            looked_up += sum(len(probed) for _, probed in step)
            candidate_count += len(candidates)
            found.update(self._verified(candidates, query))
            if found and first:
                break
        return list(found.items()), thresholds, looked_up, candidate_count

    def _thresholds(self, value: int, plan: Plan) -> tuple[int, ...]:
        """Return the plan's thresholds, or cheaper ones where this query's segments are crowded."""
        if self._count < _WORTH_COUNTING:
            return plan.thresholds
        segments = segment_values(value, self._bits)
        plain = [
            self._posting_count(segment, [segments[segment]])
            for segment in range(len(self._widths))
        ]
        planned = sum(
            count for count, threshold in zip(plain, plan.thresholds, strict=True) if threshold >= 0
        )
        if planned < _SKEWED:
            return plan.thresholds
        costs = []
        for segment, width in enumerate(self._widths):
            row = [0.0, threshold_cost(1, plain[segment])]
            if self._radius >= 1 and width >= 1:
                near = probe_values(segments[segment], width, 1)
                row.append(threshold_cost(len(near), self._posting_count(segment, near)))
            for threshold in range(2, min(self._radius, width) + 1):
                # Not counted: at least as crowded as with one bit less.
                estimate = self._uniform[segment][threshold + 1]
                row.append(max(estimate, row[-1]) + probe_count(width, threshold))
            costs.append(row)
        return choose_plan(costs, self._radius, self._count, method="segments").thresholds

    def _posting_count(self, segment: int, values: Sequence[int]) -> int:
        return fingerprints.posting_count(
            self._connection, self._bits, self._generation_id or 0, segment, values
        )

    def _verified(
        self, candidates: NDArray[np.uint64], query: NDArray[np.uint64]
    ) -> list[tuple[int, int]]:
        positions, distances = verify(candidates, query, self._radius)
        return list(zip(to_integers(candidates[positions]), distances.tolist(), strict=True))
