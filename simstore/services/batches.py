"""One batch of documents into the store, in one transaction."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simstore.errors import InvalidParameter, ReindexInProgress, printable
from simstore.fingerprint.features import FeatureCounts, assemble
from simstore.fingerprint.scheme import Scheme
from simstore.fingerprint.simhash import to_integers
from simstore.model import Document, Outcome
from simstore.services import counting
from simstore.services.opened import OpenStore, State
from simstore.storage import codecs, documents, fingerprints, generations, runs
from simstore.storage.documents import DocumentRow
from simstore.storage.engine import Connection
from simstore.text.decoding import encode

DIGEST_BYTES = 16
# Above every document number: new documents come after all others, in their order.
_NEW = 1 << 62


# A source and the number of a record in it.
_Place = tuple[int | None, int | None]


@dataclass(frozen=True, slots=True)
class PreparedBatch:
    """Documents with all that can be computed without the database.

    Attributes:
        documents: The documents, in their order.
        keys: Their keys as bytes.
        digests: BLAKE2b-128 of their texts.
        sizes: Bytes of their texts.
        packed_texts: Their compressed texts; empty where the store keeps none.
        counts: Their feature counts.
        words: Their fingerprints, where these depend on the document alone.
    """

    documents: tuple[Document, ...]
    keys: tuple[bytes, ...]
    digests: tuple[bytes, ...]
    sizes: tuple[int, ...]
    packed_texts: tuple[bytes, ...]
    counts: FeatureCounts
    words: NDArray[np.uint64] | None


@dataclass(frozen=True, slots=True)
class BatchOutcome:
    """What became of the documents of a batch.

    Attributes:
        outcomes: One a document, in their order.
        duplicates: Place of a document to the key of the earliest other with its content.
    """

    outcomes: tuple[Outcome, ...]
    duplicates: Mapping[int, bytes]


@dataclass(frozen=True, slots=True)
class _Final:
    """A document as it is at the end of the batch.

    Attributes:
        stored: Its row before the batch; None: it is new.
        place: Its place in the batch; None: nothing of the batch changed it.
    """

    digest: bytes
    title: str | None
    collection: str | None
    metadata: Mapping[str, Any] | None
    source_id: int | None
    position: int | None
    revision: int
    stored: DocumentRow | None
    place: int | None

    @property
    def content_changed(self) -> bool:
        return self.stored is None or self.stored.digest != self.digest


@dataclass(slots=True)
class _Decisions:
    """What is to be written, gathered document by document.

    Attributes:
        superseded: (source, position) to (key, digest) of records whose document has other
            content by now.
    """

    finals: dict[bytes, _Final]
    outcomes: list[Outcome] = field(default_factory=list)
    duplicates: dict[int, bytes] = field(default_factory=dict)
    superseded: dict[_Place, tuple[bytes, bytes]] = field(default_factory=dict)
    unchanged: set[bytes] = field(default_factory=set)


def prepare(batch: Sequence[Document], scheme: Scheme, *, keep_text: bool) -> PreparedBatch:
    """Compute what needs no database: digests, feature counts, fingerprints, compressed texts."""
    for document in batch:
        if not isinstance(document.key, str) or not isinstance(document.text, str):
            raise InvalidParameter(f"key and text of a document are strings, not {document.key!r}")
        if not document.key:
            raise InvalidParameter("a document has an empty key; give each its own key")
    batch = [_with_json_metadata(document) for document in batch]
    encoded = [encode(document.text) for document in batch]
    counts = scheme.count([document.text for document in batch])
    return PreparedBatch(
        tuple(batch),
        tuple(encode(document.key) for document in batch),
        tuple(hashlib.blake2b(data, digest_size=DIGEST_BYTES).digest() for data in encoded),
        tuple(map(len, encoded)),
        tuple(codecs.compress(data) for data in encoded) if keep_text else (),
        counts,
        None if scheme.depends_on_corpus else scheme.fingerprints(counts),
    )


def _with_json_metadata(document: Document) -> Document:
    """Return the document with its metadata as they come back from the store."""
    if not document.metadata:
        return document
    try:
        fields = json.loads(json.dumps(dict(document.metadata), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidParameter(
            f"the metadata of {printable(document.key)!r} are no JSON values ({error})"
        ) from None
    return replace(document, metadata=fields)


def store_batch(
    opened: OpenStore,
    connection: Connection,
    state: State,
    batch: PreparedBatch,
    *,
    run_id: int,
    seen_at: int,
    source_ids: Mapping[int, int] | None = None,
) -> BatchOutcome:
    """Add, update or leave each document, as if one after the other.

    Args:
        opened: The store.
        connection: A writer; the caller commits.
        state: What stands in the writer's transaction.
        batch: The documents, prepared with the scheme of ``state``.
        run_id: The ingest run.
        seen_at: Time at which the documents were seen.
        source_ids: Source of each document by its place in the batch; none: from no source.

    Raises:
        ReindexInProgress: The store is between two schemes.
    """
    building = generations.scheme_with_status(connection, "building")
    if building is not None:
        raise ReindexInProgress(building[1].label)
    decisions = _decide(connection, batch, source_ids or {})
    documents.touch_many(
        connection,
        [
            final.stored.document_id
            for key in sorted(decisions.unchanged)
            if (final := decisions.finals[key]).stored is not None
        ],
        seen_at,
    )
    if any(final.place is not None for final in decisions.finals.values()):
        _write(opened, connection, state, batch, decisions, run_id=run_id, seen_at=seen_at)
        generations.note_change(connection)
    return BatchOutcome(tuple(decisions.outcomes), decisions.duplicates)


def _decide(
    connection: Connection, batch: PreparedBatch, source_ids: Mapping[int, int]
) -> _Decisions:
    """Go through the documents in order and say what becomes of each."""
    stored = documents.by_keys(connection, sorted(set(batch.keys)))
    decisions = _Decisions({key: _as_stored(row) for key, row in stored.items()})
    finals = decisions.finals
    holders = {
        digest: {key: document_id for document_id, key in rows}
        for digest, rows in documents.by_digests(connection, sorted(set(batch.digests))).items()
    }
    order = {key: row.document_id for key, row in stored.items()}
    seen = _seen_before(connection, batch, stored, source_ids)
    for place, document in enumerate(batch.documents):
        key, digest = batch.keys[place], batch.digests[place]
        here = (source_ids.get(place), document.position)
        fields = dict(document.metadata) or None
        final = finals.get(key)
        if final is not None:
            same = (final.digest, final.title, final.collection, final.metadata) == (
                digest, document.title, document.collection, fields,
            )  # fmt: skip
            marked = decisions.superseded.get(here, (b"", b""))
            if same or seen.get(place) == digest or marked == (key, digest):
                decisions.outcomes.append("unchanged")
                decisions.unchanged.add(key)
                continue
            before = (final.source_id, final.position)
            # A later page of one file is not superseded by an earlier one: it comes again.
            if None not in before and not (before[0] == here[0] and _after(before, here)):
                decisions.superseded[before] = (key, final.digest)
            holders.get(final.digest, {}).pop(key, None)
        decisions.outcomes.append("added" if final is None else "updated")
        finals[key] = _Final(
            digest, document.title, document.collection, fields, here[0], here[1],
            1 if final is None else final.revision + 1,
            None if final is None else final.stored, place,
        )  # fmt: skip
        others = holders.setdefault(digest, {})
        if others:
            decisions.duplicates[place] = min(others, key=others.__getitem__)
        others[key] = order.setdefault(key, len(order) + _NEW)
    return decisions


def _after(one: _Place, other: _Place) -> bool:
    return (one[1] or 0) >= (other[1] or 0)


def _as_stored(row: DocumentRow) -> _Final:
    return _Final(
        row.digest, row.title, row.collection, row.metadata, row.source_id, row.position,
        row.revision, row, None,
    )  # fmt: skip


def _seen_before(
    connection: Connection,
    batch: PreparedBatch,
    stored: Mapping[bytes, DocumentRow],
    source_ids: Mapping[int, int],
) -> dict[int, bytes]:
    """Return the digest last seen where a document of the batch stands, by its place.

    Only for records whose document got other content from elsewhere since.
    """
    positions: dict[int, dict[int, int]] = {}
    for place, document in enumerate(batch.documents):
        source_id = source_ids.get(place)
        if source_id is not None and document.position is not None and batch.keys[place] in stored:
            positions.setdefault(source_id, {})[document.position] = place
    seen = {}
    for source_id, places in positions.items():
        found = runs.superseded_digests(connection, source_id, list(places))
        seen.update({places[position]: digest for position, digest in found.items()})
    return seen


def _write(
    opened: OpenStore,
    connection: Connection,
    state: State,
    batch: PreparedBatch,
    decisions: _Decisions,
    *,
    run_id: int,
    seen_at: int,
) -> None:
    """Write what was decided."""
    changed = {k: final for k, final in decisions.finals.items() if final.place is not None}
    rows = {
        key: _columns(batch, key, final, run_id=run_id, seen_at=seen_at)
        for key, final in changed.items()
    }
    new = [key for key, final in changed.items() if final.stored is None]
    new_ids = documents.insert_many(
        connection, [rows[key] | {"first_seen": seen_at} for key in new]
    )
    ids = dict(zip(new, new_ids, strict=True))
    ids |= {k: final.stored.document_id for k, final in decisions.finals.items() if final.stored}
    recounted = sorted(
        (key for key, final in changed.items() if final.content_changed), key=ids.__getitem__
    )
    replaced = [ids[key] for key in recounted if changed[key].stored is not None]
    _replace_features(opened, connection, state, batch, replaced, {
        ids[key]: changed[key].place or 0 for key in recounted
    })  # fmt: skip
    documents.update_many(
        connection,
        [rows[k] | {"document_id": ids[k]} for k, final in changed.items() if final.stored],
    )
    if batch.packed_texts:
        documents.put_texts(
            connection,
            {ids[key]: batch.packed_texts[changed[key].place or 0] for key in recounted},
        )
    for final in changed.values():
        if final.source_id is not None and final.position is not None:
            runs.drop_superseded(connection, final.source_id, final.position)
    runs.put_superseded(
        connection,
        {
            (place[0] or 0, place[1] or 0): (ids[key], digest)
            for place, (key, digest) in decisions.superseded.items()
            if (decisions.finals[key].source_id, decisions.finals[key].position) != place
        },
    )


def _columns(
    batch: PreparedBatch, key: bytes, final: _Final, *, run_id: int, seen_at: int
) -> dict[str, Any]:
    place = final.place or 0
    return {
        "key": key,
        "digest": final.digest,
        "title": final.title,
        "collection": final.collection,
        "metadata": final.metadata,
        "source_id": final.source_id,
        "run_id": run_id,
        "position": final.position,
        "byte_offset": batch.documents[place].byte_offset,
        "byte_count": batch.sizes[place],
        "token_count": int(batch.counts.row(place)[1].sum()),
        "last_seen": seen_at,
        "revision": final.revision,
    }


def _replace_features(
    opened: OpenStore,
    connection: Connection,
    state: State,
    batch: PreparedBatch,
    replaced: Sequence[int],
    places: Mapping[int, int],
) -> None:
    """Put the features and fingerprints of the batch in the place of those of older content.

    Args:
        opened: The store.
        connection: A writer; the older texts are still there.
        state: What stands in the writer's transaction.
        batch: The batch.
        replaced: Documents that had other content before.
        places: Document number to its place in the batch.
    """
    counts = _rows(batch.counts, list(places.values()))
    feature_ids = np.empty(0, np.int64)
    if state.records_vocabulary:
        removed = counting.feature_rows(opened, connection, state, replaced) if replaced else {}
        feature_ids = opened.feature_ids(connection, state.scheme_id, counts.terms)
        counting.change_vocabulary(
            connection, state.scheme_id, added=(feature_ids, counts), removed=removed
        )
    if state.keeps_counts:
        counting.write_counts(connection, state.scheme_id, feature_ids, counts, list(places))
    fingerprints.unlink_many(connection, replaced)
    if state.generation is None:
        return
    if batch.words is not None:
        words = batch.words[list(places.values())]
    else:
        generation_id = state.generation.generation_id
        ranks = opened.ranks_of(connection, generation_id, feature_ids)
        words = state.scheme.fingerprints(counts, ranks)
    fingerprints.link_many(
        connection,
        state.scheme.bits,
        state.generation.generation_id,
        dict(zip(places, to_integers(words), strict=True)),
    )


def _rows(counts: FeatureCounts, places: Sequence[int]) -> FeatureCounts:
    """Return some documents of a batch, with the terms that occur in them."""
    if list(places) == list(range(len(counts))):
        return counts
    picked = assemble([counts.row(place) for place in places])
    used, columns = np.unique(picked.columns, return_inverse=True)
    return replace(
        picked, terms=tuple(counts.terms[column] for column in used.tolist()), columns=columns
    )
