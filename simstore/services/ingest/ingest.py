"""Ingest sources: read, prepare and commit their documents in batches, resumable after a stop.

A reader cuts sources into batches; threads prepare them (decode, count, fingerprint, compress);
one writer commits them in the order of the sources, several to a transaction while they come fast.
A transaction is all there or not at all, with the position after it, so the same command after an
interruption goes on where the last commit ended.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from typing import TypeVar

from simstore import compiled
from simstore.errors import (
    MalformedRecord,
    SourceNotFound,
    StorageError,
    UnreadableSource,
    printable,
)
from simstore.index import tuning
from simstore.model import (
    Document,
    IngestSummary,
    Rejection,
    SourceState,
)
from simstore.processors import usual_processor_count
from simstore.services.channels.store_part import pack_long_tails
from simstore.services.features.prepare import prepare
from simstore.services.generations.refresh import refresh
from simstore.services.ingest.duplicate_checker import DuplicateRule
from simstore.services.ingest.options import IngestOptions, Observer
from simstore.services.ingest.pipeline import collected_between, in_order, with_last
from simstore.services.ingest.run import Guard, Run, Work, commit
from simstore.services.ingest.source_batches import (
    BATCH_CHARACTERS,
    Batch,
    batches_of_documents,
    batches_of_sources,
)
from simstore.services.open_store.open_store import OpenStore, now
from simstore.services.open_store.state import State
from simstore.sources.source import Source
from simstore.storage import runs
from simstore.storage.engine import Connection
from simstore.text.decoding import encode, storable

__all__ = ["IngestOptions", "Observer", "ingest_batches", "ingest_documents", "ingest_sources"]

Item = TypeVar("Item")
# Documents that are prepared together.
BATCH_DOCUMENTS = 1_000
_COMMIT_CHARACTERS = 16 * BATCH_CHARACTERS
# While documents come slowly, what is prepared is committed about as often.
_COMMIT_SECONDS = 1.0
_MOST_THREADS = 4
# Documents of a run, or runs of fewer, after which is looked whether a tail is long.
_LOOKED_AT = 256


def ingest_sources(
    opened: OpenStore,
    sources: Sequence[Source],
    options: IngestOptions,
    observer: Observer,
    *,
    passed_over: int = 0,
) -> IngestSummary:
    """Ingest sources, one after the other.

    Args:
        opened: The store.
        sources: The sources.
        options: How to ingest.
        observer: Hears of what happens.
        passed_over: Files beside them that are no sources, for the summary.

    Raises:
        MalformedRecord: ``strict`` and a record cannot be used; what came before is committed.
        StorageError: The store cannot be written; what was committed stays.
    """
    run = Run([printable(source.name) for source in sources])
    run.counts["passed_over"] = passed_over
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
    batches = batches_of_sources(
        sources, state_of, most, strict=options.strict, key=options.input_key
    )
    return _run(opened, run, batches, options, observer)


def ingest_batches(
    opened: OpenStore,
    batches: Iterable[Batch],
    source_ids: Mapping[str, int],
    options: IngestOptions,
    observer: Observer,
) -> IngestSummary:
    """Ingest batches of sources that the store already knows by number."""
    run = Run([printable(name) for name in source_ids], source_ids=dict(source_ids))
    return _run(opened, run, batches, options, observer)


def ingest_documents(
    opened: OpenStore,
    given: Iterable[Document | Rejection],
    options: IngestOptions,
    observer: Observer,
    *,
    names: Sequence[str] = (),
    guard: Guard | None = None,
) -> IngestSummary:
    """Ingest documents that come from no source, and keep the rejections among them.

    Args:
        opened: The store.
        given: The documents.
        options: How to ingest.
        observer: Hears of what happens.
        names: What the run is called in the list of runs.
        guard: Called in each transaction before it writes, with the number of the run and the keys
            of the documents; what it raises rolls the transaction back and ends the run.
    """
    batches = batches_of_documents(given, min(options.batch_documents, BATCH_DOCUMENTS))
    return _run(opened, Run(list(names), guard=guard), batches, options, observer)


def _look_up(connection: Connection, run: Run, source: Source, *, from_start: bool) -> None:
    """Find out how far a source was ingested before."""
    with suppress(UnreadableSource, SourceNotFound):
        state = source.state()
        if state.path:
            # A file has one name, whether its path is relative or absolute.
            source.name = runs.source_at(connection, state.path) or source.name
        known = runs.source_state(connection, encode(source.name))
        run.source_ids[source.name] = known[0] if known else None
        if known and not from_start:
            before = known[1]
            goes_on = not before.complete and before.is_same_content(state)
            # A record that was rejected last may have broken off; one that another source
            # replaced is to come again.
            if goes_on or (
                source.has_grown(before)
                and not runs.is_rejected(connection, encode(source.name), before.position - 1)
                and not runs.was_replaced(connection, known[0])
            ):
                state = replace(state, position=before.position, byte_offset=before.byte_offset)
                run.resumed_at[source.name] = state.position
        if known and known[1].path not in ("", state.path):
            run.elsewhere.add(source.name)
        if known and not state.position and (from_start or not known[1].is_same_content(state)):
            run.rewritten.add(source.name)
        run.states[source.name] = state
        run.from_start[source.name] = state.position == 0


def _run(
    opened: OpenStore,
    run: Run,
    batches: Iterable[Batch],
    options: IngestOptions,
    observer: Observer,
) -> IngestSummary:
    interrupted = False
    finished = False
    check: DuplicateRule | None = None
    try:
        known = known_state(opened)
        check = options.check_in(known.settings)
        if check is not None:
            check.measure(known)
        compiled.announce(run.total_bytes or 0)
        # Which is the last is known before it is prepared: nothing waits for what comes after it.
        # Its threads end with the run, whatever holds on to an error that ended it.
        with (
            collected_between() as collect,
            closing(_prepared(with_last(batches), options, known)) as prepared,
        ):
            for works, is_last in _read_in(observer, _together(prepared, options)):
                refused = works[-1][0].rejections if options.strict else []
                ends_run = is_last and not refused
                commit(opened, run, works, observer, check, ends_run=ends_run)
                finished = is_last and not refused
                if check is not None and not finished:
                    _pack_under_way(opened, run)
                if refused:
                    raise MalformedRecord(refused[0].source, refused[0].position, refused[0].reason)
                if observer.should_stop() and not is_last:
                    interrupted = True
                    break
                if not is_last:
                    collect()
    finally:
        if run.run_id is not None and not finished:
            # Where even this cannot be written, the run stays "running".
            with suppress(StorageError), opened.write() as connection:
                runs.end_run(connection, run.run_id, "interrupted", now())
    summary = IngestSummary(
        run_id=run.run_id,
        added=run.counts["added"],
        updated=run.counts["updated"],
        unchanged=run.counts["unchanged"],
        identical_texts=run.counts["duplicates"],
        rejected=run.counts["rejected"],
        byte_count=run.counts["byte_count"],
        interrupted=interrupted,
        resumed_at=run.resumed_at,
        flagged=run.counts["flagged"],
        skipped=run.counts["skipped"],
        orphaned=len(run.orphans),
        uncovered=len(run.uncovered),
        passed_over=run.counts["passed_over"],
        undecodable=run.counts["undecodable"],
        unflagged=len(run.unflagged),
        detected=dict(run.detected),
        displaced=run.counts["displaced"],
        repeated=run.counts["repeated"],
        repeated_keys=run.repeated_keys,
        other_folder=run.counts["other_folder"],
        other_folder_keys=run.other_folder_keys,
        markup=run.counts["markup"],
    )
    if interrupted:
        return summary
    written = summary.added + summary.updated + summary.flagged
    finished = finish(opened, run.state, written, options, observer)
    return summary if finished else replace(summary, interrupted=True)


def finish(
    opened: OpenStore,
    state: State | None,
    written: int,
    options: IngestOptions,
    observer: Observer | None = None,
) -> bool:
    """Refresh a live store and pack a long tail, after the last commit of a run.

    Args:
        opened: The store.
        state: What stood at that commit; None: there was none.
        written: Documents that the run has written.
        options: Say whether to refresh.
        observer: Is told of the refresh, and may stop it; None: nobody.

    Returns:
        False where the refresh was stopped.
    """
    depends = state is None or state.scheme.depends_on_corpus
    if options.refresh and depends and not _refresh_after(opened, observer or Observer()):
        return False
    often = min(_LOOKED_AT, tuning.TAIL_FINGERPRINTS)
    if state is None or written >= often or state.settings.changes % often == 0:
        pack_long_tails(opened)
    return True


def _read_in(observer: Observer, items: Iterator[Item]) -> Iterator[Item]:
    """Yield items, each of which is made in the observer's context for reading."""
    while True:
        with observer.reading():
            try:
                item = next(items)
            except StopIteration:
                return
        yield item


