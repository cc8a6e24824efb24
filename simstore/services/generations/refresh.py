"""Refresh: rebuild all fingerprints with the present word counts, beside those in use.

Several processes may refresh at once: each takes the next documents that have no fingerprint in
the generation under construction, in a transaction of its own, until none is left. A process that
is killed leaves a generation under construction, which the next refresh goes on with where it is
still up to date, and drops otherwise.
"""

from __future__ import annotations

from simstore.fingerprint.simhash import to_integers
from simstore.fingerprint.vocabulary import rank_features
from simstore.model import Progress, RefreshSummary
from simstore.services.channels import pack_fingerprints
from simstore.services.channels.store_part import every_part
from simstore.services.features import corpus_statistics, feature_counts
from simstore.services.open_store.open_store import OpenStore, Snapshot, now
from simstore.storage import deltas, documents, generations, vocabularies
from simstore.storage.damage import corrupt
from simstore.storage.fingerprints import fingerprints
from simstore.storage.generations import GenerationRow

# Documents a transaction: long enough to be fast, short enough not to keep other writers waiting.
BATCH_DOCUMENTS = 2_000
_DROP_ROWS = 20_000


def refresh(
    opened: OpenStore, *, force: bool = False, on_progress: Progress | None = None
) -> RefreshSummary:
    """Rebuild all fingerprints with the present vocabulary, where they are outdated.

    Args:
        opened: The store.
        force: Build a new generation even where the standing one is up to date.
        on_progress: Called with documents done and documents in all.

    Raises:
        ReindexInProgress: The store is between two schemes.
    """
    switched = False
    while True:
        with opened.write() as connection:
            generations.refuse_during_reindex(connection)
            snapshot = opened.snapshot(connection)
            if not snapshot.scheme.depends_on_corpus or (snapshot.is_fresh and not force):
                # A corpus-independent scheme has nothing to refresh; missing links are mended.
                missing = _missing(snapshot)
                if not missing or snapshot.generation is None:
                    break
                building = snapshot.generation
            else:
                building = _begin(snapshot)
        if not _build(opened, building, on_progress):
            continue
        with opened.write() as connection:
            snapshot = opened.snapshot(connection)
            if building.status == "building":
                found = generations.generation_with_status(connection, "building")
                if found is None or found.generation_id != building.generation_id:
                    continue
                if _missing_in(snapshot, building.generation_id):
                    continue
                _switch(snapshot, building)
                switched = True
        # Documents that others committed meanwhile are theirs to refresh.
        break
    drop_retired(opened)
    pack_fingerprints.pack_long_tail(opened)
    with opened.database.read() as connection:
        snapshot = opened.snapshot(connection)
        standing = snapshot.generation
        held = 0
        if standing is not None:
            held = fingerprints.link_count(connection, snapshot.scheme.bits, standing.generation_id)
    return RefreshSummary(standing.generation_id if standing else None, held, switched)


def _missing(snapshot: Snapshot) -> bool:
    if snapshot.generation is None:
        return False
    return _missing_in(snapshot, snapshot.generation.generation_id)


def _missing_in(snapshot: Snapshot, generation_id: int) -> bool:
    return bool(
        fingerprints.unlinked_documents(
            snapshot.connection, snapshot.scheme.bits, generation_id, limit=1
        )
    )


def _begin(snapshot: Snapshot) -> GenerationRow:
    """Return the generation under construction, or freeze the vocabulary for a new one."""
    found = generations.generation_with_status(snapshot.connection, "building")
    if found is not None:
        if found.basis == snapshot.settings.changes and found.scheme_id == snapshot.scheme_id:
            return found
        generations.set_generation_status(snapshot.connection, found.generation_id, "retired")
    return freeze(snapshot)


def freeze(snapshot: Snapshot) -> GenerationRow:
    """Begin a generation, and freeze the ranks or frequencies of the present vocabulary for it."""
    connection = snapshot.connection
    deltas.merge(connection, snapshot.scheme_id)
    generation_id = generations.add_generation(
        connection, snapshot.scheme_id, "building", snapshot.settings.changes, now()
    )
    if snapshot.scheme.corpus == "ranks":
        vocabularies.put_ranks(connection, generation_id, present_ranks(snapshot))
    elif snapshot.scheme.corpus == "frequencies":
        vocabularies.put_frequencies(
            connection,
            generation_id,
            vocabularies.present_frequencies(connection, snapshot.scheme_id),
        )
    return GenerationRow(generation_id, snapshot.scheme_id, "building", snapshot.settings.changes)


