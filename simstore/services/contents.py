"""The documents of a store as clustering needs them: each distinct text once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simstore.errors import CorruptStore
from simstore.fingerprint.channels import unpack_sketches
from simstore.fingerprint.minhash import VALUES
from simstore.fingerprint.shingle_sets import ShingleSets, from_rows
from simstore.fingerprint.simhash import to_words, word_count
from simstore.services import counting
from simstore.services.opened import OpenStore, State
from simstore.storage import documents, fingerprints, sketches
from simstore.storage.engine import Connection

_PAGE_DOCUMENTS = 400

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
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
        sketches: Sketch of each text, shape (texts, 128).
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
    opened: OpenStore,
    connection: Connection,
    state: State,
    *,
    collection: str | None = None,
    on_progress: Progress | None = None,
) -> Contents:
    """Read the documents of a snapshot without their texts.

    Args:
        opened: The store.
        connection: The snapshot.
        state: What stands in it.
        collection: Only documents of this collection.
        on_progress: Called with documents read and in all.
    """
    total = documents.count(connection)
    keys: list[str] = []
    numbers: list[int] = []
    times: list[int] = []
    places: dict[bytes, int] = {}
    texts: list[int] = []
    facts: list[tuple[int, int, int]] = []
    words = [np.empty((0, word_count(state.scheme.bits)), np.uint64)]
    known = [np.empty(0, np.bool_)]
    made = [np.empty((0, VALUES), np.uint16)]
    sizes = [np.empty(0, np.int64)]
    for rows in pages(connection, collection):
        fresh = []
        for row in rows:
            place = places.setdefault(row.digest, len(places))
            if place == len(facts):
                facts.append((len(numbers), row.byte_count, row.token_count))
                fresh.append(row.document_id)
            keys.append(row.key.decode("utf-8", "surrogateescape"))
            numbers.append(row.document_id)
            times.append(row.first_seen)
            texts.append(place)
        page_words, page_known = fingerprint_words(
            connection, state, [row.document_id for row in rows]
        )
        words.append(page_words)
        known.append(page_known)
        page_sketches, page_sizes = sketch_matrix(opened, connection, state, fresh)
        made.append(page_sketches)
        sizes.append(page_sizes)
        if on_progress is not None:
            on_progress(len(numbers), total)
    firsts, byte_counts, feature_counts = np.array(facts, np.int64).reshape(-1, 3).T
    return Contents(
        keys,
        np.array(numbers, np.int64),
        np.array(times, np.int64),
        np.array(texts, np.int64),
        np.vstack(words),
        np.concatenate(known),
        np.frombuffer(b"".join(places), "V16"),
        firsts,
        byte_counts,
        feature_counts,
        np.vstack(made),
        np.concatenate(sizes),
    )


def read_shingles(
    opened: OpenStore,
    connection: Connection,
    state: State,
    document_ids: Sequence[int],
    on_progress: Progress | None = None,
) -> ShingleSets:
    """Return the shingle sets of documents, from their kept texts; 8 bytes a shingle.

    Args:
        opened: The store.
        connection: A snapshot.
        state: What stands in it.
        document_ids: The documents, in the order wanted.
        on_progress: Called with texts read and in all.

    Raises:
        CorruptStore: A text is missing or damaged.
    """
    rows: list[NDArray[np.uint64]] = []
    for part in documents.chunks(document_ids, _PAGE_DOCUMENTS):
        texts = counting.whole_texts(opened, connection, part)
        sets = state.channels.sketching.sets(texts.values())
        # Copies, so that no page outlives its turn as a whole for a few small rows of it.
        rows += [sets.row(place).copy() for place in range(len(sets))]
        if on_progress is not None:
            on_progress(len(rows), len(document_ids))
    return from_rows(rows)


def pages(connection: Connection, collection: str | None = None) -> Iterator[list[Any]]:
    """Yield the rows of all documents, or of a collection, in order of ingest, some at a time."""
    after = 0
    while rows := list(
        documents.full_rows(connection, after=after, limit=_PAGE_DOCUMENTS, collection=collection)
    ):
        yield rows
        after = rows[-1].document_id


def fingerprint_words(
    connection: Connection, state: State, document_ids: Sequence[int]
) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """Return the fingerprint of each document, zeros where it has none, and whether it has one."""
    bits = state.scheme.bits
    found: dict[int, int] = {}
    if state.generation is not None:
        generation_id = state.generation.generation_id
        found = fingerprints.of_documents(connection, bits, generation_id, document_ids)
    words = to_words([found.get(number, 0) for number in document_ids], bits)
    return words, np.array([number in found for number in document_ids], np.bool_)


def sketch_matrix(
    opened: OpenStore, connection: Connection, state: State, document_ids: Sequence[int]
) -> tuple[NDArray[np.uint16], NDArray[np.int64]]:
    """Return sketch and number of shingles of each document, zeros where it has none."""
    made = np.zeros((len(document_ids), VALUES), np.uint16)
    sizes = np.zeros(len(document_ids), np.int64)
    found = sketches.of_documents(connection, state.scheme_id, document_ids)
    places = [
        place
        for place, number in enumerate(document_ids)
        if number in found and found[number].packed
    ]
    stored = [found[document_ids[place]] for place in places]
    try:
        made[places] = unpack_sketches([row.packed for row in stored])
    except ValueError as error:
        raise CorruptStore(opened.database.label, str(error)) from error
    sizes[places] = [row.size for row in stored]
    return made, sizes