def _pack_under_way(opened: OpenStore, run: Run) -> None:
    """Pack what a run that looks documents up has stored: it holds a tail in memory."""
    written = run.counts["added"] + run.counts["updated"] + run.counts["flagged"]
    if written - run.packed_at >= tuning.TAIL_FINGERPRINTS:
        run.packed_at = written
        pack_long_tails(opened)


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


def known_state(opened: OpenStore) -> State:
    """Return the last known state of the store."""
    if opened.last_state is not None:
        return opened.last_state
    with opened.database.read() as connection:
        return opened.state(connection)


def _prepared(
    batches: Iterable[tuple[Batch, bool]], options: IngestOptions, state: State
) -> Generator[tuple[Work, bool]]:
    """Yield the batches in order, prepared by threads with what stood; the writer looks again.

    Args:
        batches: Batches, and whether each is the last.
        options: Says how many threads.
        state: What stood.
    """

    def prepared(given: tuple[Batch, bool]) -> tuple[Work, bool]:
        batch, is_last = given
        documents = batch.documents
        if options.collection is not None:
            collection = storable(options.collection)
            documents = [
                d if d.collection else replace(d, collection=collection) for d in documents
            ]
        return (batch, prepare(documents, state), state), is_last

    threads = options.threads or min(usual_processor_count(), _MOST_THREADS)

    def share(given: tuple[Batch, bool]) -> float:
        batch, _ = given
        # Threads have something to do while a transaction is written: those of another one.
        of_transaction = batch.record_count / options.batch_documents
        return max(min(of_transaction, 1 / threads), batch.size / _COMMIT_CHARACTERS)

    return in_order(prepared, batches, threads, share=share)


def _together(
    works: Iterable[tuple[Work, bool]], options: IngestOptions
) -> Iterator[tuple[list[Work], bool]]:
    """Yield the batches of one transaction each, and whether it is the last.

    Those before an error are yielded too.
    """
    gathered: list[Work] = []
    documents = size = 0
    began = time.monotonic()
    try:
        for work, is_last in works:
            batch = work[0]
            if gathered and documents + batch.record_count > options.batch_documents:
                yield gathered, False
                gathered, documents, size, began = [], 0, 0, time.monotonic()
            gathered.append(work)
            documents += batch.record_count
            size += batch.size
            if (
                documents >= options.batch_documents
                or size >= _COMMIT_CHARACTERS
                or time.monotonic() - began >= _COMMIT_SECONDS
                or (options.strict and batch.rejections)
                or is_last
            ):
                yield gathered, is_last
                gathered, documents, size, began = [], 0, 0, time.monotonic()
    except Exception:
        if gathered:
            yield gathered, False
        raise
