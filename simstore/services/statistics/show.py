"""List documents, show one document, and count what a store holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from simstore.errors import DocumentNotFound
from simstore.fingerprint.simhash import to_hex
from simstore.model import (
    DocumentFilter,
    DocumentLabels,
    SchemeFacts,
    StoredDocument,
    StoreStatistics,
    StoreVitals,
)
from simstore.services.channels.store_part import every_part
from simstore.services.check.passage_index import anchor_count
from simstore.services.features import feature_counts
from simstore.services.open_store.open_store import OpenStore, Snapshot
from simstore.storage import (
    cluster_names,
    clusters,
    documents,
    duplicates,
    generations,
    migrate,
    passages,
    queries,
    runs,
    vocabularies,
)
from simstore.storage.damage import corrupt
from simstore.storage.fingerprints import fingerprints
from simstore.text.decoding import encode, exact_text
from simstore.text.disguises import fold_disguises

_PAGE = 400


def show_document(opened: OpenStore, key: str, *, with_text: bool = False) -> StoredDocument:
    """Return a document by its key.

    Raises:
        DocumentNotFound: No document has the key.
    """
    with opened.database.read() as connection:
        rows = list(documents.full_rows(connection, keys=[encode(key)]))
        if not rows:
            raise DocumentNotFound(key)
        snapshot = opened.snapshot(connection)
        return _stored(snapshot, rows, with_text=with_text)[0]


def iterate_documents(
    opened: OpenStore,
    *,
    wanted: DocumentFilter,
    limit: int | None = None,
    with_text: bool = False,
    after: int = 0,
    run_id: int | None = None,
) -> Iterator[StoredDocument]:
    """Yield documents in order of ingest; pages of them are read in a snapshot each.

    Those that are added after the first page is read are left out, so that who adds while reading
    comes to an end.
    """
    left, last = limit, None
    while left is None or left > 0:
        with opened.database.read() as connection:
            if last is None:
                last = documents.last_number(connection)
            rows = list(
                documents.full_rows(
                    connection,
                    after=after,
                    up_to=last,
                    limit=_PAGE if left is None else min(left, _PAGE),
                    wanted=wanted,
                    run_id=run_id,
                )
            )
            if not rows:
                return
            snapshot = opened.snapshot(connection)
            page = _stored(snapshot, rows, with_text=with_text)
        yield from page
        after = page[-1].document_id
        if left is not None:
            left -= len(page)


def _stored(
    snapshot: Snapshot,
    rows: list[Any],
    *,
    with_text: bool,
) -> list[StoredDocument]:
    connection = snapshot.connection
    ids = [row.document_id for row in rows]
    values = {}
    if snapshot.generation is not None:
        values = fingerprints.of_documents(
            connection, snapshot.scheme.bits, snapshot.generation.generation_id, ids
        )
    holders = documents.by_digests(connection, [row.digest for row in rows])
    texts = feature_counts.stored_texts(snapshot, ids) if with_text else {}
    found = []
    for row in rows:
        text = texts.get(row.document_id)
        value = values.get(row.document_id)
        holding = holders.get(row.digest)
        if not holding:
            # Looked up by an index, which damage has parted from its table.
            raise corrupt(
                connection, f"document {row.document_id} is not found by the digest of its text"
            )
        earliest = holding[0]
        found.append(
            StoredDocument(
                document_id=row.document_id,
                key=exact_text(row.key),
                digest=row.digest.hex(),
                source=None if row.source_name is None else exact_text(row.source_name),
                position=row.position,
                byte_offset=row.byte_offset,
                byte_count=row.byte_count,
                token_count=row.token_count,
                metadata=row.metadata or {},
                first_seen=row.first_seen,
                last_seen=row.last_seen,
                revision=row.revision,
                run_id=row.run_id,
                **DocumentLabels.of(row).by_name(),
                fingerprint=None if value is None else to_hex(value, snapshot.scheme.bits),
                duplicate_of=None if earliest[0] == row.document_id else exact_text(earliest[1]),
                text=text,
                flags=() if text is None else fold_disguises(text).counts.flags(),
            )
        )
    return found


def statistics(opened: OpenStore, *, sizes: bool = False) -> StoreStatistics:
    """Return the store in numbers.

    Args:
        opened: The store.
        sizes: Count the bytes of texts, sketches and passages, too: all of them are read.
    """
    database = opened.database
    with database.read() as connection:
        state = opened.snapshot(connection)
        count, contents, text_bytes, first_seen, last_seen = documents.totals(connection)
        distinct = packed_fingerprints = linked = 0
        if state.generation is not None:
            generation_id = state.generation.generation_id
            distinct = state.generation.fingerprint_count
            packed_fingerprints = state.generation.packed_count
            linked = fingerprints.link_count(connection, state.scheme.bits, generation_id)
        waiting = count - linked if state.channels.has_fingerprints else 0
        kept = [part.figures(state, sizes=sizes) for part in every_part()]
        ingested, removals, removed_count = runs.run_counts(connection)
        found = duplicates.counts(connection)
        texts_in_clusters, cluster_count = cluster_names.counts(connection)
        held = None if state.passages is None else passages.size(connection, sizes=sizes)
        return StoreStatistics(
            path=database.label,
            revision=migrate.revision(connection) or "",
            scheme=state.scheme.label,
            bits=state.scheme.bits,
            channels=" + ".join(state.channels.names),
            policy=state.settings.policy,
            text_kept=state.settings.text_kept,
            vocabulary_recorded=state.records_vocabulary,
            document_count=count,
            distinct_contents=contents,
            distinct_fingerprints=distinct,
            packed_fingerprints=packed_fingerprints,
            waiting=waiting,
            sketch_count=sum(one.count for one in kept),
            sketch_bytes=sum(one.stored_bytes or 0 for one in kept) if sizes else None,
            unpacked_sketches=sum(one.unpacked for one in kept),
            bands=", ".join(one.bands for one in kept if one.bands),
            text_bytes=text_bytes,
            stored_text_bytes=documents.stored_text_bytes(connection) if sizes else None,
            file_bytes=database.file_bytes(),
            term_count=vocabularies.known_term_count(connection, state.scheme_id),
            ingest_run_count=ingested,
            query_run_count=queries.run_count(connection),
            reject_count=runs.reject_count(connection),
            generation_id=state.generation.generation_id if state.generation else None,
            fresh=state.is_fresh and not waiting,
            first_seen=first_seen,
            last_seen=last_seen,
            passage_count=held.passage_count if held else 0,
            anchor_count=anchor_count(state.passages, held) if held and state.passages else 0,
            passage_bytes=held.stored_bytes if held else 0 if sizes else None,
            removal_run_count=removals,
            on_duplicate=state.settings.on_duplicate,
            min_resemblance=state.settings.min_resemblance,
            duplicate_radius=state.settings.radius,
            keep_columns=state.settings.keep_columns,
            flagged_count=found.get("flagged", 0),
            skipped_count=found.get("skipped", 0),
            uncovered_count=found.get("uncovered", 0),
            orphaned_count=found.get("orphaned", 0),
            removed_count=removed_count,
            clustered_count=texts_in_clusters - cluster_count
            if clusters.are_kept(connection)
            else None,
        )


def scheme_facts(opened: OpenStore) -> SchemeFacts:
    """Return the name, version, bits and options of the scheme in use."""
    with opened.database.read() as connection:
        found = generations.scheme_with_status(connection, "standing")
    if found is None:
        return SchemeFacts(label="", bits=0, parameters={})
    record = found[1]
    return SchemeFacts(label=record.label, bits=record.bits, parameters=record.parameters)


def store_vitals(opened: OpenStore) -> StoreVitals:
    """Return a store's vital figures; no table is read but for counting its rows."""
    database = opened.database
    with database.read() as connection:
        state = opened.snapshot(connection)
        count = documents.count(connection)
        total = packed = linked = 0
        if state.generation is not None:
            generation = state.generation
            total, packed = generation.fingerprint_count, generation.packed_count
            linked = fingerprints.link_count(
                connection, state.scheme.bits, generation.generation_id
            )
        waiting = count - linked if state.channels.has_fingerprints else 0
        kept = [part.figures(state) for part in every_part()]
        return StoreVitals(
            document_count=count,
            fingerprint_count=total,
            tail_fingerprints=total - packed,
            sketch_count=sum(one.count for one in kept),
            tail_sketches=sum(one.unpacked for one in kept),
            waiting=waiting,
            fresh=state.is_fresh and not waiting,
            follows_corpus=state.scheme.depends_on_corpus,
            duplicates=duplicates.counts(connection),
            reject_count=runs.reject_count(connection),
            changes=state.settings.changes,
            file_bytes=database.file_bytes(),
        )
