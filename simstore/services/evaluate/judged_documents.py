"""Read a store's documents for an evaluation, and score their pairs by every method."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simstore.errors import NotFound
from simstore.fingerprint.counting_bloom import filled_units, filter_places
from simstore.fingerprint.features import FeatureCounts
from simstore.fingerprint.imatch import SIGNATURE_BYTES, in_lexicon, signatures_of_rows
from simstore.fingerprint.minhash import VALUES, band_values
from simstore.fingerprint.shingle_sets import ShingleSets, from_rows
from simstore.fingerprint.simhash import word_count
from simstore.model import FILTERS, Progress
from simstore.search.agreement import NO_DISTANCE, ScoredPairs, pair_codes
from simstore.search.all_pairs import all_pairs, resemblances
from simstore.search.bands import colliding_pairs, pairs_of_columns
from simstore.search.likeness import (
    SURE_RESEMBLANCE,
    alike_pairs,
    likenesses,
    plain_vectors,
    term_vectors,
)
from simstore.search.sorted_tables import near_pairs
from simstore.services.clusters.distinct_texts import fingerprint_words, pages, sketch_matrix
from simstore.services.clusters.term_rows import CountsOfPages
from simstore.services.features import feature_counts
from simstore.services.open_store.open_store import Snapshot
from simstore.services.open_store.state import State
from simstore.storage import documents
from simstore.text.decoding import exact_text

# Pairs whose sketches are compared at a time.
_BLOCK_PAIRS = 1 << 16


@dataclass(slots=True, kw_only=True)
class StoredDocuments:
    """All documents of a store in order of ingest; a row each.

    Attributes:
        keys: Key of each.
        values: The metadata field that was asked for, of each.
        shingles: Shingle set of each; empty where the store keeps no texts.
        counts: Terms of each, where the store keeps texts.
        words: Fingerprints, shape (documents, words).
        fingerprinted: Which have a fingerprint, shape (documents,).
        sketches: Sketches, shape (documents, 128).
        sketched: Which have a sketch that is not empty, shape (documents,).
    """

    keys: list[str]
    values: list[str | None]
    shingles: ShingleSets
    counts: FeatureCounts | None
    words: NDArray[np.uint64]
    fingerprinted: NDArray[np.bool_]
    sketches: NDArray[np.uint16]
    sketched: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.keys)


def read_documents(
    snapshot: Snapshot,
    *,
    field: str | None = None,
    shingles_only: bool = False,
    on_progress: Progress | None = None,
) -> StoredDocuments:
    """Read all documents of a snapshot.

    Args:
        snapshot: The store in a read transaction.
        field: Metadata field to keep; ``collection`` is the collection.
        shingles_only: Leave out terms, fingerprints and sketches.
        on_progress: Called with documents read and in all.
    """
    connection = snapshot.connection
    total = documents.count(connection)
    keys: list[str] = []
    values: list[str | None] = []
    shingles: list[NDArray[np.uint64]] = []
    counts = CountsOfPages()
    words = [np.empty((0, word_count(snapshot.scheme.bits)), np.uint64)]
    fingerprinted = [np.empty(0, np.bool_)]
    sketches = [np.empty((0, VALUES), np.uint16)]
    sketched = [np.empty(0, np.bool_)]
    for rows in pages(connection):
        ids = [row.document_id for row in rows]
        for row in rows:
            keys.append(exact_text(row.key))
            value = None
            if field is not None:
                value = getattr(row, field) if field in FILTERS else (row.metadata or {}).get(field)
            values.append(None if value is None else str(value))
        if snapshot.settings.text_kept:
            texts = feature_counts.whole_texts(snapshot, ids)
            sets = snapshot.channels.sketching.sets(texts.values())
            shingles += [sets.row(place) for place in range(len(sets))]
            if not shingles_only:
                counts.add(feature_counts.count_stored(connection, snapshot.scheme, texts))
        if not shingles_only:
            page_words, page_fingerprinted = fingerprint_words(snapshot, ids)
            words.append(page_words)
            fingerprinted.append(page_fingerprinted)
            made, sizes = sketch_matrix(snapshot, ids)
            sketches.append(made)
            sketched.append(sizes > 0)
        if on_progress is not None:
            on_progress(len(keys), total)
    has_counts = snapshot.settings.text_kept and not shingles_only
    return StoredDocuments(
        keys=keys,
        values=values,
        shingles=from_rows(shingles),
        counts=counts.whole() if has_counts else None,
        words=np.vstack(words),
        fingerprinted=np.concatenate(fingerprinted),
        sketches=np.vstack(sketches),
        sketched=np.concatenate(sketched),
    )


def check_texts(state: State) -> None:
    """Raise NotFound unless the store keeps texts."""
    if not state.settings.text_kept:
        raise NotFound("this store keeps no texts, so no resemblance can be told")


@dataclass(frozen=True, slots=True)
class Truth:
    """The labels, by the rows of the documents.

    Attributes:
        codes: Labelled pairs, of :func:`~simstore.search.agreement.pair_codes`.
        only: Codes of the only pairs that are judged; None: all.
        judged: Which documents are.
        unknown: Labelled keys that the store does not hold.
    """

    codes: NDArray[np.int64]
    only: NDArray[np.int64] | None
    judged: NDArray[np.bool_]
    unknown: tuple[str, ...]


def score_pairs(
    held: StoredDocuments,
    state: State,
    truth: Truth,
    *,
    radius: int,
    floor: float,
    older_methods: bool,
) -> ScoredPairs:
    """Return every judged pair that is labelled, or that any method may find, with its scores.

    Args:
        held: The documents.
        state: Their store.
        truth: The labels.
        radius: Largest distance that any method looks at.
        floor: Least resemblance, and least likeness, of the pairs of the exact joins.
        older_methods: I-Match and counting Bloom filters too.
    """
    total = len(held)
    rows = np.flatnonzero(truth.judged)
    known = rows[held.fingerprinted[rows]]
    first, second = near_pairs(held.words[known], state.scheme.bits, radius)
    found = [truth.codes, pair_codes(known[first], known[second], total)]
    in_band = truth.codes[:0]
    sketched = rows[held.sketched[rows]]
    if len(sketched):
        bands = band_values(held.sketches[sketched], state.channels.layout)
        agreeing = sketched[colliding_pairs(bands)]
        in_band = pair_codes(agreeing[:, 0], agreeing[:, 1], total)
    vectors = signatures = None
    if held.counts is not None:
        vectors = term_vectors(held.counts)
        similar = all_pairs(
            from_rows([held.shingles.row(row) for row in rows.tolist()]),
            min(floor, SURE_RESEMBLANCE),
        )
        alike = alike_pairs(vectors.take(rows), floor)
        found.append(pair_codes(rows[similar.first], rows[similar.second], total))
        found.append(pair_codes(rows[alike.first], rows[alike.second], total))
        if older_methods:
            signatures = MethodSignatures(held.counts)
            first, second = signatures.pairs()
            inside = truth.judged[first] & truth.judged[second]
            found.append(pair_codes(first[inside], second[inside], total))
    codes = np.unique(np.concatenate([*found, in_band]))
    if truth.only is not None:
        codes = np.intersect1d(codes, truth.only, assume_unique=True)
    first, second = codes // max(total, 1), codes % max(total, 1)
    resemblance, likeness, cosine = np.full((3, len(codes)), np.nan)
    if held.counts is not None and vectors is not None:
        resemblance = resemblances(held.shingles, first, second)
        likeness = likenesses(vectors, first, second)
        cosine = likenesses(plain_vectors(held.counts), first, second)
    agreeing, overlaps = np.zeros(len(codes), np.int64), np.full(len(codes), np.nan)
    if signatures is not None and held.counts is not None:
        agreeing = signatures.agreements(first, second)
        overlaps = filter_overlaps(held.counts, first, second)
    return ScoredPairs(
        first=first,
        second=second,
        labelled=np.isin(codes, truth.codes, assume_unique=True),
        distance=distances_of(held, first, second),
        in_band=np.isin(codes, in_band, assume_unique=True),
        estimate=estimates_of(held, first, second),
        resemblance=resemblance,
        likeness=likeness,
        cosine=cosine,
        agreeing=agreeing,
        filter_overlap=overlaps,
    )


def distances_of(
    held: StoredDocuments, first: NDArray[np.int64], second: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the Hamming distance of pairs of documents; NO_DISTANCE without fingerprints."""
    bits = np.bitwise_count(held.words[first] ^ held.words[second]).sum(axis=1, dtype=np.int64)
    known = held.fingerprinted[first] & held.fingerprinted[second]
    return np.where(known, bits, NO_DISTANCE)


