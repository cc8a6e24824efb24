"""Evaluate: what a store finds against what is labelled, and its exact join."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from simstore.errors import InvalidParameter, NotFound
from simstore.search.agreement import connected, pair_codes, pairs_of_clusters
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
from simstore.search.scored_pairs import METHODS
from simstore.services.judged_documents import (
    Progress,
    Scope,
    StoredDocuments,
    check_texts,
    read_documents,
    score_pairs,
)
from simstore.services.opened import OpenStore, State
from simstore.sources.labels import GroupLabel, LabelledPair
from simstore.text.decoding import encode

LARGEST_RADIUS = 12
FLOOR = 0.3
# The exact join's pairs of this resemblance are a truth of their own.
TRUTHS = (0.8, RESEMBLANCE)

Part = Literal["none", "tuning", "test"]


@dataclass(frozen=True, slots=True)
class Labels:
    """What is near-duplicate of what; one of the three.

    Attributes:
        pairs: Labelled pairs. Where one of them is labelled distinct, only labelled pairs are
            judged; else every other pair of the store's documents counts as distinct.
        clusters: Groups of documents; documents without one are not judged.
        field: Metadata field that holds a document's group.
    """

    pairs: Sequence[LabelledPair] | None = None
    clusters: Sequence[GroupLabel] | None = None
    field: str | None = None


@dataclass(frozen=True, slots=True)
class EvaluateOptions:
    """How to evaluate.

    Attributes:
        radii: First and last radius of the curve of ``simhash``, bits, inclusive.
        floor: Least resemblance of the exact join's pairs.
        set_by: Metadata field, or ``collection``, by which documents are judged apart: no pair
            of documents of two sets is.
        candidate_radius: Radius of channel 1 where resemblance or likeness verifies what it finds;
            None: the default radius.
        part: ``tuning`` or ``test``: only groups whose hash is even or odd; ``none``: all.
    """

    radii: tuple[int, int] = (0, LARGEST_RADIUS)
    floor: float = FLOOR
    set_by: str | None = None
    candidate_radius: int | None = None
    part: Part = "none"


@dataclass(frozen=True, slots=True)
class ExactPair:
    """Two documents and the resemblance of their shingle sets."""

    first: str
    second: str
    resemblance: float


def evaluate_store(
    opened: OpenStore,
    labels: Labels,
    options: EvaluateOptions,
    on_progress: Progress | None = None,
) -> Evaluation:
    """Compare what each method finds in a store, at each threshold, with what is labelled.

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
        state = opened.state(connection)
        thresholds = _thresholds(state, options)
        held = read_documents(opened, connection, state, fields=fields, on_progress=on_progress)
    truth = _truth(held, labels)
    set_of, set_names = _sets(held, options.set_by, truth.judged & _part(held, truth, options.part))
    first, second = truth.codes // max(len(held), 1), truth.codes % max(len(held), 1)
    inside = (set_of[first] >= 0) & (set_of[first] == set_of[second])
    radius = max(thresholds.radii[-1], thresholds.candidate_radius)
    scope = Scope(set_of, truth.codes[inside], truth.only, radius, options.floor)
    pairs = score_pairs(held, state, scope)
    rows = np.flatnonzero(set_of >= 0)
    if not len(rows):
        raise NotFound("no document of the store is labelled; are the keys those of the store?")
    places = np.full(len(held), -1, np.int64)
    places[rows] = np.arange(len(rows))
    pairs.first[:], pairs.second[:] = places[pairs.first], places[pairs.second]
    clusters = None if truth.groups is None else truth.groups[rows]
    judged = Judged(set_of[rows], set_names, clusters)
    points = curves(pairs, judged, thresholds)
    if "exact" in thresholds.methods and truth.only is None:
        for least in TRUTHS:
            if least >= options.floor:
                points += against_resemblance(pairs, judged, thresholds, least)
    touched = (set_of[first] >= 0) | (set_of[second] >= 0)
    return Evaluation(
        len(rows),
        int(np.count_nonzero(inside)),
        truth.unknown,
        int(np.count_nonzero(touched & ~inside)),
        tuple(thresholds.methods),
        tuple(points),
        tuple(band_recalls(pairs, judged, thresholds)),
    )


