"""Evaluate a store's matches against labelled pairs, and compute its similar pairs exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from simstore.errors import InvalidParameter, NotFound, printable
from simstore.fingerprint.counting_bloom import filled_units, filter_places
from simstore.fingerprint.features import FeatureCounts
from simstore.fingerprint.imatch import SIGNATURE_BYTES, in_lexicon, signatures_of_rows
from simstore.fingerprint.minhash import VALUES, band_values
from simstore.fingerprint.shingle_sets import ShingleSets, from_rows
from simstore.fingerprint.simhash import word_count
from simstore.model import FILTERS, Progress
from simstore.model.arguments import check_fields
from simstore.search.agreement import (
    METHODS,
    NO_DISTANCE,
    OLDER,
    ScoredPairs,
    pair_codes,
    pairs_of_clusters,
)
from simstore.search.all_pairs import all_pairs, resemblances
from simstore.search.bands import colliding_pairs, pairs_of_columns
from simstore.search.evaluation import Evaluation, Thresholds, curves
from simstore.search.likeness import (
    SURE_RESEMBLANCE,
    alike_pairs,
    likenesses,
    plain_vectors,
    term_vectors,
)
from simstore.search.plan import check_radius, default_radius
from simstore.search.resemblance import check_share
from simstore.search.sorted_tables import near_pairs
from simstore.services.clusters.distinct_texts import fingerprint_words, pages, sketch_matrix
from simstore.services.clusters.term_rows import CountsOfPages
from simstore.services.features import feature_counts
from simstore.services.open_store.open_store import OpenStore, Snapshot
from simstore.services.open_store.state import State
from simstore.sources.labels import GroupLabel, LabelledPair
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


LARGEST_RADIUS = 12
FLOOR = 0.3
_NAMED_KEYS = 3


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels of an evaluation, in one of three forms.

    >>> labels = Labels(pairs=[LabelledPair("ferry-2025", "ferry-2026")])
    >>> store.evaluate.run(labels).pair_count
    1

    Attributes:
        pairs: Labelled pairs. Where one of them is labelled distinct, only
            labelled pairs are judged; else every other pair of the store's
            documents counts as distinct.
        clusters: Groups of documents; documents without one are not judged.
        field: Metadata field that holds a document's group.
    """

    pairs: Sequence[LabelledPair] | None = None
    clusters: Sequence[GroupLabel] | None = None
    field: str | None = None


@dataclass(frozen=True, slots=True)
class EvaluateOptions:
    """Options of an evaluation.

    >>> labels = Labels(pairs=[LabelledPair("ferry-2025", "ferry-2026")])
    >>> options = EvaluateOptions(older_methods=True)
    >>> store.evaluate.run(labels, options).methods[-2:]
    ('i-match', 'counting-bloom')

    Attributes:
        radii: First and last radius of the curve of ``simhash``, bits,
            inclusive; None: 0 to 12, or to the fingerprint's bits.
        floor: Least resemblance and least likeness of the exact joins' pairs.
        older_methods: I-Match and counting Bloom filters too, as in
            ``compare``; the store must keep its texts.
    """

    radii: tuple[int, int] | None = None
    floor: float = FLOOR
    older_methods: bool = False

    def __post_init__(self) -> None:
        check_fields(self)


class EvaluateKeywords(TypedDict, total=False):
    """Options by name, as :class:`EvaluateOptions` describes them."""

    radii: tuple[int, int] | None
    floor: float
    older_methods: bool


@dataclass(frozen=True, slots=True)
class ExactPair:
    """Two documents and the resemblance of their shingle sets.

    >>> (pair,) = store.evaluate.exact_pairs(0.5)
    >>> pair.first, pair.second, round(pair.resemblance, 2)
    ('ferry-2025', 'ferry-2026', 0.87)
    """

    first: str
    second: str
    resemblance: float


def evaluate_store(
    opened: OpenStore,
    labels: Labels,
    options: EvaluateOptions,
    on_progress: Progress | None = None,
) -> Evaluation:
    """Compare the pairs that each method finds, at each threshold, with the labelled pairs.

    Args:
        opened: The store.
        labels: What is near-duplicate of what.
        options: How to evaluate.
        on_progress: Called with documents read and in all.

    Raises:
        InvalidParameter: A radius or the floor is out of its range.
        NotFound: No document of the store is labelled.
    """
    with opened.database.read() as connection:
        snapshot = opened.snapshot(connection)
        thresholds = _thresholds(snapshot, options)
        held = read_documents(snapshot, field=labels.field, on_progress=on_progress)
    truth = _truth_of(held, labels)
    if not truth.judged.any():
        raise _nothing_judged(held.keys, truth.unknown)
    pairs = score_pairs(
        held,
        snapshot,
        truth,
        radius=max(thresholds.radii[-1], thresholds.default_radius),
        floor=options.floor,
        older_methods=options.older_methods,
    )
    return Evaluation(
        document_count=int(np.count_nonzero(truth.judged)),
        pair_count=len(truth.codes),
        unknown_keys=truth.unknown,
        methods=tuple(thresholds.methods),
        points=tuple(curves(pairs, thresholds)),
    )


