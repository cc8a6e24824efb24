"""Run a query: for each text asked about, called a sample, find the similar stored documents."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import fields, replace

from simstore import compiled
from simstore.errors import (
    InvalidParameter,
    StaleGeneration,
    StorageError,
    counted,
    printable,
)
from simstore.model import (
    Document,
    Match,
    QueryOptions,
    QueryRun,
    Rejection,
    SampleResult,
)
from simstore.model.documents import SourceFacts
from simstore.search.methods import METHODS, check_method
from simstore.search.plan import check_radius, default_radius
from simstore.services.open_store.open_store import SHORT_CHARACTERS, OpenStore, Snapshot, now
from simstore.services.open_store.state import State
from simstore.services.query.matching import Matcher
from simstore.storage import documents, queries
from simstore.storage.connection import Connection
from simstore.storage.engine import Database
from simstore.storage.fingerprints import fingerprints
from simstore.workers.shared_work import SharedWork, early_workers, in_order, worker_count

_UNTOLD = SourceFacts()
BATCH_SAMPLES = 256
BATCH_CHARACTERS = 4 << 20
# What is answered before worker processes are started takes about as long as starting them.
ALONE_BATCHES = 8
ALONE_CHARACTERS = 8 << 20


def query_samples(
    opened: OpenStore,
    samples: Iterable[Document | Rejection],
    options: QueryOptions,
    *,
    sources: Sequence[str] = (),
    record: bool = True,
    require_fresh: bool = False,
    on_progress: Callable[[], None] | None = None,
    threads: int | None = 1,
    expected_characters: int = 0,
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
        threads: Processes that compute, with this one; None: as many as there are processors.
            Others are started after :data:`ALONE_BATCHES` batches or :data:`ALONE_CHARACTERS`. All
            read the same snapshot: those that cannot, as something was committed to an SQLite
            file meanwhile, are not asked.
        expected_characters: How long all samples are, as far as is known: where it is much, others
            are used from the first on.

    Raises:
        InvalidParameter: The radius is larger than the fingerprints or than the plan can do, a
            threshold is not from 0 to 1, or the store has not the channel.
        StaleGeneration: ``require_fresh`` and the store cannot be refreshed.
    """
    started_at, started = now(), time.perf_counter()
    threads = worker_count(threads)
    if options.limit is not None and options.limit < 1:
        raise InvalidParameter(f"limit {options.limit}: it must be at least 1")
    if options.plan not in METHODS:
        raise InvalidParameter(f"plan {options.plan!r}: choose one of {', '.join(METHODS)}")
    for name in ("min_resemblance", "min_containment", "min_character_resemblance"):
        least = getattr(options, name)
        if least is not None and not 0 <= least <= 1:
            raise InvalidParameter(f"{name.replace('_', ' ')} {least}: it must be from 0 to 1")
    if require_fresh:
        _refresh_first(opened)
    results: list[SampleResult] = []
    rejections: list[Rejection] = []
    # Threads that changed places within a question would wait for each other at each statement.
    is_whole = threads == 1 and on_progress is None and _is_short(samples)
    computing = _in_the_same_turn if is_whole else opened.computing
    compiled.announce(expected_characters)
    is_much = expected_characters > ALONE_CHARACTERS
    with (
        opened.computing() if is_whole else nullcontext(),
        early_workers(threads - 1 if is_much else 0, __name__) as workers,
        opened.database.share(threads) as shared,
    ):
        with computing():
            snapshot = opened.snapshot(shared.connection)
            radius, matcher = _matcher(snapshot, options)

        def answer(batch: list[Document]) -> list[SampleResult]:
            with computing(_characters(batch)):
                return matcher.answer(batch)

        work = SharedWork(
            count=threads,
            opening=_answering,
            arguments=lambda: (
                opened.database.place,
                shared.name(),
                replace(options, radius=radius),
            ),
            is_valid=shared.is_latest,
            least_items=ALONE_BATCHES,
            least_weight=ALONE_CHARACTERS,
            weight=_characters,
            early=workers,
        )
        for answered in in_order(_batches(samples, rejections), answer, work):
            results += answered
            if on_progress is not None:
                on_progress()
        with computing():
            results = with_facts(snapshot.connection, results)
            stale = stale_reason(snapshot)
            unknown: tuple[str, ...] = ()
            if options.where and not any(result.matches for result in results):
                names = (name for name, _ in options.conditions)
                unknown = documents.unknown_fields(snapshot.connection, names)
    run = QueryRun(
        run_id=None,
        radius=radius,
        bits=snapshot.scheme.bits,
        scheme=snapshot.scheme.label,
        samples=tuple(results),
        stale=stale,
        not_recorded=None,
        rejections=tuple(rejections),
        unknown_fields=unknown,
    )
    if not record:
        return run
    seconds = time.perf_counter() - started
    return _record(opened, run, options, snapshot, sources, started_at, seconds)


