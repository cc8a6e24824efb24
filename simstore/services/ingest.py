"""Ingest: sources to documents, in batches that commit with their place in the source.

A reader cuts sources into batches; threads prepare them (decode, count, fingerprint, compress);
one writer commits them in the order of the sources, several to a transaction while they come fast.
A transaction is all there or not at all, with the position after it, so the same command after an
interruption goes on where the last commit ended.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from simstore import __version__
from simstore.errors import (
    InvalidParameter,
    MalformedRecord,
    SourceNotFound,
    StorageError,
    UnreadableSource,
    printable,
)
from simstore.model import (
    Document,
    Duplicate,
    IngestProgress,
    IngestSummary,
    OnDuplicate,
    PassedOver,
    Rejection,
    SourceState,
)
from simstore.services import pack
from simstore.services.batches import BatchOutcome
from simstore.services.check_insert import check_and_store
from simstore.services.edges import check_verifiable
from simstore.services.history import see_again
from simstore.services.opened import OpenStore, State, now
from simstore.services.pipeline import in_order, with_last
from simstore.services.prepare import PreparedBatch, is_prepared_for, prepare
from simstore.services.refresh import Progress, refresh
from simstore.services.screen import CheckOptions
from simstore.services.source_batches import (
    BATCH_CHARACTERS,
    Batch,
    batches_of_documents,
    batches_of_sources,
)
from simstore.sources.source import Source
from simstore.storage import deltas, generations, runs
from simstore.storage.engine import Connection
from simstore.text.decoding import encode

# Documents that are prepared together, and that are committed together: each page of an index that
# a transaction changes is written once, however many rows it takes.
BATCH_DOCUMENTS = 1_000
COMMIT_DOCUMENTS = 8_000
_COMMIT_CHARACTERS = 16 * BATCH_CHARACTERS
# While documents come slowly, what is prepared is committed about as often.
_COMMIT_SECONDS = 1.0
_THREADS = min(os.cpu_count() or 1, 4)
# Documents of a run, or runs of fewer, after which is looked whether a tail is long.
_LOOKED_AT = 256
Work = tuple[Batch, PreparedBatch, State]
_COUNTS = (
    "added", "updated", "unchanged", "flagged", "skipped", "duplicates", "rejected", "byte_count",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class IngestOptions:
    """How to ingest.

    Attributes:
        collection: Collection of documents that name none.
        strict: Stop at the first record that cannot be used.
        refresh: Refresh a live store at the end.
        threads: Threads that prepare batches; None: as many as there are processors, at most 4.
        batch_documents: Most documents a transaction.
        on_duplicate: What is done with a document that duplicates one which is stored: ``keep``
            stores it without looking; ``flag`` stores it and what it duplicates; ``skip`` stores
            only what it duplicates.
        min_resemblance: Least resemblance of a duplicate to its original, above 0, at most 1.
        from_start: Read from their start the sources that could be read on, too.
    """

    collection: str | None = None
    strict: bool = False
    refresh: bool = True
    threads: int | None = None
    batch_documents: int = COMMIT_DOCUMENTS
    on_duplicate: OnDuplicate = "keep"
    min_resemblance: float = 0.8
    from_start: bool = False

    def __post_init__(self) -> None:
        if self.threads is not None and self.threads < 1:
            raise InvalidParameter(f"{self.threads} threads: there must be at least 1")
        if self.batch_documents < 1:
            raise InvalidParameter(f"batches of {self.batch_documents}: there must be at least 1")
        _ = self.check

    @property
    def check(self) -> CheckOptions | None:
        """What is looked for before a document is stored; None: nothing.

        Raises:
            InvalidParameter: An option is out of its range.
        """
        options = CheckOptions(self.on_duplicate, self.min_resemblance)
        return None if self.on_duplicate == "keep" else options


@dataclass(frozen=True, slots=True)
class Observer:
    """What a caller wants to hear of, and whether it wants to stop.

    Attributes:
        on_progress: Called after each commit.
        on_reject: Called for each rejected record, after its commit.
        on_duplicate: Called with a key and the key of the earlier document with its content.
        on_refresh: Called while a live store is refreshed, with documents done and in all.
        should_stop: Asked before each batch; True stops at the batch's boundary.
        on_found: Called for each duplicate that a check before the insert found.
        on_pass_over: Called for each part of a source that is no document and shall be none.
    """

    on_progress: Callable[[IngestProgress], None] = lambda _progress: None
    on_reject: Callable[[Rejection], None] = lambda _rejection: None
    on_duplicate: Callable[[str, str], None] = lambda _key, _original: None
    on_refresh: Progress = lambda _done, _total: None
    should_stop: Callable[[], bool] = lambda: False
    on_found: Callable[[Duplicate], None] = lambda _duplicate: None
    on_pass_over: Callable[[PassedOver], None] = lambda _part: None


@dataclass(slots=True)
class _Run:
    """A run under way: its number, its counts so far, and the sources it knows.

    Attributes:
        run_id: None until its first commit.
        state: What stood at its last commit.
        orphans: Keys that were skipped because of documents which it removed or changed.
        packed_at: Documents that it had written when it last looked whether a tail is long.
    """

    names: Sequence[str]
    run_id: int | None = None
    counts: Counter[str] = field(default_factory=Counter)
    source_ids: dict[str, int | None] = field(default_factory=dict)
    states: dict[str, SourceState] = field(default_factory=dict)
    from_start: dict[str, bool] = field(default_factory=dict)
    resumed_at: dict[str, int] = field(default_factory=dict)
    state: State | None = None
    total_bytes: int | None = 0
    finished_bytes: int = 0
    orphans: set[bytes] = field(default_factory=set)
    packed_at: int = 0

    def forget(self, name: str) -> None:
        """Forget a source that was read to its end."""
        for known in (self.states, self.source_ids, self.from_start):
            known.pop(name, None)


def ingest_sources(
    opened: OpenStore,
    sources: Sequence[Source],
    options: IngestOptions,
    observer: Observer,
) -> IngestSummary:
    """Ingest sources, one after the other.

    Raises:
        MalformedRecord: ``strict`` and a record cannot be used; what came before is committed.
        StorageError: The store cannot be written; what was committed stays.
    """
    run = _Run([printable(source.name) for source in sources])
    with opened.database.read() as connection:
        for source in sources:
            _look_up(connection, run, source, from_start=options.from_start)
            with suppress(SourceNotFound, OSError):
                size = source.total_bytes
                if run.total_bytes is not None:
                    run.total_bytes = None if size is None else run.total_bytes + size

    def state_of(source: Source) -> SourceState | None:
        if source.name not in run.states:
            # A member of an archive. What is read is cut into batches between two transactions.
            with opened.database.read() as connection:
                _look_up(connection, run, source, from_start=options.from_start)
        return run.states.get(source.name)

    most = min(options.batch_documents, BATCH_DOCUMENTS)
    batches = batches_of_sources(sources, state_of, most, strict=options.strict)
    return _run(opened, run, batches, options, observer)


def ingest_batches(
    opened: OpenStore,
    batches: Iterable[Batch],
    source_ids: Mapping[str, int],
    options: IngestOptions,
    observer: Observer,
) -> IngestSummary:
    """Ingest batches of sources that are known by their numbers."""
    run = _Run([printable(name) for name in source_ids], source_ids=dict(source_ids))
    return _run(opened, run, batches, options, observer)


def ingest_documents(
    opened: OpenStore, given: Iterable[Document], options: IngestOptions, observer: Observer
) -> IngestSummary:
    """Ingest documents that come from no source."""
    batches = batches_of_documents(given, min(options.batch_documents, BATCH_DOCUMENTS))
    return _run(opened, _Run([]), batches, options, observer)


def _look_up(connection: Connection, run: _Run, source: Source, *, from_start: bool) -> None:
    """Find out how far a source was ingested before."""
    with suppress(UnreadableSource, SourceNotFound):
        state = source.state()
        known = runs.source_state(connection, encode(source.name))
        run.source_ids[source.name] = known[0] if known else None
        if known and not from_start:
            before = known[1]
            goes_on = not before.complete and before.is_same_content(state)
            # A record that was rejected last may have broken off.
            if goes_on or (
                source.has_grown(before)
                and not runs.is_rejected(connection, encode(source.name), before.position - 1)
            ):
                state = replace(state, position=before.position, byte_offset=before.byte_offset)
                run.resumed_at[source.name] = state.position
        run.states[source.name] = state
        run.from_start[source.name] = state.position == 0


def _run(
    opened: OpenStore,
    run: _Run,
    batches: Iterable[Batch],
    options: IngestOptions,
    observer: Observer,
) -> IngestSummary:
    interrupted = False
    finished = False
    try:
        for works, is_last in with_last(_together(_prepared(opened, batches, options), options)):
            refused = works[-1][0].rejections if options.strict else []
            ends_run = is_last and not refused
            _commit(opened, run, works, observer, options.check, ends_run=ends_run)
            finished = is_last and not refused
            if options.check is not None and not finished:
                _pack_under_way(opened, run)
            if refused:
                raise MalformedRecord(refused[0].source, refused[0].position, refused[0].reason)
            if observer.should_stop() and not is_last:
                interrupted = True
                break
    finally:
        if run.run_id is not None and not finished:
            # Where even this cannot be written, the run stays "running".
            with suppress(StorageError), opened.write() as connection:
                runs.end_run(connection, run.run_id, "interrupted", now())
    summary = IngestSummary(
        run.run_id,
        run.counts["added"],
        run.counts["updated"],
        run.counts["unchanged"],
        run.counts["duplicates"],
        run.counts["rejected"],
        run.counts["byte_count"],
        interrupted,
        run.resumed_at,
        run.counts["flagged"],
        run.counts["skipped"],
        len(run.orphans),
        run.counts["passed_over"],
        run.counts["undecodable"],
    )
    if interrupted:
        return summary
    if (
        options.refresh
        and (run.state is None or run.state.scheme.depends_on_corpus)
        and not _refresh_after(opened, observer)
    ):
        return replace(summary, interrupted=True)
    often = min(_LOOKED_AT, pack.LONG_TAIL)
    written = summary.added + summary.updated + summary.flagged
    if run.state is None or written >= often or run.state.settings.changes % often == 0:
        pack.pack_long_tail(opened)
    return summary


def _pack_under_way(opened: OpenStore, run: _Run) -> None:
    """Pack what a run that looks documents up has stored: it holds a tail in memory."""
    written = run.counts["added"] + run.counts["updated"] + run.counts["flagged"]
    if written - run.packed_at >= pack.LONG_TAIL:
        run.packed_at = written
        pack.pack_long_tail(opened)


class _Stopped(Exception):
    """A refresh was asked to stop between two of its transactions."""


def _refresh_after(opened: OpenStore, observer: Observer) -> bool:
    """Refresh a live store, or one that has no generation yet; return False where it stopped."""

    def on_progress(done: int, total: int) -> None:
        observer.on_refresh(done, total)
        if observer.should_stop():
            raise _Stopped

    with opened.database.read() as connection:
        state = opened.state(connection)
    if not state.is_fresh and (state.settings.policy == "live" or state.generation is None):
        try:
            refresh(opened, on_progress=on_progress)
        except _Stopped:
            return False
    return True


def _prepared(
    opened: OpenStore, batches: Iterable[Batch], options: IngestOptions
) -> Iterator[Work]:
    """Yield the batches in order, prepared by threads."""
    known = opened.last_state
    if known is None:
        with opened.database.read() as connection:
            known = opened.state(connection)
    # The writer looks whether it still stands.
    state = known
    if options.check is not None:
        check_verifiable(state)

    def prepared(batch: Batch) -> Work:
        documents = batch.documents
        if options.collection is not None:
            documents = [
                d if d.collection else replace(d, collection=options.collection) for d in documents
            ]
        return batch, prepare(documents, state), state

    # Threads have something to do while a transaction is written.
    return in_order(
        prepared,
        batches,
        options.threads or _THREADS,
        most_ahead=COMMIT_DOCUMENTS // BATCH_DOCUMENTS,
        weight=lambda batch: batch.size,
        most_weight=_COMMIT_CHARACTERS,
    )


def _together(works: Iterable[Work], options: IngestOptions) -> Iterator[list[Work]]:
    """Yield the batches of one transaction each; those before an error too."""
    gathered: list[Work] = []
    documents = size = 0
    began = time.monotonic()
    try:
        for work in works:
            batch = work[0]
            if gathered and documents + batch.record_count > options.batch_documents:
                yield gathered
                gathered, documents, size, began = [], 0, 0, time.monotonic()
            gathered.append(work)
            documents += batch.record_count
            size += batch.size
            if (
                documents >= options.batch_documents
                or size >= _COMMIT_CHARACTERS
                or time.monotonic() - began >= _COMMIT_SECONDS
                or (options.strict and batch.rejections)
            ):
                yield gathered
                gathered, documents, size, began = [], 0, 0, time.monotonic()
    except Exception:
        if gathered:
            yield gathered
        raise
    if gathered:
        yield gathered


def _commit(
    opened: OpenStore,
    run: _Run,
    works: Sequence[Work],
    observer: Observer,
    check: CheckOptions | None,
    *,
    ends_run: bool,
) -> None:
    """Write batches, their rejections and their places in the sources in one transaction."""
    counts = Counter(run.counts)
    source_ids = dict(run.source_ids)
    orphans = set(run.orphans)
    seen_at = now()
    outcomes = []
    with opened.write() as connection:
        state = opened.state(connection)
        generations.refuse_during_reindex(connection)
        run_id = run.run_id
        if run_id is None:
            run_id = runs.begin_run(connection, run.names, seen_at, __version__)
        for batch, prepared, prepared_with in works:
            if not is_prepared_for(prepared_with, state):
                prepared = prepare(prepared.documents, state)
            _put_marks(connection, run, batch, run_id, source_ids)
            of_documents = {
                place: source_id
                for place, owner in enumerate(batch.owners)
                if owner is not None and (source_id := source_ids.get(owner)) is not None
            }
            outcome = check_and_store(
                opened,
                connection,
                state,
                prepared,
                check,
                run_id=run_id,
                seen_at=seen_at,
                source_ids=of_documents,
            )
            outcomes.append(outcome)
            see_again(
                connection,
                (
                    (encode(part.seen_key), part.seen_at)
                    for part in batch.passed_over
                    if part.seen_key is not None and part.seen_at is not None
                ),
            )
            orphans = (orphans - outcome.renewed) | outcome.orphans
            runs.drop_rejections_at(connection, batch.settled)
            runs.put_rejections(connection, run_id, batch.rejections, seen_at)
            for name, mark in batch.marks.items():
                if mark.ends and run.from_start.get(name):
                    runs.drop_old_rejections(
                        connection, encode(name), run_id, of_members=mark.is_archive
                    )
            counts.update(outcome.outcomes)
            counts["duplicates"] += len(outcome.duplicates)
            counts["rejected"] += len(batch.rejections)
            counts["passed_over"] += len(batch.passed_over)
            counts["undecodable"] += sum(
                "replaced_bytes" in one.metadata for one in batch.documents
            )
            counts["byte_count"] += sum(prepared.sizes)
        deltas.merge_many(connection, state.scheme_id, len(works))
        runs.count_in_run(
            connection,
            run_id,
            {name: counts[name] for name in _COUNTS},
            finished_at=now() if ends_run else None,
        )
    run.run_id, run.counts, run.source_ids, run.state = run_id, counts, source_ids, state
    run.orphans = orphans
    for (batch, prepared, _), outcome in zip(works, outcomes, strict=True):
        _tell(run, batch, prepared, outcome, observer)
    _tell_progress(run, works[-1][0], observer)


def _put_marks(
    connection: Connection,
    run: _Run,
    batch: Batch,
    run_id: int,
    source_ids: dict[str, int | None],
) -> None:
    """Write how far the sources are read with this batch; note their numbers."""
    for name, mark in batch.marks.items():
        if name in run.states:
            state = replace(
                run.states[name],
                position=mark.position,
                byte_offset=mark.byte_offset,
                complete=mark.ends,
            )
            source_ids[name] = runs.put_source(
                connection, source_ids.get(name), encode(name), state, run_id
            )


def _tell(
    run: _Run,
    batch: Batch,
    prepared: PreparedBatch,
    outcome: BatchOutcome,
    observer: Observer,
) -> None:
    for place, original in outcome.duplicates.items():
        key = prepared.documents[place].key
        observer.on_duplicate(key, original.decode("utf-8", "surrogateescape"))
    for duplicate in outcome.found:
        observer.on_found(duplicate)
    for rejection in batch.rejections:
        observer.on_reject(rejection)
    for part in batch.passed_over:
        observer.on_pass_over(part)
    for name, mark in batch.marks.items():
        if mark.ends:
            run.finished_bytes += mark.source.bytes_read
            if mark.is_member:
                # An archive may have very many.
                run.forget(name)


def _tell_progress(run: _Run, batch: Batch, observer: Observer) -> None:
    """Tell how far the run is after the last batch of a transaction."""
    under_way = [mark.source.bytes_read for mark in batch.marks.values() if not mark.ends]
    counts = run.counts
    observer.on_progress(
        IngestProgress(
            next(reversed(batch.marks), ""),
            run.finished_bytes + sum(under_way[-1:]),
            run.total_bytes,
            sum(counts[name] for name in ("added", "updated", "unchanged", "flagged", "skipped")),
            counts["rejected"],
        )
    )