def _truth_of(held: StoredDocuments, labels: Labels) -> Truth:
    """Return the labels by the rows of the documents."""
    row_of = {key: row for row, key in enumerate(held.keys)}
    if labels.pairs is not None:
        return _pair_truth(len(held), labels.pairs, row_of)
    unknown: list[str] = []
    groups: list[str | None] = [None] * len(held)
    if labels.field is not None:
        groups = list(held.values)
    for label in labels.clusters or ():
        row = row_of.get(label.key)
        if row is None:
            unknown.append(label.key)
        else:
            groups[row] = label.group
    numbers: dict[str, int] = {}
    labelled = np.array(
        [-1 if name is None else numbers.setdefault(name, len(numbers)) for name in groups],
        np.int64,
    )
    codes = pairs_of_clusters(labelled)
    return Truth(codes, None, labelled >= 0, tuple(sorted(set(unknown))))


def _pair_truth(total: int, pairs: Sequence[LabelledPair], row_of: dict[str, int]) -> Truth:
    named = {key for pair in pairs for key in (pair.first, pair.second)}
    known = [pair for pair in pairs if pair.first in row_of and pair.second in row_of]
    ends = np.array([(row_of[p.first], row_of[p.second]) for p in known], np.int64).reshape(-1, 2)
    duplicate = np.array([pair.duplicate for pair in known], bool)
    codes = pair_codes(ends[duplicate, 0], ends[duplicate, 1], total)
    only = None
    judged = np.ones(total, np.bool_)
    if not all(pair.duplicate for pair in pairs):
        only = pair_codes(ends[:, 0], ends[:, 1], total)
        judged[:] = False
        judged[ends.reshape(-1)] = True
    if not known:
        judged[:] = False
    return Truth(codes, only, judged, tuple(sorted(named - row_of.keys())))


def _nothing_judged(keys: Sequence[str], unknown: Sequence[str]) -> NotFound:
    """Return the error where no document is to be judged, with keys of both sides."""
    if not unknown:
        return NotFound(
            "no document of the store has the metadata field that was asked for; "
            "`simstore show KEY` shows the fields of a document"
        )
    return NotFound(
        f"no document of the store is labelled: the labels name {_some(unknown)}, which it does "
        f"not hold; it holds {_some(keys) or 'none'}"
    )


def _some(keys: Sequence[str]) -> str:
    """Return the first keys, in words."""
    shown = ", ".join(printable(key) for key in keys[:_NAMED_KEYS])
    return f"{shown}, ..." if len(keys) > _NAMED_KEYS else shown


def exact_pairs(
    opened: OpenStore, least: float, on_progress: Progress | None = None
) -> list[ExactPair]:
    """Return all pairs of stored documents with at least a given resemblance, found exactly.

    The shingle sets of all documents are held in memory, 8 bytes a shingle.

    Args:
        opened: The store.
        least: Least resemblance, above 0, at most 1, inclusive.
        on_progress: Called with documents read and in all.

    Returns:
        The pairs, the document that came first in front, in order of ingest.

    Raises:
        NotFound: The store keeps no texts.
    """
    with opened.database.read() as connection:
        snapshot = opened.snapshot(connection)
        check_texts(snapshot)
        held = read_documents(snapshot, shingles_only=True, on_progress=on_progress)
    found = all_pairs(held.shingles, least)
    return [
        ExactPair(held.keys[first], held.keys[second], resemblance)
        for first, second, resemblance in zip(
            found.first.tolist(), found.second.tolist(), found.resemblance.tolist(), strict=True
        )
    ]


def _thresholds(state: State, options: EvaluateOptions) -> Thresholds:
    low, high = options.radii or (0, min(LARGEST_RADIUS, state.scheme.bits))
    if low > high:
        raise InvalidParameter(f"radius {low}-{high}: the first must not be above the second")
    check_share("resemblance", options.floor)
    for radius in (low, high):
        check_radius(radius, state.scheme.bits)
    there = {
        "simhash": state.channels.has_fingerprints,
        "minhash": state.channels.has_word_sketches,
    }
    methods = [method for method in METHODS if there.get(method, state.settings.text_kept)]
    if options.older_methods:
        check_texts(state)
        methods += OLDER
    default = default_radius(state.scheme.bits)
    return Thresholds(range(low, high + 1), default, methods, options.floor, LEXICONS)
