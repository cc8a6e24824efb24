"""Decide which signed rows are near-duplicates of which, by the rule of clusters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from simstore.model import Progress
from simstore.search.star_search import (
    ColumnPostings,
    StarSignatures,
    print_postings,
    search_stars,
)
from simstore.services.clusters.compared_texts import BySets
from simstore.services.dedup.options import MARKS, RowRule
from simstore.services.dedup.signed_rows import SignedRows


@dataclass(frozen=True, slots=True)
class Original:
    """The row, or the stored document, that a row duplicates.

    Attributes:
        key: Its key.
        row: Its number among the rows; None: it is a document of the store.
        basis: ``same``: one text; ``text``: compared exactly; ``sketch``: estimated.
    """

    key: str
    row: int | None
    basis: Literal["same", "text", "sketch", "distance"]


class Verdicts(Protocol):
    """What was decided of each row."""

    @property
    def dropped(self) -> NDArray[np.bool_]:
        """Return whether each row is left out, bool, shape (rows,)."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the columns that are added where rows are marked."""

    @property
    def cluster_count(self) -> int:
        """Return how many groups of two rows and more there are."""

    @property
    def most_differing(self) -> int:
        """Return how many rows are left out for one text and differ from it, at most."""

    def marks(self, first: int, end: int) -> dict[str, list[Any]]:
        """Return the values of the columns that are added to the rows ``first <= row < end``."""

    def told(self, row: int) -> tuple[dict[str, Any], int | None]:
        """Return what the log says of a row that is dropped, and the row that it duplicates.

        The row is None where it is not one of these rows.
        """


@dataclass(frozen=True, slots=True)
class ClusterVerdicts:
    """What the rule of clusters decided of each row.

    Attributes:
        dropped: Whether it duplicates another, bool, shape (rows,).
        resemblance: To the one that it duplicates, float64; 0 where there is none.
        clusters: Number of its group, from 1 in the order of the first rows, int64; 0: it is alone.
        original: Returns what a row duplicates that is dropped.
    """

    dropped: NDArray[np.bool_]
    resemblance: NDArray[np.float64]
    clusters: NDArray[np.int64]
    original: Callable[[int], Original]

    @property
    def cluster_count(self) -> int:
        """Return how many groups of two and more there are."""
        return int(self.clusters.max(initial=0))

    @property
    def most_differing(self) -> int:
        """Return how many rows are left out for one text and differ from it, at most."""
        differing = self.dropped & (self.resemblance < 1)
        return int(np.bincount(self.clusters[differing]).max(initial=0))

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the columns that are added where rows are marked."""
        return MARKS

    def marks(self, first: int, end: int) -> dict[str, list[Any]]:
        """Return the values of the columns that are added to rows."""
        dropped = self.dropped[first:end].tolist()
        shares = self.resemblance[first:end].tolist()
        return {
            "duplicate_of": [
                self.original(first + n).key if is_dropped else None
                for n, is_dropped in enumerate(dropped)
            ],
            "resemblance": [
                round(share, 6) if is_dropped else None
                for share, is_dropped in zip(shares, dropped, strict=True)
            ],
            "cluster": [cluster or None for cluster in self.clusters[first:end].tolist()],
        }

    def told(self, row: int) -> tuple[dict[str, Any], int | None]:
        """Return what the log says of a row that is dropped, and the row that it duplicates."""
        original = self.original(row)
        told = {
            "duplicate_of": original.key,
            "resemblance": round(float(self.resemblance[row]), 6),
            "basis": original.basis,
            "cluster": int(self.clusters[row]),
        }
        return told, original.row


def judge(
    signed: SignedRows, rule: RowRule, on_progress: Progress | None = None
) -> ClusterVerdicts:
    """Return what becomes of signed rows.

    In the policy's order a row is kept where it has no verified edge to one that is kept already;
    every other goes with the one that it resembles most. Rows of one text go together.

    Args:
        signed: The rows.
        rule: What makes an edge, and the order.
        on_progress: Called with rows done and in all.
    """
    rows = signed.rows
    count = len(rows)
    held = np.flatnonzero(rows["kind"])
    order = _policy_order(signed, rule, held)
    firsts = _first_of_text(signed, order)
    centres = np.arange(count)
    shares = np.zeros(count, np.float64)
    walked = order[firsts[order] == order]
    if count:
        left_out = np.setdiff1d(np.arange(count), walked, assume_unique=True)
        every = np.concatenate((walked, left_out))
        spokes = search_stars(
            _signatures(signed, rule, np.sort(walked)),
            every,
            BySets(count, signed.sets, rule.edge, np.ascontiguousarray(rows["features"])),
            on_progress,
        )
        chosen = spokes.chosen(every)
        centres[spokes.texts[chosen]] = spokes.centres[chosen]
        shares[spokes.texts[chosen]] = spokes.resemblance[chosen]
    copies = held[firsts[held] != held]
    of = firsts[copies]
    is_member = centres[of] != of
    centres[copies] = centres[of]
    shares[copies] = np.where(is_member, shares[of], 1.0)
    dropped = centres != np.arange(count)
    digests = rows["digest"]

    def original(row: int) -> Original:
        centre = int(centres[row])
        is_same = bool((digests[row] == digests[centre]).all())
        return Original(signed.key(centre), centre, "same" if is_same else "text")

    return ClusterVerdicts(dropped, shares, numbered(centres, dropped), original)


def _policy_order(signed: SignedRows, rule: RowRule, held: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rows that hold a document in the policy's order."""
    if rule.order.name == "first":
        return held
    keys = [signed.key(row) for row in held.tolist()] if rule.order.preferred else [""] * len(held)
    majors = rule.order.majors(keys, signed.rows["byte_count"][held].tolist())
    return held[np.argsort(np.array(majors, np.int64), kind="stable")]


