"""From texts to the stored documents near them: fingerprint, plan, candidates, verified matches."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.simhash import to_hex, to_integers
from simstore.model import Document, Match, QueryOptions, SampleExplanation, SampleResult
from simstore.search.hamming import verify
from simstore.search.plan import Plan, choose_plan, threshold_cost, uniform_costs
from simstore.search.segments import probe_count, probe_values, segment_values, segment_widths
from simstore.services.opened import OpenStore, State
from simstore.storage import documents, fingerprints
from simstore.storage.engine import Connection

# Postings of the plain plan above which the planner asks for the posting counts of others.
_SKEWED = 1_000
# Fingerprints below which even one crowded segment value is quickly verified.
_WORTH_COUNTING = 20_000


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

    def answer(self, samples: Sequence[Document]) -> list[SampleResult]:
        """Return the matches of each sample, by distance, then order of ingest."""
        if not samples:
            return []
        words = self._fingerprints([sample.text for sample in samples])
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
        for sample, value, query in zip(samples, values, words, strict=True):
            started = time.perf_counter()
            answer: tuple[list[tuple[int, int]], tuple[int, ...], int, int]
            if scanned is not None:
                answer = scanned[value], (), 0, self._count
            else:
                answer = self._look_up(value, query, plan)
            found, thresholds, probes, candidate_count = answer
            matches = self._matches(found, sample.key)
            explanation = SampleExplanation(
                plan.method, thresholds, probes, candidate_count, time.perf_counter() - started
            )
            results.append(
                SampleResult(sample.key, to_hex(value, self._bits), matches, explanation)
            )
        return results

    def _fingerprints(self, texts: Sequence[str]) -> NDArray[np.uint64]:
        scheme = self._state.scheme
        counts = scheme.count(texts)
        if not scheme.depends_on_corpus:
            return scheme.fingerprints(counts)
        rank_of = self._opened.rank_of_terms(self._connection, self._generation_id)
        ranks = np.array([rank_of.get(term, -1) for term in counts.terms], np.int64)
        return scheme.fingerprints(counts, ranks)

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
        self, value: int, query: NDArray[np.uint64], plan: Plan
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
        # The fast mode stops at the first segment that gives a match.
        steps = [[probe] for probe in probes] if self._options.first else [probes]
        for step in steps:
            candidates = fingerprints.candidates(
                self._connection, self._bits, self._generation_id, step
            )
            looked_up += sum(len(probed) for _, probed in step)
            candidate_count += len(candidates)
            found.update(self._verified(candidates, query))
            if found and self._options.first and not self._is_filtered():
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

    def _is_filtered(self) -> bool:
        options = self._options
        return bool(
            options.exclude_self
            or options.collection is not None
            or options.since is not None
            or options.where
        )

    def _matches(self, found: Sequence[tuple[int, int]], own_key: str) -> tuple[Match, ...]:
        """Return the documents behind the fingerprints, filtered, ordered and cut."""
        if not found or self._generation_id is None:
            return ()
        distance_of = dict(found)
        rows = fingerprints.documents_with(
            self._connection, self._bits, self._generation_id, list(distance_of)
        )
        matches = [
            Match(key.decode("utf-8", "surrogateescape"), distance_of[value], document_id)
            for value, document_id, key in rows
        ]
        options = self._options
        if options.exclude_self:
            matches = [match for match in matches if match.key != own_key]
        if options.collection is not None or options.since is not None or options.where:
            passing = documents.filtered(
                self._connection,
                [match.document_id for match in matches],
                collection=options.collection,
                since=options.since,
                where=options.where,
            )
            matches = [match for match in matches if match.document_id in passing]
        matches.sort(key=lambda match: (match.distance, match.document_id))
        limit = 1 if options.first else options.limit
        return tuple(matches[:limit])
