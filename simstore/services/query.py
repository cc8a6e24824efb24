"""Query: samples to fingerprints, fingerprints to candidates, candidates to verified matches."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace

import numpy as np
from numpy.typing import NDArray

from simstore.errors import InvalidParameter, StaleGeneration, StorageError, printable
from simstore.fingerprint.simhash import to_hex, to_integers
from simstore.model import (
    Document,
    Match,
    QueryOptions,
    QueryRun,
    Rejection,
    SampleExplanation,
    SampleResult,
)
from simstore.search.hamming import verify
from simstore.search.plan import (
    Plan,
    check_radius,
    choose_plan,
    default_radius,
    threshold_cost,
    uniform_costs,
)
from simstore.search.segments import probe_count, probe_values, segment_values, segment_widths
from simstore.services.opened import OpenStore, State, now
from simstore.services.refresh import refresh
from simstore.storage import documents, fingerprints, queries
from simstore.storage.engine import Connection

BATCH_SAMPLES = 256
# Postings of the plain plan above which the planner asks for the posting counts of others.
_SKEWED = 1_000
# Fingerprints below which even one crowded segment value is quickly verified.
_WORTH_COUNTING = 20_000
PLANS = ("auto", "scan", "segments")


def query_samples(
    opened: OpenStore,
    samples: Iterable[Document | Rejection],
    options: QueryOptions,
    *,
    sources: Sequence[str] = (),
    record: bool = True,
    require_fresh: bool = False,
) -> QueryRun:
    """Find the stored documents near each sample.

    Args:
        opened: The store.
        samples: The samples, in order; rejected ones are passed through.
        options: How to look.
        sources: Where the samples come from, for the record.
        record: Keep the run for reports.
        require_fresh: Refresh a stale generation first.

    Raises:
        InvalidParameter: The radius is larger than the fingerprints.
        StaleGeneration: ``require_fresh`` and the store cannot be refreshed.
    """
    started_at, started = now(), time.perf_counter()
    if options.limit is not None and options.limit < 1:
        raise InvalidParameter(f"limit {options.limit}: it must be at least 1")
    if options.plan not in PLANS:
        raise InvalidParameter(f"plan {options.plan!r}: choose one of {', '.join(PLANS)}")
    if require_fresh:
        _refresh_first(opened)
    results: list[SampleResult] = []
    rejections: list[Rejection] = []
    with opened.database.read() as connection:
        state = opened.state(connection)
        bits = state.scheme.bits
        radius = default_radius(bits) if options.radius is None else options.radius
        check_radius(radius, bits)
        search = _Search(opened, connection, state, replace(options, radius=radius))
        batch: list[Document] = []
        for sample in samples:
            if isinstance(sample, Rejection):
                rejections.append(sample)
                continue
            batch.append(sample)
            if len(batch) >= BATCH_SAMPLES:
                results += search.answer(batch)
                batch = []
        results += search.answer(batch)
        stale = stale_reason(connection, state)
    run = QueryRun(
        None, radius, bits, state.scheme.label, tuple(results), stale, None, tuple(rejections)
    )
    if not record:
        return run
    seconds = time.perf_counter() - started
    return _record(opened, run, options, state, sources, started_at, seconds)


def stale_reason(connection: Connection, state: State) -> str | None:
    """Return why the standing generation does not give a batch run's answer; None where it does."""
    if not state.scheme.depends_on_corpus or state.settings.policy == "frozen":
        if state.generation is None and state.settings.changes:
            return "no generation stands yet: no document can be found"
        return None
    if state.is_fresh:
        return None
    waiting = documents.count(connection)
    if state.generation is not None:
        waiting -= fingerprints.link_count(
            connection, state.scheme.bits, state.generation.generation_id
        )
    return (
        "the vocabulary has changed since the standing generation was made"
        if not waiting
        else f"{waiting:,} documents wait for the next generation"
    )


def _refresh_first(opened: OpenStore) -> None:
    with opened.database.read() as connection:
        state = opened.state(connection)
        reason = stale_reason(connection, state)
    if reason is None:
        return
    try:
        refresh(opened)
    except StorageError as error:
        raise StaleGeneration(f"{reason}, and it cannot be refreshed ({error})") from error


def _record(
    opened: OpenStore,
    run: QueryRun,
    options: QueryOptions,
    state: State,
    sources: Sequence[str],
    started_at: int,
    seconds: float,
) -> QueryRun:
    """Keep the run; an answer is not lost because it cannot be kept."""
    kept = {name: value for name, value in asdict(options).items() if value not in (None, False)}
    try:
        with opened.write() as connection:
            run_id = queries.record_run(
                connection,
                run,
                sources=[printable(source) for source in sources],
                options=kept,
                generation_id=state.generation.generation_id if state.generation else None,
                started_at=started_at,
                seconds=seconds,
            )
    except StorageError as error:
        return replace(run, not_recorded=str(error))
    return replace(run, run_id=run_id)


class _Search:
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
            passing = fingerprints.filtered_documents(
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