def exact_pairs(
    opened: OpenStore, least: float, on_progress: Progress | None = None
) -> list[ExactPair]:
    """Return all pairs of the store's documents of a least resemblance, found exactly.

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
        state = opened.state(connection)
        check_texts(state)
        held = read_documents(
            opened, connection, state, shingles_only=True, on_progress=on_progress
        )
    found = all_pairs(held.shingles, least)
    return [
        ExactPair(held.keys[first], held.keys[second], resemblance)
        for first, second, resemblance in zip(
            found.first.tolist(), found.second.tolist(), found.resemblance.tolist(), strict=True
        )
    ]


def _thresholds(state: State, options: EvaluateOptions) -> Thresholds:
    low, high = options.radii
    if low > high:
        raise InvalidParameter(f"radius {low}-{high}: the first must not be above the second")
    if not 0 < options.floor <= 1:
        raise InvalidParameter(f"resemblance {options.floor}: above 0 and at most 1")
    default = default_radius(state.scheme.bits)
    candidate = default if options.candidate_radius is None else options.candidate_radius
    for radius in (*options.radii, candidate):
        check_radius(radius, state.scheme.bits)
    there = {
        "simhash": state.channels.simhash,
        "minhash": state.channels.minhash,
        "verified": state.settings.text_kept,
        "likeness": state.settings.text_kept,
        "exact": state.settings.text_kept,
    }
    methods = [method for method in METHODS if there[method]]
    return Thresholds(range(low, high + 1), default, candidate, methods, options.floor)


@dataclass(frozen=True, slots=True)
class _Truth:
    """The labels, by the rows of the documents.

    Attributes:
        codes: Labelled pairs.
        only: Pairs that are judged; None: all.
        groups: Cluster of each document; None where only some pairs are judged.
        names: Name of each document's group.
        judged: Which documents are.
        unknown: Labelled keys that the store does not hold.
    """

    codes: NDArray[np.int64]
    only: NDArray[np.int64] | None
    groups: NDArray[np.int64] | None
    names: list[str]
    judged: NDArray[np.bool_]
    unknown: tuple[str, ...]


def _truth(held: StoredDocuments, labels: Labels) -> _Truth:
    row_of = {key: row for row, key in enumerate(held.keys)}
    if labels.pairs is not None:
        return _pair_truth(held, labels.pairs, row_of)
    unknown: list[str] = []
    groups: list[str | None] = [None] * len(held)
    if labels.field is not None:
        groups = list(held.fields[labels.field])
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
    names = [name or "" for name in groups]
    codes = pairs_of_clusters(labelled)
    return _Truth(codes, None, labelled, names, labelled >= 0, tuple(sorted(set(unknown))))


def _pair_truth(
    held: StoredDocuments, pairs: Sequence[LabelledPair], row_of: dict[str, int]
) -> _Truth:
    total = len(held)
    named = {key for pair in pairs for key in (pair.first, pair.second)}
    known = [pair for pair in pairs if pair.first in row_of and pair.second in row_of]
    ends = np.array([(row_of[p.first], row_of[p.second]) for p in known], np.int64).reshape(-1, 2)
    duplicate = np.array([pair.duplicate for pair in known], bool)
    codes = pair_codes(ends[duplicate, 0], ends[duplicate, 1], total)
    labels = connected(ends[duplicate, 0], ends[duplicate, 1], total)
    only = groups = None
    judged = np.ones(total, np.bool_)
    if all(pair.duplicate for pair in pairs):
        groups = labels
    else:
        only = pair_codes(ends[:, 0], ends[:, 1], total)
        judged[:] = False
        judged[ends.reshape(-1)] = True
    names = [held.keys[row] for row in labels.tolist()]
    return _Truth(codes, only, groups, names, judged, tuple(sorted(named - row_of.keys())))


def _part(held: StoredDocuments, truth: _Truth, part: Part) -> NDArray[np.bool_]:
    """Return which documents belong to a part: the hash of a group is the same everywhere."""
    if part == "none":
        return np.ones(len(held), np.bool_)
    odd = np.array([is_odd(name) for name in truth.names], bool)
    return odd if part == "test" else ~odd


def is_odd(group: str) -> bool:
    """Return whether the BLAKE2b-64 of a group's name is an odd number."""
    return bool(hashlib.blake2b(encode(group), digest_size=8).digest()[-1] & 1)


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
