"""Map evaluation labels to a store's documents, and split these into tuning and test parts."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from simstore.search.agreement import ScoredPairs, connected, pair_codes, pairs_of_clusters
from simstore.services.evaluate.judged_documents import StoredDocuments
from simstore.sources.labels import GroupLabel, LabelledPair
from simstore.text.decoding import encode

EvaluatePart = Literal["none", "tuning", "test"]


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
class Truth:
    """The labels, by the rows of the documents.

    Attributes:
        codes: Labelled pairs.
        only: Pairs that are judged; None: all.
        names: Name of each document's group.
        judged: Which documents are.
        unknown: Labelled keys that the store does not hold.
    """

    codes: NDArray[np.int64]
    only: NDArray[np.int64] | None
    names: list[str]
    judged: NDArray[np.bool_]
    unknown: tuple[str, ...]


def truth_of(held: StoredDocuments, labels: Labels) -> Truth:
    """Return the labels by the rows of the documents."""
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
    return Truth(codes, None, names, labelled >= 0, tuple(sorted(set(unknown))))


def _pair_truth(
    held: StoredDocuments, pairs: Sequence[LabelledPair], row_of: dict[str, int]
) -> Truth:
    total = len(held)
    named = {key for pair in pairs for key in (pair.first, pair.second)}
    known = [pair for pair in pairs if pair.first in row_of and pair.second in row_of]
    ends = np.array([(row_of[p.first], row_of[p.second]) for p in known], np.int64).reshape(-1, 2)
    duplicate = np.array([pair.duplicate for pair in known], bool)
    codes = pair_codes(ends[duplicate, 0], ends[duplicate, 1], total)
    labels = connected(ends[duplicate, 0], ends[duplicate, 1], total)
    only = None
    judged = np.ones(total, np.bool_)
    if not all(pair.duplicate for pair in pairs):
        only = pair_codes(ends[:, 0], ends[:, 1], total)
        judged[:] = False
        judged[ends.reshape(-1)] = True
    if not known:
        judged[:] = False
    names = [held.keys[row] for row in labels.tolist()]
    return Truth(codes, only, names, judged, tuple(sorted(named - row_of.keys())))


def take_resemblances(
    pairs: ScoredPairs, held: StoredDocuments, labelled: Sequence[LabelledPair]
) -> None:
    """Set the resemblances given in the labels file; the store cannot compute them."""
    row_of = {key: row for row, key in enumerate(held.keys)}
    resemblances = {
        frozenset((row_of[pair.first], row_of[pair.second])): pair.resemblance
        for pair in labelled
        if pair.resemblance is not None and pair.first in row_of and pair.second in row_of
    }
    ends = zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)
    for place, pair in enumerate(ends):
        pairs.resemblance[place] = resemblances.get(frozenset(pair), np.nan)


def part_of(held: StoredDocuments, truth: Truth, part: EvaluatePart) -> NDArray[np.bool_]:
    """Return which documents belong to a part: the hash of a group is the same everywhere."""
    if part == "none":
        return np.ones(len(held), np.bool_)
    odd = np.array([is_odd(name) for name in truth.names], bool)
    return odd if part == "test" else ~odd


def is_odd(group: str) -> bool:
    """Return whether the BLAKE2b-64 of a group's name is an odd number."""
    return bool(hashlib.blake2b(encode(group), digest_size=8).digest()[-1] & 1)