def estimates_of(
    held: StoredDocuments, first: NDArray[np.int64], second: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the resemblance of pairs of documents as their sketches estimate it."""
    result = np.zeros(len(first), np.float64)
    for start in range(0, len(first), _BLOCK_PAIRS):
        part = slice(start, start + _BLOCK_PAIRS)
        equal = held.sketches[first[part]] == held.sketches[second[part]]
        result[part] = equal.mean(axis=1)
    known = held.sketched[first] & held.sketched[second]
    return np.where(known, result, 0.0)


# Counters of each filter: texts of a thousand features seldom meet in one by chance.
_COUNTERS = 1 << 18
_LEAST_DOCUMENTS = 2
# The defaults of ``compare``: random lexicons of I-Match, the least and the largest normalized idf
# of its lexicon, and counters a feature of a filter.
LEXICONS = 10
_IDF_BAND = 0.2, 0.9
_FILTER_HASHES = 4


class MethodSignatures:
    """The I-Match signatures of documents.

    Args:
        counts: The terms of each document.
    """

    def __init__(self, counts: FeatureCounts) -> None:
        shape = (len(counts), LEXICONS + 1, SIGNATURE_BYTES // 8)
        self._words = np.zeros(shape, np.uint64)
        self._made = np.zeros(shape[:2], np.bool_)
        if len(counts) < _LEAST_DOCUMENTS:
            return
        documents = np.bincount(counts.columns, minlength=len(counts.terms))
        lexicon = in_lexicon(documents, len(counts), *_IDF_BAND)
        rows = signatures_of_rows(counts, lexicon, LEXICONS)
        for row, signatures in enumerate(rows):
            for number, signature in enumerate(signatures):
                if signature is not None:
                    self._words[row, number] = np.frombuffer(signature, np.uint64)
                    self._made[row, number] = True

    def pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the pairs of documents of which a signature agrees."""
        first, second = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for number in range(self._made.shape[1]):
            rows = np.flatnonzero(self._made[:, number])
            found = pairs_of_columns([self._words[rows, number, 0]], len(rows))
            first.append(rows[found[:, 0]])
            second.append(rows[found[:, 1]])
        return np.concatenate(first), np.concatenate(second)

    def agreements(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many signatures of each pair agree; one that is missing agrees with none."""
        agreeing = np.zeros(len(first), np.int64)
        for number in range(self._made.shape[1]):
            words, made = self._words[:, number], self._made[:, number]
            same = (words[first] == words[second]).all(axis=1)
            agreeing += same & made[first] & made[second]
        return agreeing


def filter_overlaps(
    counts: FeatureCounts, first: NDArray[np.int64], second: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the overlap of the counting Bloom filters of pairs of documents.

    Nothing finds such pairs but a look at all of them: they are found by others.

    Args:
        counts: The terms of each document.
        first: The first document of each pair.
        second: The second.
    """
    places = filter_places(counts.terms, counters=_COUNTERS, hashes=_FILTER_HASHES)
    wanted = np.zeros(len(counts), np.bool_)
    wanted[first] = wanted[second] = True
    rows = []
    for document in range(len(counts)):
        columns, numbers = counts.row(document)
        size = slice(None) if wanted[document] else slice(0)
        rows.append(filled_units(places[columns[size]], numbers[size]))
    return resemblances(from_rows(rows), first, second)
