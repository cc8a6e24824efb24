"""Query: samples to fingerprints, fingerprints to candidates, candidates to verified matches."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace

from simstore.errors import InvalidParameter, StaleGeneration, StorageError, printable
from simstore.model import (
    Document,
    QueryOptions,
    QueryRun,
    Rejection,
    SampleResult,
)
from simstore.search.methods import METHODS, check_method
from simstore.search.plan import check_radius, default_radius
from simstore.services.finding.matching import Matcher
from simstore.services.opened import OpenStore, State, now
from simstore.services.upkeep.refresh import refresh
from simstore.storage import documents, fingerprints, queries
from simstore.storage.engine import Connection

BATCH_SAMPLES = 256
BATCH_CHARACTERS = 4 << 20


def query_samples(
    opened: OpenStore,
    samples: Iterable[Document | Rejection],
    options: QueryOptions,
    *,
    sources: Sequence[str] = (),
    record: bool = True,
    require_fresh: bool = False,
    on_progress: Callable[[], None] | None = None,
) -> QueryRun:
    """Find the stored documents near each sample.

    Args:
        opened: The store.
        samples: The samples, in order; rejected ones are passed through.
        options: How to look.
        sources: Where the samples come from, for the record.
        record: Keep the run for reports.
        require_fresh: Refresh a stale generation first.
        on_progress: Called after each batch of samples.

    Raises:
        InvalidParameter: The radius is larger than the fingerprints or than the plan can do, a
            threshold is not from 0 to 1, or the store has not the channel.
        StaleGeneration: ``require_fresh`` and the store cannot be refreshed.
    """
    started_at, started = now(), time.perf_counter()
    if options.limit is not None and options.limit < 1:
        raise InvalidParameter(f"limit {options.limit}: it must be at least 1")
    if options.plan not in METHODS:
        raise InvalidParameter(f"plan {options.plan!r}: choose one of {', '.join(METHODS)}")
    if options.since is not None and not abs(options.since) < 1 << 63:
        shown = str(options.since)[:20]
        raise InvalidParameter(f"since {shown}: it is no time in seconds since 1970")
    for name in ("min_resemblance", "min_containment", "min_likeness", "min_cosine"):
        least = getattr(options, name)
        if least is not None and not 0 <= least <= 1:
            raise InvalidParameter(f"{name.replace('_', ' ')} {least}: it must be from 0 to 1")
    if require_fresh:
        _refresh_first(opened)
    results: list[SampleResult] = []
    rejections: list[Rejection] = []
    with opened.database.read() as connection:
        with opened.computing():
            state = opened.state(connection)
            bits = state.scheme.bits
            radius = default_radius(bits) if options.radius is None else options.radius
            check_radius(radius, bits)
            check_method(options.plan, bits, radius)
            matcher = Matcher(opened, connection, state, replace(options, radius=radius))
        batch: list[Document] = []
        size = 0
        for sample in samples:
            if isinstance(sample, Rejection):
                rejections.append(sample)
                continue
            batch.append(sample)
            size += len(sample.text)
            if len(batch) >= BATCH_SAMPLES or size >= BATCH_CHARACTERS:
                with opened.computing(size):
                    results += matcher.answer(batch)
                batch, size = [], 0
                if on_progress is not None:
                    on_progress()
        with opened.computing(size):
            results += matcher.answer(batch)
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
    if not state.channels.simhash:
        return None
    if state.generation is None:
        if not state.settings.changes:
            return None
        return "no generation was made yet, so no document is found by its fingerprint"
    if not state.scheme.depends_on_corpus or state.settings.policy == "frozen" or state.is_fresh:
        return None
    waiting = documents.count(connection) - fingerprints.link_count(
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
    kept = {
        field.name: getattr(options, field.name)
        for field in fields(options)
        if getattr(options, field.name) != field.default
    }
    try:
        # Beside ingests: it claims nothing that they decide of.
        with opened.write(()) as connection:
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
