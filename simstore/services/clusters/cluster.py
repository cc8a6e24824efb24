"""Cluster a store's documents: each cluster is a canonical document and those similar to it.

Nothing is stored: the clusters are computed anew for each call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from simstore.errors import InvalidParameter, NotFound
from simstore.fingerprint.channels import CHARACTERS
from simstore.model import (
    Cluster,
    Clustering,
    ClusterMember,
    DocumentFilter,
    DocumentFilterKeywords,
    LeastShares,
    Progress,
)
from simstore.search.duplicate_measure import check_radius_is_used
from simstore.search.hamming import distances
from simstore.search.likeness import LEAST_COSINE, LEAST_LIKENESS, SURE_RESEMBLANCE
from simstore.search.plan import check_radius, default_radius
from simstore.search.resemblance import check_share
from simstore.search.stars import CanonicalOrder, FoundSpokes, spokes_among
from simstore.services.clusters.distinct_texts import Contents, read_contents
from simstore.services.clusters.verified_edges import EdgeFinder
from simstore.services.duplicates.measure import Measure
from simstore.services.open_store.open_store import OpenStore
from simstore.services.open_store.state import State
from simstore.services.query.query import stale_reason

# Least resemblance where it alone decides.
RESEMBLANCE_ALONE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOptions(DocumentFilter):
    """Options of clustering.

    >>> options = ClusterOptions(min_resemblance=0.5, policy="longest")
    >>> [cluster.key for cluster in store.clusters.once(options)]
    ['ferry-2026']

    A member has to reach one of the two thresholds that are given. Where none
    is, that is a resemblance of 0.65, or a likeness of 0.58 with a cosine of
    0.68; in a store without texts or without a vocabulary a resemblance of 0.5.

    Attributes:
        min_resemblance: Least resemblance of a member to its canonical
            document, above 0, at most 1, inclusive.
        min_likeness: Least likeness of a member to its canonical document, in
            the same range.
        min_cosine: Least cosine that goes with the likeness, 0 to 1; None:
            0.68.
        radius: Radius of channel 1, bits, inclusive; None: the default.
        exact_join: Compare by the exact join, which finds every edge, not by
            the channels.
        policy: Which document is canonical. ``first``: the first seen, of
            several the first of the order of ingest; ``longest``: that of the
            most bytes, of several the first; ``prefer:REGEX``: the first whose
            key has a match of the expression, else the first.
        min_size: Leave out clusters of fewer documents.
        collection: Only documents of this collection.
        channels: By which members are looked for: ``simhash``, ``minhash``, or
            ``characters`` alone, for scans and typed copies. Then the
            resemblance is that of runs of characters, 0.5 where none is given,
            and there is no likeness. None named: those of words.
        short_texts: With ``characters``, texts of at most 24 words (characters
            of Chinese) are members too; else only of those of the same text.
    """

    min_resemblance: float | None = None
    radius: int | None = None
    exact_join: bool = False
    policy: str = "first"
    min_size: int = 2
    min_likeness: float | None = None
    min_cosine: float | None = None
    channels: tuple[str, ...] = ()
    short_texts: bool = False


class ClusterKeywords(DocumentFilterKeywords, total=False):
    """Options by name, as :class:`ClusterOptions` describes them."""

    min_resemblance: float | None
    radius: int | None
    exact_join: bool
    policy: str
    min_size: int
    min_likeness: float | None
    min_cosine: float | None
    channels: tuple[str, ...]
    short_texts: bool


def cluster_documents(
    opened: OpenStore, options: ClusterOptions, on_progress: Progress | None = None
) -> Clustering:
    """Return the clusters of a store's documents.

    In the policy's order a document is canonical where it has no verified edge to an earlier
    canonical document; every other joins, of those that it has an edge to, the one that it
    resembles most, of several the earliest. Documents of the same text always have an edge; those
    of fewer features than the scheme asks for only where one wholly contains the other and they
    resemble each other enough.

    Args:
        opened: The store.
        options: How to cluster.
        on_progress: Called with documents read and in all, then with texts placed and in all; by
            the exact join with texts read and in all.

    Raises:
        InvalidParameter: A parameter is out of its range, or asks for what the store has not.
        NotFound: The store keeps neither texts nor sketches, or the exact join is asked for and
            it keeps no texts.
    """
    _check(options)
    with opened.database.read() as connection:
        snapshot = opened.snapshot(connection)
        measure = Measure.of(
            snapshot,
            options.channels,
            short_texts=options.short_texts,
            looks=not options.exact_join,
        )
        radius = _radius(snapshot, options, measure)
        basis = cluster_basis(measure, exact_join=options.exact_join)
        least = _least(snapshot, options, measure)
        held = read_contents(
            snapshot, wanted=options, recipe=measure.recipe, on_progress=on_progress
        )
        finder = EdgeFinder(snapshot, held, least, on_progress, measure)
        stale = stale_reason(snapshot)
        placed = _Placed.of(held, CanonicalOrder.parse(options.policy))
        if options.exact_join:
            texts = finder.all_texts()
        else:
            spokes = finder.spokes(placed.texts, radius)
    if options.exact_join:
        # It may take long: no snapshot is held meanwhile.
        edges = finder.by_exact_join(texts)
        spokes = spokes_among(
            edges.first, edges.second, placed.texts, edges.resemblance, edges.likeness
        )
    short = held.feature_counts[held.texts] < measure.least_features
    return Clustering(
        clusters=tuple(_clusters(held, placed, spokes, options.min_size, basis)),
        document_count=len(held.keys),
        too_short_count=int(np.count_nonzero(short)),
        radius=radius,
        basis=basis,
        stale=stale,
        least=least,
    )


def _check(options: ClusterOptions) -> None:
    check_share("min_resemblance", options.min_resemblance)
    check_share("min likeness", options.min_likeness)
    if options.min_cosine is not None and options.min_likeness is None:
        raise InvalidParameter("a least cosine goes with a least likeness: give that too")
    if options.min_cosine is not None and not 0 <= options.min_cosine <= 1:
        raise InvalidParameter(f"min cosine {options.min_cosine}: it must be 0 to 1")
    CanonicalOrder.parse(options.policy)
    if options.min_size < 1:
        raise InvalidParameter(f"min size {options.min_size}: it must be at least 1")
    if options.exact_join and options.radius is not None:
        raise InvalidParameter(
            "the exact join looks at no fingerprint: leave out the radius, or the exact join"
        )


def _radius(state: State, options: ClusterOptions, measure: Measure) -> int | None:
    if options.exact_join:
        return None
    if not measure.by_fingerprint and options.channels:
        check_radius_is_used(options.channels, options.radius)
        return None
    if not state.channels.has_fingerprints:
        if options.radius is not None:
            raise InvalidParameter(
                "this store has no channel simhash, so no radius: leave it out, or make the "
                "channel with `simstore reindex --channels simhash,minhash`"
            )
        return None
    radius = default_radius(state.scheme.bits) if options.radius is None else options.radius
    check_radius(radius, state.scheme.bits)
    return radius


def _least(state: State, options: ClusterOptions, measure: Measure) -> LeastShares:
    """Return the least values that a member has to reach."""
    if measure.name == CHARACTERS:
        if options.min_likeness is not None:
            raise InvalidParameter(
                "likeness is one of words: leave it out, or the channels characters"
            )
        return LeastShares(options.min_resemblance or RESEMBLANCE_ALONE)
    tells_likeness = state.settings.text_kept and state.records_vocabulary
    if options.min_likeness is not None:
        if not tells_likeness:
            made = "--no-vocabulary" if state.settings.text_kept else "--no-text"
            raise InvalidParameter(
                f"likeness needs the texts and the vocabulary of a store; this one was made with "
                f"{made}: give a least resemblance instead"
            )
        cosine = LEAST_COSINE if options.min_cosine is None else options.min_cosine
        return LeastShares(options.min_resemblance, options.min_likeness, cosine)
    if options.min_resemblance is not None:
        return LeastShares(options.min_resemblance)
    if tells_likeness:
        return LeastShares(SURE_RESEMBLANCE, LEAST_LIKENESS, LEAST_COSINE)
    return LeastShares(RESEMBLANCE_ALONE)


def cluster_basis(measure: Measure, *, exact_join: bool) -> Literal["text", "sketch"]:
    """Return the basis on which edges are verified.

    Args:
        measure: What finds and compares texts in the store.
        exact_join: It is to be by the exact join, not by the channels.

    Raises:
        NotFound: There is nothing to verify them by.
    """
    if measure.is_of_texts:
        return "text"
    again = "ingest into a store that keeps texts (`simstore init` without --no-text)"
    if exact_join:
        other = "cluster by the sketches without it, or " if measure.is_sketched else ""
        raise NotFound(f"this store keeps no texts for the exact join; {other}{again}")
    measure.check_tells_resemblance()
    return "sketch"


@dataclass(frozen=True, slots=True)
class _Placed:
    """Documents and their texts in the order of a policy.

    Attributes:
        places: Where each document stands in it, shape (documents,).
        firsts: The first document with each text, shape (texts,).
        texts: The texts by these, shape (texts,).
    """

    places: NDArray[np.int64]
    firsts: NDArray[np.int64]
    texts: NDArray[np.int64]

    @classmethod
    def of(cls, held: Contents, order: CanonicalOrder) -> _Placed:
        ordered, firsts = policy_order(held, order)
        places = np.empty(len(ordered), np.int64)
        places[ordered] = np.arange(len(ordered))
        # Copies of a text have its edges and one to each other, so they follow their first one.
        return cls(places, firsts, np.argsort(places[firsts]))


def _clusters(
    held: Contents,
    placed: _Placed,
    spokes: FoundSpokes,
    min_size: int,
    basis: Literal["text", "sketch"],
) -> list[Cluster]:
    places = placed.places
    chosen = spokes.chosen(placed.texts)
    centre_texts = np.arange(len(held.firsts))
    centre_texts[spokes.texts[chosen]] = spokes.centres[chosen]
    resemblance = _to_centre(spokes, chosen, spokes.resemblance, len(held.firsts))
    likeness = None
    if spokes.likeness is not None:
        likeness = _to_centre(spokes, chosen, spokes.likeness, len(held.firsts))
    centres = placed.firsts[centre_texts[held.texts]]
    # By the place of the canonical document, then by one's own; the canonical one is the first.
    members = np.lexsort((places, places[centres]))
    starts = np.flatnonzero(np.diff(centres[members], prepend=-1)).tolist()
    ends = np.append(starts, len(members))[1:].tolist()
    away = distances(held.words, held.words[centres])
    measured = held.fingerprinted & held.fingerprinted[centres]
    same = held.texts == held.texts[centres]
    found = []
    for start, end in zip(starts, ends, strict=True):
        if end - start >= min_size:
            of_cluster = members[start:end].tolist()
            found.append(
                Cluster(
                    held.keys[of_cluster[0]],
                    tuple(
                        ClusterMember(
                            key=held.keys[row],
                            document_id=int(held.document_ids[row]),
                            resemblance=float(resemblance[held.texts[row]]),
                            distance=int(away[row]) if measured[row] else None,
                            basis="same" if same[row] else basis,
                            likeness=None if likeness is None else float(likeness[held.texts[row]]),
                        )
                        for row in of_cluster
                    ),
                )
            )
    return found


def policy_order(
    held: Contents, order: CanonicalOrder
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the order in which a policy takes documents, and the first document of each text.

    Args:
        held: The documents.
        order: The policy.

    Returns:
        Places of the documents in order, shape (documents,), and of the first with each text,
        shape (texts,); int64.
    """
    majors = order.majors(held.keys, held.byte_counts[held.texts].tolist())
    ordered = np.lexsort((held.document_ids, held.first_seen, np.array(majors, np.int64)))
    firsts = np.empty(len(held.firsts), np.int64)
    # The last that is put there is the first of the order.
    firsts[held.texts[ordered[::-1]]] = ordered[::-1]
    return ordered, firsts


def _to_centre(
    spokes: FoundSpokes, chosen: NDArray[np.int64], shares: NDArray[np.float64], count: int
) -> NDArray[np.float64]:
    """Return the share of each text and its canonical one; 1 of one with itself."""
    result = np.ones(count, np.float64)
    result[spokes.texts[chosen]] = shares[chosen]
    return result
