"""Commit the batches of an ingest run with their source positions, and count the outcomes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from simstore.model import (
    NAMED_KEYS,
    IngestProgress,
    Rejection,
    SourceState,
)
from simstore.services.features.prepare import PreparedBatch, is_prepared_for, prepare
from simstore.services.ingest.batch_history import see_again
from simstore.services.ingest.batches import BatchOutcome
from simstore.services.ingest.check_insert import check_and_store
from simstore.services.ingest.duplicate_checker import DuplicateRule
from simstore.services.ingest.options import Observer
from simstore.services.ingest.source_batches import (
    Batch,
)
from simstore.services.open_store.open_store import OpenStore, now
from simstore.services.open_store.state import State
from simstore.storage import deltas, generations, runs
from simstore.storage.engine import Connection
from simstore.text.decoding import encode, exact_text
from simstore.version import __version__

Work = tuple[Batch, PreparedBatch, State]
# Looks, in the transaction that writes, whether documents of these keys may be written.
Guard = Callable[[Connection, int, Sequence[bytes]], None]
RUN_COUNTS = (
    "added", "updated", "unchanged", "flagged", "skipped", "duplicates", "rejected", "byte_count",
    "passed_over",
)  # fmt: skip


@dataclass(slots=True)
class Run:
    """A run under way: its number, its counts so far, and the sources it knows.

    Attributes:
        run_id: None until its first commit.
        detected: Documents by the encoding that was detected.
        state: What stood at its last commit.
        orphans: Keys that were skipped because of documents which it removed.
        uncovered: Keys that were skipped because of documents whose new text does not cover the
            former one.
        unflagged: Keys of documents that were flagged because of those, and are originals now.
        rewritten: Sources that are read from their start, with other content than before.
        elsewhere: Sources whose name another file had, in another folder.
        other_folder_keys: The first keys of documents that such a file replaced.
        packed_at: Documents that it had written when it last looked whether a tail is long.
        repeated_keys: The first keys that came more than once, with other content.
        guard: Called in each transaction before it writes; None: nothing is.
    """

    names: Sequence[str]
    run_id: int | None = None
    counts: Counter[str] = field(default_factory=Counter)
    detected: Counter[str] = field(default_factory=Counter)
    source_ids: dict[str, int | None] = field(default_factory=dict)
    states: dict[str, SourceState] = field(default_factory=dict)
    from_start: dict[str, bool] = field(default_factory=dict)
    resumed_at: dict[str, int] = field(default_factory=dict)
    rewritten: set[str] = field(default_factory=set)
    elsewhere: set[str] = field(default_factory=set)
    other_folder_keys: tuple[str, ...] = ()
    state: State | None = None
    total_bytes: int | None = 0
    finished_bytes: int = 0
    orphans: set[bytes] = field(default_factory=set)
    uncovered: set[bytes] = field(default_factory=set)
    unflagged: set[bytes] = field(default_factory=set)
    packed_at: int = 0
    repeated_keys: tuple[str, ...] = ()
    guard: Guard | None = None

    def forget(self, name: str) -> None:
        """Forget a source that was read to its end."""
        for known in (self.states, self.source_ids, self.from_start):
            known.pop(name, None)


def commit(
    opened: OpenStore,
    run: Run,
    works: Sequence[Work],
    observer: Observer,
    check: DuplicateRule | None,
    *,
    ends_run: bool,
) -> None:
    """Write batches, their rejections and their source positions in one transaction."""
    if check is not None:
        works = _joined(works)
    counts, detected = Counter(run.counts), Counter(run.detected)
    source_ids = dict(run.source_ids)
    rewritten = set(run.rewritten)
    orphans, uncovered, unflagged = set(run.orphans), set(run.uncovered), set(run.unflagged)
    outcomes: list[BatchOutcome] = []
    with opened.write() as connection:
        # Not before: what waited for others comes after what they stored.
        seen_at = now()
        snapshot = opened.snapshot(connection)
        if snapshot.settings.is_reindexing:
            generations.refuse_during_reindex(connection)
        run_id = run.run_id
        if run_id is None:
            run_id = runs.begin_run(connection, run.names, seen_at, __version__)
        if run.guard is not None:
            run.guard(
                connection, run_id, [key for _, prepared, _ in works for key in prepared.keys]
            )
        for batch, prepared, prepared_with in works:
            if outcomes:
                # What the batches before have stored is there.
                snapshot = opened.snapshot(connection)
            if not is_prepared_for(prepared_with, snapshot):
                prepared = prepare(prepared.documents, snapshot)
            _put_marks(connection, run, batch, run_id, source_ids, rewritten)
            of_documents = {
                place: source_id
                for place, owner in enumerate(batch.owners)
                if owner is not None and (source_id := source_ids.get(owner)) is not None
            }
            outcome = check_and_store(
                snapshot,
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
            uncovered = (uncovered - outcome.renewed) | outcome.uncovered
            unflagged = (unflagged - outcome.renewed) | outcome.unflagged
            runs.put_rejections(connection, run_id, _named(batch.rejections, run, run_id), seen_at)
            for name, mark in batch.marks.items():
                if mark.ends and run.from_start.get(name):
                    runs.drop_old_rejections(
                        connection, encode(name), run_id, of_members=mark.is_archive
                    )
            counts.update(outcome.outcomes)
            counts["duplicates"] += len(outcome.duplicates)
            counts["rejected"] += len(batch.rejections)
            counts["repeated"] += len(outcome.repeated)
            counts["displaced"] += sum(map(len, outcome.displaced.values()))
            counts["passed_over"] += len(batch.passed_over)
            decodings = [one.decoding for one in batch.documents if one.decoding is not None]
            counts["undecodable"] += sum(one.replaced_bytes > 0 for one in decodings)
            counts["markup"] += sum(one.holds_markup for one in batch.documents)
            detected.update(one.encoding for one in decodings if one.is_detected)
            counts["byte_count"] += sum(prepared.sizes)
        # Each batch appends what it writes, and what it replaces.
        deltas.merge_many(connection, snapshot.scheme_id, 2 * len(works))
        runs.count_in_run(
            connection,
            run_id,
            {name: counts[name] for name in RUN_COUNTS},
            finished_at=now() if ends_run else None,
        )
    run.run_id, run.counts, run.source_ids, run.state = run_id, counts, source_ids, snapshot
    run.detected, run.rewritten = detected, rewritten
    run.orphans, run.uncovered, run.unflagged = orphans, uncovered, unflagged
    for (batch, prepared, _), outcome in zip(works, outcomes, strict=True):
        keys = [prepared.documents[place].key for place in sorted(outcome.repeated)]
        known = dict.fromkeys((*run.repeated_keys, *keys))
        run.repeated_keys = tuple(known)[:NAMED_KEYS]
        keys = _replaced_from_elsewhere(run, batch, outcome)
        run.counts["other_folder"] += len(keys)
        run.other_folder_keys = (*run.other_folder_keys, *keys)[:NAMED_KEYS]
        _tell(run, batch, prepared, outcome, observer)
    _tell_progress(run, works[-1][0], observer)


def _joined(works: Sequence[Work]) -> Sequence[Work]:
    """Return batches as one where that makes no difference: documents are looked up together."""
    state = works[0][2]
    if len(works) == 1 or not all(
        batch.is_plain and prepared.counts is None and is_prepared_for(with_state, state)
        for batch, prepared, with_state in works
    ):
        return works
    batch = Batch.joined(batch for batch, _, _ in works)
    return [(batch, PreparedBatch.joined([prepared for _, prepared, _ in works]), state)]


def _replaced_from_elsewhere(run: Run, batch: Batch, outcome: BatchOutcome) -> list[str]:
    """Return the keys, made of the names of files, whose texts were those of other files."""
    owned = zip(batch.documents, batch.owners, outcome.outcomes, strict=True)
    return [
        document.key
        for document, owner, made in owned
        if made == "updated" and owner in run.elsewhere and document.key.startswith(str(owner))
    ]


def _named(rejections: Sequence[Rejection], run: Run, run_id: int) -> Sequence[Rejection]:
    """Return rejections; those of no source, as of a table in memory, are named by their run."""
    if run.names:
        return rejections
    return [replace(one, source=f"{one.source}, run {run_id}") for one in rejections]


def _put_marks(
    connection: Connection,
    run: Run,
    batch: Batch,
    run_id: int,
    source_ids: dict[str, int | None],
    rewritten: set[str],
) -> None:
    """Write how far the sources are read with this batch; note their numbers.

    The memory of a source with other content is deleted before its first record is decided.
    """
    for name, mark in batch.marks.items():
        if name in run.states:
            state = replace(
                run.states[name],
                position=mark.position,
                byte_offset=mark.byte_offset,
                complete=mark.ends,
            )
            source_ids[name] = source_id = runs.put_source(
                connection, source_ids.get(name), encode(name), state, run_id
            )
            if name in rewritten:
                rewritten.remove(name)
                runs.drop_seen_of(connection, source_id)


def _tell(
    run: Run,
    batch: Batch,
    prepared: PreparedBatch,
    outcome: BatchOutcome,
    observer: Observer,
) -> None:
    for document, made in zip(prepared.documents, outcome.outcomes, strict=True):
        observer.on_document(document.key, made)
    for place, original in outcome.duplicates.items():
        key = prepared.documents[place].key
        observer.on_duplicate(key, exact_text(original))
    for duplicate in outcome.found.values():
        observer.on_found(duplicate)
    for some in outcome.displaced.values():
        for duplicate in some:
            observer.on_displaced(duplicate)
    for document in batch.documents:
        if document.decoding is not None:
            observer.on_decoding(document.key, document.decoding)
    for rejection in batch.rejections:
        observer.on_reject(rejection)
    for part in batch.passed_over:
        observer.on_pass_over(part)
    for name, mark in batch.marks.items():
        if mark.ends:
            run.finished_bytes += mark.bytes_read
            if mark.is_member:
                # An archive may have very many.
                run.forget(name)


def _tell_progress(run: Run, batch: Batch, observer: Observer) -> None:
    """Tell how far the run is after the last batch of a transaction."""
    under_way = [mark.bytes_read for mark in batch.marks.values() if not mark.ends]
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