def _matcher(snapshot: Snapshot, options: QueryOptions) -> tuple[int, Matcher]:
    """Return the radius, and the matcher of a snapshot."""
    bits = snapshot.scheme.bits
    radius = default_radius(bits) if options.radius is None else options.radius
    check_radius(radius, bits)
    check_method(options.plan, bits, radius)
    return radius, Matcher(snapshot, replace(options, radius=radius))


def _short_samples() -> list[Document]:
    """Return so many samples that they are looked up as many are."""
    words = [f"w{number}" for number in range(200)]
    return [Document(f"{n}", " ".join(words[n : n + 100])) for n in range(64)]


def _is_short(samples: Iterable[Document | Rejection]) -> bool:
    """Return whether samples are there already, and short."""
    return (
        isinstance(samples, list)
        and _characters(sample for sample in samples if isinstance(sample, Document))
        <= SHORT_CHARACTERS
    )


def _in_the_same_turn(_characters: int = 0) -> AbstractContextManager[None]:
    return nullcontext()


def _batches(
    samples: Iterable[Document | Rejection], rejections: list[Rejection]
) -> Iterator[list[Document]]:
    """Yield samples that are answered together; put aside what was rejected."""
    batch: list[Document] = []
    size = 0
    for sample in samples:
        if isinstance(sample, Rejection):
            rejections.append(sample)
            continue
        batch.append(sample)
        size += len(sample.text)
        if len(batch) >= BATCH_SAMPLES or size >= BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _characters(batch: Iterable[Document]) -> int:
    return sum(len(sample.text) for sample in batch)


@contextmanager
def _answering(
    place: str, snapshot: str | None, options: QueryOptions
) -> Iterator[Callable[[list[Document]], list[SampleResult]]]:
    """Yield the function that answers batches of samples in a worker process."""
    with (
        closing(Database(place, read_only=True)) as database,
        database.read(snapshot) as connection,
    ):
        _, matcher = _matcher(OpenStore(database).snapshot(connection), options)
        # Before it is asked: the others would wait for its first answer.
        matcher.answer(_short_samples())
        yield matcher.answer


def with_facts(connection: Connection, samples: Sequence[SampleResult]) -> list[SampleResult]:
    """Return results whose matches tell what their documents tell of themselves.

    Args:
        connection: A snapshot.
        samples: The results. Of a document that is gone nothing is told.
    """
    found = {match.document_id for sample in samples for match in sample.matches}
    if not found:
        return list(samples)
    facts = documents.source_facts_of(connection, sorted(found))
    return [
        replace(
            sample,
            matches=tuple(_told(match, facts.get(match.document_id)) for match in sample.matches),
        )
        if sample.matches
        else sample
        for sample in samples
    ]


def _told(match: Match, facts: SourceFacts | None) -> Match:
    known = facts or _UNTOLD
    if known.title is known.author is known.date is known.url is None:
        return match
    return replace(match, title=known.title, author=known.author, date=known.date, url=known.url)


def stale_reason(snapshot: Snapshot) -> str | None:
    """Return why the current generation does not give a batch run's answer; None where it does."""
    if not snapshot.channels.has_fingerprints:
        return None
    if snapshot.generation is None:
        if not snapshot.settings.changes:
            return None
        return "no generation was made yet, so no document is found by its fingerprint"
    if (
        not snapshot.scheme.depends_on_corpus
        or snapshot.settings.policy == "frozen"
        or snapshot.is_fresh
    ):
        return None
    waiting = documents.count(snapshot.connection) - fingerprints.link_count(
        snapshot.connection, snapshot.scheme.bits, snapshot.generation.generation_id
    )
    return (
        "the vocabulary has changed since the standing generation was made"
        if not waiting
        else counted(waiting, "document waits", "documents wait") + " for the next generation"
    )


def _refresh_first(opened: OpenStore) -> None:
    with opened.database.read() as connection:
        snapshot = opened.snapshot(connection)
        reason = stale_reason(snapshot)
    if reason is None:
        return
    from simstore.services.generations.refresh import refresh

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
