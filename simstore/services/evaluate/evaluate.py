"""Evaluate a store's matches against labelled pairs, and compute its similar pairs exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np

from simstore.errors import InvalidParameter, NotFound, printable
from simstore.model import Progress
from simstore.model.arguments import check_fields
from simstore.search.agreement import METHODS, OLDER, pair_codes, pairs_of_clusters
from simstore.search.all_pairs import all_pairs
from simstore.search.evaluation import Evaluation, Thresholds, curves
from simstore.search.plan import check_radius, default_radius
from simstore.search.resemblance import check_share
from simstore.services.evaluate.judged_documents import (
    LEXICONS,
    StoredDocuments,
    Truth,
    check_texts,
    read_documents,
    score_pairs,
)
from simstore.services.open_store.open_store import OpenStore
from simstore.services.open_store.state import State
from simstore.sources.labels import GroupLabel, LabelledPair

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