def _first_of_text(signed: SignedRows, order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each row the first in an order that has its text; itself where there is none."""
    firsts = np.arange(len(signed))
    if not len(order):
        return firsts
    digests = signed.rows["digest"][order]
    # Stable: of equal digests the first in the order comes first.
    sorting = np.lexsort((digests[:, 1], digests[:, 0]))
    ordered = digests[sorting]
    begins = np.ones(len(order), np.bool_)
    begins[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    number = np.cumsum(begins) - 1
    firsts[order[sorting]] = order[sorting[begins]][number]
    return firsts


def _signatures(signed: SignedRows, rule: RowRule, walked: NDArray[np.int64]) -> StarSignatures:
    rows, count = signed.rows, len(signed)
    shingles = np.ascontiguousarray(rows["shingles"])
    walked = walked[shingles[walked] > 0]
    sketches = signed.sketches
    bands = ColumnPostings((), walked, count)
    if rule.is_sketched:
        bands = ColumnPostings(signed.band_columns(walked, rule.layout), walked, count)
    printed = walked if rule.channels.has_fingerprints else walked[:0]
    words = np.ascontiguousarray(rows["print"][printed]).reshape(-1, 1)
    fewest = rule.edge.fewest_equal if rule.is_sketched else 0
    return StarSignatures(
        bands=bands,
        sketches=sketches,
        sizes=shingles,
        prints=print_postings(words, rule.scheme.bits, rule.radius),
        print_bounds=np.searchsorted(printed, np.arange(count + 1)),
        print_texts=printed,
        words=words,
        radius=rule.radius,
        least_ratio=rule.edge.min_resemblance or 0.0,
        fewest_equal=fewest,
        likely_equal=fewest,
    )


def numbered(centres: NDArray[np.int64], dropped: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the number of each row's group, from 1; 0 where it is alone."""
    clusters = np.zeros(len(centres), np.int64)
    members = dropped.copy()
    of = centres[dropped]
    # Beyond the rows stand documents of a store.
    members[of[of < len(centres)]] = True
    rows = np.flatnonzero(members)
    _, first, number = np.unique(centres[rows], return_index=True, return_inverse=True)
    # By the first row of each, not by the row that is kept.
    places = np.empty(len(first), np.int64)
    places[np.argsort(first)] = np.arange(1, len(first) + 1)
    clusters[rows] = places[number]
    return clusters
