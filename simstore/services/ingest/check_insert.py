"""Check the documents of a batch for near-duplicates, and insert or skip each one."""

from __future__ import annotations

from collections.abc import Mapping

from simstore.model import Duplicate, Outcome
from simstore.services.features.prepare import PreparedBatch
from simstore.services.ingest import new_document
from simstore.services.ingest.batches import BatchOutcome, store_batch
from simstore.services.ingest.duplicate_checker import DuplicateRule
from simstore.services.open_store.open_store import Snapshot
from simstore.storage import documents

# Documents that are looked for together after one that made duplicates of others.
_FEW = 16


def check_and_store(
    snapshot: Snapshot,
    batch: PreparedBatch,
    check: DuplicateRule | None,
    *,
    run_id: int,
    seen_at: int,
    source_ids: Mapping[int, int],
) -> BatchOutcome:
    """Look for the original of each document, then store or skip it.

    As if one after the other: the batch is cut where a key occurs again, so that what is looked
    at together is decided by texts and dates alone, and where a document makes duplicates of
    others.

    Args:
        snapshot: The store in the writer's transaction, as it is now.
        batch: The documents, prepared with the scheme of ``state``.
        check: What is a duplicate, and what is done with it; None: nothing is looked for.
        run_id: The ingest run.
        seen_at: The time, when documents were seen that have no date of their own.
        source_ids: Source of each document by its place in the batch.
    """
    if (
        len(batch.documents) == 1
        and not source_ids
        and new_document.may_be_new(snapshot, batch, check)
        and new_document.store(snapshot, batch, run_id=run_id, seen_at=seen_at)
    ):
        return BatchOutcome(outcomes=("added",), duplicates={}, renewed=frozenset(batch.keys))
    return store_in_order(
        snapshot, batch, check, run_id=run_id, seen_at=seen_at, source_ids=source_ids
    )


def store_in_order(
    snapshot: Snapshot,
    batch: PreparedBatch,
    check: DuplicateRule | None,
    *,
    run_id: int,
    seen_at: int,
    source_ids: Mapping[int, int],
) -> BatchOutcome:
    """Do what :func:`check_and_store` does, whatever is stored; arguments are the same."""
    if check is None:
        return store_batch(
            snapshot,
            batch,
            run_id=run_id,
            seen_at=seen_at,
            source_ids=source_ids,
        )
    outcomes: list[Outcome] = []
    exact: dict[int, bytes] = {}
    found: dict[int, Duplicate] = {}
    renewed: set[bytes] = set()
    orphans: set[bytes] = set()
    uncovered: set[bytes] = set()
    unflagged: set[bytes] = set()
    displaced: dict[int, tuple[Duplicate, ...]] = {}
    repeated: set[int] = set()
    lets_go = False
    cuts = _cuts(snapshot, batch)
    ends = [*cuts, len(batch.documents)]
    start, most = 0, len(batch.documents)
    while start < len(batch.documents):
        end = min(next(cut for cut in ends if cut > start), start + most)
        part = store_batch(
            snapshot,
            batch.part(start, end),
            run_id=run_id,
            seen_at=seen_at,
            source_ids={
                place - start: number
                for place, number in source_ids.items()
                if start <= place < end
            },
            check=check,
        )
        outcomes += part.outcomes
        exact.update((place + start, key) for place, key in part.duplicates.items())
        found.update((place + start, one) for place, one in part.found.items())
        renewed |= part.renewed
        orphans = (orphans - part.renewed) | part.orphans
        uncovered = (uncovered - part.renewed) | part.uncovered
        unflagged = (unflagged - part.renewed) | part.unflagged
        displaced.update((place + start, some) for place, some in part.displaced.items())
        repeated.update(place + start for place in part.repeated)
        if part.retold:
            done = enumerate(batch.keys[:end])
            retold = {p: part.retold[key] for p, key in done if p in found and key in part.retold}
            found.update(retold)
        lets_go |= part.lets_go
        # The rest is looked for again: one that displaces others is seldom alone, so less is
        # looked for at once for a while.
        most = _FEW if part.count < end - start else most * 2
        start += part.count
        if start < len(batch.documents):
            # It counts the fingerprints that are to be looked at.
            snapshot = snapshot.store.snapshot(snapshot.connection)
    return BatchOutcome(
        outcomes=tuple(outcomes),
        duplicates=exact,
        found=found,
        renewed=frozenset(renewed),
        orphans=frozenset(orphans),
        uncovered=frozenset(uncovered),
        unflagged=frozenset(unflagged),
        lets_go=lets_go,
        displaced=displaced,
        repeated=frozenset(repeated),
    )


def _cuts(snapshot: Snapshot, batch: PreparedBatch) -> list[int]:
    """Return the places at which a batch is cut, so that no key occurs twice in a part."""
    cuts: list[int] = []
    # Where fingerprints cover metadata, a stored document may get another with the same text.
    alone = (
        set(documents.by_keys(snapshot.connection, sorted(set(batch.keys))))
        if snapshot.scheme.reads_metadata
        else set()
    )
    held: set[bytes] = set()
    for place, key in enumerate(batch.keys):
        if key in held or (held and (key in alone or batch.keys[place - 1] in alone)):
            cuts.append(place)
            held = set()
        held.add(key)
    return cuts
