"""Store a document that nothing stored has to do with: the usual one, in the fewest statements."""

from __future__ import annotations

from simstore.model import DocumentLabels
from simstore.services.clusters.changes import note_changes
from simstore.services.duplicates.candidate_text import CandidateText
from simstore.services.duplicates.edge_candidates import EdgeCandidates
from simstore.services.duplicates.measure import Measure
from simstore.services.features.prepare import PreparedBatch
from simstore.services.ingest import batch_history
from simstore.services.ingest.batches import replace_features
from simstore.services.ingest.duplicate_checker import DuplicateRule
from simstore.services.open_store.open_store import Snapshot
from simstore.storage import documents


def may_be_new(
    snapshot: Snapshot,
    batch: PreparedBatch,
    rule: DuplicateRule | None,
    measure: Measure | None = None,
) -> bool:
    """Return whether nothing stored has to do with the document of a batch but by key or text.

    Args:
        snapshot: The store in the writer's transaction.
        batch: One document, prepared with what stands.
        rule: What is a duplicate; None: nothing is looked for.
        measure: What finds and compares duplicates by the rule; None: it is not known yet.
    """
    if batch.documents[0].links:
        return False
    if rule is None:
        return True
    if measure is None:
        measure = rule.measure(snapshot)
    (text,) = CandidateText.of_batch(batch, batch.words, recipe=measure.recipe)
    if text.words is None and snapshot.generation is not None:
        # Its fingerprint depends on what else is stored.
        return False
    candidates = EdgeCandidates(
        snapshot,
        rule.radius,
        min_resemblance=rule.least if rule.radius is None else None,
        measure=measure,
    )
    return candidates.has_none(text)


def store(snapshot: Snapshot, batch: PreparedBatch, *, run_id: int, seen_at: int) -> bool:
    """Add the one document of a batch that may be new, where nothing is known of its key and text.

    Args:
        snapshot: The store in the writer's transaction.
        batch: The document, prepared with what stands.
        run_id: The ingest run.
        seen_at: The time, for a document without a date.

    Returns:
        Whether it was added; else something is known of them, and nothing is written.
    """
    connection = snapshot.connection
    (document,), (key,), (digest,) = batch.documents, batch.keys, batch.digests
    row = {
        "key": key,
        "digest": digest,
        **DocumentLabels.of(document).by_name(),
        "metadata": dict(document.metadata) or None,
        "source_id": None,
        "run_id": run_id,
        "position": document.position,
        "byte_offset": document.byte_offset,
        "byte_count": batch.sizes[0],
        "token_count": batch.token_counts[0],
        "revision": 1,
        **batch_history.first_times(document, seen_at).columns(),
    }
    number = documents.insert_unknown(connection, row)
    if number is None:
        return False
    replace_features(snapshot, batch, (), {number: 0})
    if batch.packed_texts:
        documents.put_texts(connection, [(number, batch.packed_texts[0])])
    note_changes(snapshot, (digest,))
    return True