def present_ranks(snapshot: Snapshot) -> list[tuple[int, int]]:
    """Return the ranks that the present vocabulary gives: (feature number, total count)."""
    size = snapshot.scheme.ranked_features
    if not size:
        return []
    frequent = vocabularies.most_frequent(snapshot.connection, snapshot.scheme_id, size)
    return rank_features(((term, number, total) for term, number, _, total in frequent), size)


def _build(opened: OpenStore, building: GenerationRow, on_progress: Progress | None) -> bool:
    """Give every document a fingerprint in a generation; return False where it has vanished."""
    after = 0
    with opened.database.read() as connection:
        snapshot = opened.snapshot(connection)
        bits, number = snapshot.scheme.bits, building.generation_id
        if building.status == "building":
            after = fingerprints.last_linked_document(connection, bits, number)
        done = fingerprints.link_count(connection, bits, number)
        total = documents.count(connection)
    while True:
        with opened.write() as connection:
            snapshot = opened.snapshot(connection)
            found = generations.generation_with_status(connection, building.status)
            if found is None or found.generation_id != number:
                return False
            batch = fingerprints.unlinked_documents(
                connection, bits, number, BATCH_DOCUMENTS, after
            )
            if not batch and after:
                # Documents before it may have changed meanwhile.
                after = 0
                continue
            if not batch:
                return True
            link_batch(snapshot, number, batch)
            after = batch[-1]
        done += len(batch)
        if on_progress is not None:
            on_progress(min(done, total), total)


def link_batch(
    snapshot: Snapshot,
    generation_id: int,
    document_ids: list[int],
) -> None:
    """Compute the fingerprints of stored documents in a generation, and store them."""
    connection = snapshot.connection
    if snapshot.scheme.depends_on_corpus:
        rows = feature_counts.feature_rows(snapshot, document_ids)
        words = corpus_statistics.row_fingerprints(
            connection,
            snapshot.scheme,
            [rows[document_id] for document_id in document_ids],
            corpus_statistics.of_generation(snapshot, generation_id),
        )
    else:
        texts = feature_counts.whole_texts(snapshot, document_ids)
        words = snapshot.scheme.fingerprints(
            feature_counts.count_stored(connection, snapshot.scheme, texts)
        )
    fingerprints.link_many(
        connection,
        snapshot.scheme.bits,
        generation_id,
        dict(zip(document_ids, to_integers(words), strict=True)),
    )


def _switch(snapshot: Snapshot, building: GenerationRow) -> None:
    if snapshot.generation is not None:
        generations.set_generation_status(
            snapshot.connection, snapshot.generation.generation_id, "retired"
        )
    generations.set_generation_status(
        snapshot.connection, building.generation_id, "standing", now()
    )


def drop_retired(opened: OpenStore) -> None:
    """Delete the rows of retired generations and schemes, in short transactions.

    Those of generations that are lost go, too.

    Raises:
        CorruptStore: Rows are still there when they were deleted.
    """
    opened.forget_terms()
    dropped: set[int] = set()
    while True:
        with opened.write() as connection:
            retired = [
                *(one.generation_id for one in generations.generations(connection, ("retired",))),
                *fingerprints.lost_generations(connection),
            ]
            if not retired:
                break
            number = retired[0]
            if number in dropped:
                # Found by an index, and not in its table: it would be found for ever.
                raise corrupt(
                    connection, f"fingerprints of generation {number} are there when deleted"
                )
            if not fingerprints.drop_generation_rows(connection, number, _DROP_ROWS):
                generations.delete_generation(connection, number)
                dropped.add(number)
    with opened.write() as connection:
        schemes = generations.scheme_ids(connection, "retired")
    for scheme_id in schemes:
        for part in every_part():
            sketched = True
            while sketched:
                with opened.write() as connection:
                    sketched = part.drop_scheme_rows(connection, scheme_id, _DROP_ROWS)
    with opened.write() as connection:
        for scheme_id in schemes:
            vocabularies.drop_scheme(connection, scheme_id)
            generations.delete_scheme(connection, scheme_id)
