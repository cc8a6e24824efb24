"""Read the documents of a store for clustering, with each distinct text once."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.channels import DEFAULT_RECIPE
from simstore.fingerprint.shingle_sets import ShingleSets, from_rows
from simstore.fingerprint.simhash import to_words, word_count
from simstore.fingerprint.sketching import Sketching, SketchRecipe, unpack_sketches
from simstore.model import DocumentFilter, Progress
from simstore.model.documents import ALL_DOCUMENTS
from simstore.services.features.feature_counts import whole_texts
from simstore.services.open_store.open_store import Snapshot
from simstore.storage import documents
from simstore.storage.damage import corrupt
from simstore.storage.documents import content_rows
from simstore.storage.engine import Connection
from simstore.storage.fingerprints import fingerprints
from simstore.storage.rows import chunks
from simstore.storage.sketches import SKETCHES
from simstore.text.decoding import exact_text

_PAGE_DOCUMENTS = 400
_DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """Documents in order of ingest, and their distinct texts in order of first appearance.

    Attributes:
        keys: Key of each document.
        document_ids: Its place in the order of ingest, int64, shape (documents,).
        first_seen: When it was first seen, seconds since 1970, int64, shape (documents,).
        texts: Which text it has, int64, shape (documents,).
        words: Its fingerprint, shape (documents, words).
        fingerprinted: Whether it has one, shape (documents,).
        digests: BLAKE2b-128 of each text, ``V16``, shape (texts,).
        firsts: First document with each text, int64, shape (texts,).
        byte_counts: Bytes of each text, int64, shape (texts,).
        feature_counts: Features that occur in each text, int64, shape (texts,).
        sketches: Sketch of each text, shape (texts, values).
        shingle_counts: Distinct shingles of each text; 0 without a sketch; shape (texts,).
    """

    keys: list[str]
    document_ids: NDArray[np.int64]
    first_seen: NDArray[np.int64]
    texts: NDArray[np.int64]
    words: NDArray[np.uint64]
    fingerprinted: NDArray[np.bool_]
    digests: NDArray[np.void]
    firsts: NDArray[np.int64]
    byte_counts: NDArray[np.int64]
    feature_counts: NDArray[np.int64]
    sketches: NDArray[np.uint16]
    shingle_counts: NDArray[np.int64]


def read_contents(
    snapshot: Snapshot,
    *,
    wanted: DocumentFilter = ALL_DOCUMENTS,
    recipe: SketchRecipe = DEFAULT_RECIPE,
    on_progress: Progress | None = None,
) -> Contents:
    """Read the documents of a snapshot without their texts.

    Args:
        snapshot: The store in a read transaction.
        wanted: Which documents.
        recipe: Of the sketches.
        on_progress: Called with documents read and in all.
    """
    connection = snapshot.connection
    total = documents.count(connection)
    keys: list[str] = []
    places: dict[bytes, int] = {}
    # Plain numbers, as there may be millions: document, first seen, text; and of each text.
    numbers, times, texts, firsts, byte_counts, feature_counts = (array("q") for _ in range(6))
    width = word_count(snapshot.scheme.bits)
    words, known = np.zeros((total, width), np.uint64), np.zeros(total, np.bool_)
    # Memory that is not written to is not taken.
    made = np.empty((total, recipe.sketching.values), np.uint16)
    sizes = np.zeros(total, np.int64)
    after = 0
    while rows := content_rows(connection, after, _PAGE_DOCUMENTS, wanted):
        start, first = len(numbers), len(places)
        fresh = []
        for document_id, key, digest, byte_count, token_count, first_seen in rows:
            place = places.setdefault(bytes(digest), len(places))
            if place == len(firsts):
                firsts.append(len(numbers))
                byte_counts.append(byte_count)
                feature_counts.append(token_count)
                fresh.append(document_id)
            keys.append(exact_text(bytes(key)))
            numbers.append(document_id)
            times.append(first_seen)
            texts.append(place)
        if len(numbers) > total:
            # They are counted by an index, which damage has parted from its table.
            raise corrupt(connection, f"there are more documents than the {total} that are counted")
        part = slice(start, len(numbers))
        words[part], known[part] = fingerprint_words(snapshot, numbers[start:].tolist())
        part = slice(first, len(places))
        made[part], sizes[part] = sketch_matrix(snapshot, fresh, recipe)
        after = numbers[-1]
        if on_progress is not None:
            on_progress(len(numbers), total)
    digests = b"".join(places)
    if len(digests) != _DIGEST_BYTES * len(places):
        raise corrupt(connection, "a digest of a text has another length")
    return Contents(
        keys=keys,
        document_ids=_integers(numbers),
        first_seen=_integers(times),
        texts=_integers(texts),
        words=words[: len(numbers)],
        fingerprinted=known[: len(numbers)],
        digests=np.frombuffer(digests, f"V{_DIGEST_BYTES}"),
        firsts=_integers(firsts),
        byte_counts=_integers(byte_counts),
        feature_counts=_integers(feature_counts),
        sketches=made[: len(places)],
        shingle_counts=sizes[: len(places)],
    )


def _integers(values: array[int]) -> NDArray[np.int64]:
    return np.frombuffer(values, np.int64) if values else np.empty(0, np.int64)


def read_shingles(
    snapshot: Snapshot,
    document_ids: Sequence[int],
    sketching: Sketching,
    on_progress: Progress | None = None,
) -> ShingleSets:
    """Return the shingle sets of documents, from their stored texts; 8 bytes a shingle.

    Args:
        snapshot: The store in a read transaction.
        document_ids: The documents, in the order wanted.
        sketching: Makes the sets.
        on_progress: Called with texts read and in all.

    Raises:
        CorruptStore: A text is missing or damaged.
    """
    rows: list[NDArray[np.uint64]] = []
    for part in chunks(document_ids, _PAGE_DOCUMENTS):
        texts = whole_texts(snapshot, part)
        sets = sketching.sets(texts.values())
        # Copies, so that no page outlives its turn as a whole for a few small rows of it.
        rows += [sets.row(place).copy() for place in range(len(sets))]
        if on_progress is not None:
            on_progress(len(rows), len(document_ids))
    return from_rows(rows)


def pages(connection: Connection, wanted: DocumentFilter = ALL_DOCUMENTS) -> Iterator[list[Any]]:
    """Yield the rows of documents in order of ingest, in batches."""
    after = 0
    while rows := list(
        documents.full_rows(connection, after=after, limit=_PAGE_DOCUMENTS, wanted=wanted)
    ):
        yield rows
        after = rows[-1].document_id


def fingerprint_words(
    snapshot: Snapshot, document_ids: Sequence[int]
) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """Return the fingerprint of each document, zeros where it has none, and whether it has one."""
    bits = snapshot.scheme.bits
    found: dict[int, int] = {}
    if snapshot.generation is not None:
        generation_id = snapshot.generation.generation_id
        found = fingerprints.of_documents(snapshot.connection, bits, generation_id, document_ids)
    words = to_words([found.get(number, 0) for number in document_ids], bits)
    return words, np.array([number in found for number in document_ids], np.bool_)


def sketch_matrix(
    snapshot: Snapshot, document_ids: Sequence[int], recipe: SketchRecipe = DEFAULT_RECIPE
) -> tuple[NDArray[np.uint16], NDArray[np.int64]]:
    """Return sketch and number of shingles of each document, zeros where it has none."""
    # Kernels read values of 16 bits, of whichever sketches.
    made = np.zeros((len(document_ids), recipe.sketching.values), np.uint16)
    sizes = np.zeros(len(document_ids), np.int64)
    tables = SKETCHES[recipe.name]
    found = tables.of_documents(snapshot.connection, snapshot.scheme_id, document_ids)
    places = [
        place
        for place, number in enumerate(document_ids)
        if number in found and found[number].packed
    ]
    stored = [found[document_ids[place]] for place in places]
    try:
        made[places] = unpack_sketches([row.packed for row in stored], recipe.sketching)
    except ValueError as error:
        raise snapshot.corrupt(str(error)) from error
    sizes[places] = [row.size for row in stored]
    return made, sizes
