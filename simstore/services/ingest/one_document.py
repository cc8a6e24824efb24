"""Store one document by itself, in a transaction of its own.

Nearly all documents that are added alone are new to a store: it has no document under their key,
none with their text, and none that may be near enough to be a duplicate. For these, few statements
are enough, and the run is written once, with what became of it. All others are decided as a batch
of one.
"""

from __future__ import annotations

from collections import Counter

from simstore import compiled
from simstore.model import Document, Outcome
from simstore.services.features.prepare import PreparedBatch, is_prepared_for, prepare
from simstore.services.ingest import new_document
from simstore.services.ingest.check_insert import store_in_order
from simstore.services.ingest.duplicate_checker import DuplicateRule
from simstore.services.ingest.ingest import finish, known_state
from simstore.services.ingest.options import IngestOptions
from simstore.services.ingest.run import RUN_COUNTS
from simstore.services.open_store.open_store import OpenStore, Snapshot, now
from simstore.sources.documents import accept
from simstore.storage import deltas, generations, runs
from simstore.version import __version__


def store_one(opened: OpenStore, given: Document, options: IngestOptions) -> Outcome:
    """Add or update one document; durable on return.

    Args:
        opened: The store.
        given: The document, as a caller gives it.
        options: What is done with duplicates, and whether a live store is refreshed.

    Raises:
        InvalidParameter: The document cannot be stored, or an option is out of its range.
        NotFound: Duplicates are asked for, and the store keeps nothing to verify them by.
        StorageError: The store cannot be written; nothing is.
    """
    state = known_state(opened)
    rule = options.check_in(state.settings)
    measure = None if rule is None else rule.measure(state)
    document = accept(given)
    compiled.announce(0)
    batch = prepare([document], state)
    with opened.write() as connection:
        # Not before: what waited for others comes after what they stored.
        seen_at = now()
        snapshot = opened.snapshot(connection)
        if snapshot.settings.is_reindexing:
            generations.refuse_during_reindex(connection)
        if not is_prepared_for(state, snapshot):
            batch, measure = prepare([document], snapshot), None
        counts = {"added": 1, "byte_count": batch.sizes[0]}
        run_id = runs.add_run(connection, counts, seen_at, now(), __version__)
        outcome: Outcome = "added"
        if not (
            new_document.may_be_new(snapshot, batch, rule, measure)
            and new_document.store(snapshot, batch, run_id=run_id, seen_at=seen_at)
        ):
            outcome = _decide(snapshot, batch, rule, run_id, seen_at)
        if snapshot.settings.changes % deltas.TOGETHER == 0:
            deltas.merge_many(connection, snapshot.scheme_id, deltas.TOGETHER)
    finish(opened, snapshot, int(outcome in ("added", "updated", "flagged")), options)
    return outcome


def _decide(
    snapshot: Snapshot,
    batch: PreparedBatch,
    rule: DuplicateRule | None,
    run_id: int,
    seen_at: int,
) -> Outcome:
    """Store a batch of one as any other and correct its run; return the document's outcome."""
    connection = snapshot.connection
    done = store_in_order(snapshot, batch, rule, run_id=run_id, seen_at=seen_at, source_ids={})
    counts = Counter[str](done.outcomes)
    counts["duplicates"] = len(done.duplicates)
    counts["byte_count"] = batch.sizes[0]
    counted = {name: counts[name] for name in RUN_COUNTS}
    runs.count_in_run(connection, run_id, counted, finished_at=now())
    return done.outcomes[0]
