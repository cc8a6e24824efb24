"""Evaluate a store's matches against labelled pairs, and compute its similar pairs exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from simstore.errors import InvalidParameter, NotFound, printable
from simstore.model import Progress
from simstore.model.arguments import check_fields
from simstore.search.agreement import METHODS, OLDER
from simstore.search.all_pairs import all_pairs
from simstore.search.evaluation import (
    ALL_SETS,
    RESEMBLANCE,
    Evaluation,
    Judged,
    Thresholds,
    against_resemblance,
    band_recalls,
    curves,
)
from simstore.search.plan import check_radius, default_radius
from simstore.search.resemblance import check_share
from simstore.services.evaluate.judged_documents import (
    OlderMethods,
    Scope,
    StoredDocuments,
    check_texts,
    read_documents,
    score_pairs,
)
from simstore.services.evaluate.labels import (
    EvaluatePart,
    Labels,
    part_of,
    take_resemblances,
    truth_of,
)
from simstore.services.open_store.open_store import OpenStore
from simstore.services.open_store.state import State

LARGEST_RADIUS = 12
FLOOR = 0.3
_NAMED_KEYS = 3
# The exact join's pairs of this resemblance are a truth of their own.
TRUTHS = (0.8, RESEMBLANCE)


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
        set_by: Metadata field, or ``collection``, by which documents are judged
            apart: no pair of documents of two sets is.
        candidate_radius: Radius of channel 1 where resemblance or likeness
            verifies what it finds; None: the default radius.
        part: ``tuning`` or ``test``: only groups whose hash is even or odd;
            ``none``: all.
        older_methods: I-Match and counting Bloom filters too, as in
            ``compare``; the store must keep its texts.
    """

    radii: tuple[int, int] | None = None
    floor: float = FLOOR
    set_by: str | None = None
    candidate_radius: int | None = None
    part: EvaluatePart = "none"
    older_methods: bool = False

    def __post_init__(self) -> None:
        check_fields(self)


class EvaluateKeywords(TypedDict, total=False):
    """Options by name, as :class:`EvaluateOptions` describes them."""

    radii: tuple[int, int] | None
    floor: float
    set_by: str | None
    candidate_radius: int | None
    part: EvaluatePart
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
    fields = [name for name in (options.set_by, labels.field) if name is not None]
    with opened.database.read() as connection:
        snapshot = opened.snapshot(connection)
        thresholds = _thresholds(snapshot, options)
        held = read_documents(snapshot, fields=fields, on_progress=on_progress)
    truth = truth_of(held, labels)
    set_of, set_names = _sets(
        held, options.set_by, truth.judged & part_of(held, truth, options.part)
    )
    first, second = truth.codes // max(len(held), 1), truth.codes % max(len(held), 1)
    inside = (set_of[first] >= 0) & (set_of[first] == set_of[second])
    radius = max(thresholds.radii[-1], thresholds.candidate_radius)
    scope = Scope(
        set_of,
        truth.codes[inside],
        truth.only,
        radius,
        options.floor,
        older_methods=options.older_methods,
    )
    pairs = score_pairs(held, snapshot, scope)
    if held.counts is None:
        take_resemblances(pairs, held, labels.pairs or ())
    rows = np.flatnonzero(set_of >= 0)
    if not len(rows):
        raise _nothing_judged(held.keys, truth.unknown)
    places = np.full(len(held), -1, np.int64)
    places[rows] = np.arange(len(rows))
    pairs.first[:], pairs.second[:] = places[pairs.first], places[pairs.second]
    judged = Judged(set_of[rows], set_names)
    points = curves(pairs, judged, thresholds)
    if "exact" in thresholds.methods and truth.only is None:
        for least in TRUTHS:
            if least >= options.floor:
                points += against_resemblance(pairs, judged, thresholds, least)
    touched = (set_of[first] >= 0) | (set_of[second] >= 0)
    return Evaluation(
        document_count=len(rows),
        pair_count=int(np.count_nonzero(inside)),
        unknown_keys=truth.unknown,
        outside_count=int(np.count_nonzero(touched & ~inside)),
        methods=tuple(thresholds.methods),
        points=tuple(points),
        bands=tuple(band_recalls(pairs, judged, thresholds)),
    )


def _nothing_judged(keys: Sequence[str], unknown: Sequence[str]) -> NotFound:
    """Return the error where no document is to be judged, with keys of both sides."""
    if not unknown:
        return NotFound(
            "no document of the store is labelled in the field, sets and part that were asked for; "
            "`simstore show KEY` tells the fields of one of its keys"
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
    default = default_radius(state.scheme.bits)
    candidate = default if options.candidate_radius is None else options.candidate_radius
    for radius in (low, high, candidate):
        check_radius(radius, state.scheme.bits)
    there = {
        "simhash": state.channels.has_fingerprints,
        "minhash": state.channels.has_word_sketches,
    }
    methods = [method for method in METHODS if there.get(method, state.settings.text_kept)]
    if options.older_methods:
        check_texts(state)
        methods += OLDER
    lexicons = OlderMethods().lexicons
    return Thresholds(range(low, high + 1), default, candidate, methods, options.floor, lexicons)


def _sets(
    held: StoredDocuments, set_by: str | None, judged: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], list[str]]:
    """Return the set of each document, -1 where it is not judged, and the names of the sets."""
    if set_by is None:
        return np.where(judged, 0, -1), [ALL_SETS]
    numbers: dict[str, int] = {}
    fresh = count()
    set_of = np.full(len(held), -1, np.int64)
    for row, name in enumerate(held.fields[set_by]):
        if judged[row] and name is not None:
            if name not in numbers:
                numbers[name] = next(fresh)
            set_of[row] = numbers[name]
    return set_of, list(numbers)
