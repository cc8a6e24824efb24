"""Explain which labelled pairs a clustering missed or wrongly joined, and why.

A labelled pair is *missed* where its documents are in two clusters: no channel found it (never a
candidate), the rule refused it, or it has an edge and each document joined another canonical
document. A pair is *wrongly joined* where its documents are in one cluster and not labelled: it
has an edge itself, or each of the two has one to the canonical document.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from simstore.search.agreement import (
    Agreement,
    ScoredPairs,
    adjusted_rand_index,
    candidates_of,
    found_by,
    pairs_of_clusters,
)
from simstore.search.stars import star_clusters

MistakeKind = Literal["missed", "wrongly joined"]
NO_CANDIDATE = "never a candidate"
RULE_SAID_NO = "the rule said no"
JOINED_ANOTHER = "joined to another canonical document"
RULE_SAID_YES = "the rule said yes"
BY_CANONICAL = "each is like the canonical document"
EXAMPLES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class MistakenPair:
    """A missed or wrongly joined pair, with its scores.

    >>> labels = Labels(pairs=[LabelledPair("ferry-2025", "bread-1")])
    >>> for found in store.evaluate.run(labels).mistakes.classes:
    ...     for pair in found.examples:
    ...         print(found.kind, pair.first, pair.second)
    missed ferry-2025 bread-1
    wrongly joined ferry-2025 ferry-2026

    Attributes:
        first: Key of the document that came first.
        second: Key of the other.
        first_canonical: Key of the canonical document of the first.
        second_canonical: Key of that of the second.
        resemblance: Of their shingle sets; None where it is not known.
        likeness: By rare terms; None where it is not known.
        distance: Of their fingerprints, in bits; None where one has none.
        estimate: Resemblance as their sketches estimate it.
    """

    first: str
    second: str
    first_canonical: str
    second_canonical: str
    resemblance: float | None
    likeness: float | None
    distance: int | None
    estimate: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MistakeClass:
    """The pairs that were missed or wrongly joined for one reason.

    >>> labels = Labels(pairs=[LabelledPair("ferry-2025", "bread-1")])
    >>> classes = store.evaluate.run(labels).mistakes.classes
    >>> [(one.kind, one.pair_count) for one in classes if one.pair_count]
    [('missed', 1), ('wrongly joined', 1)]

    Attributes:
        kind: ``missed`` or ``wrongly joined``.
        reason: Why.
        pair_count: How many pairs.
        examples: At most twenty of them, spread evenly over their order of
            ingest.
    """

    kind: MistakeKind
    reason: str
    pair_count: int
    examples: tuple[MistakenPair, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistakes:
    """The mistakes of the clusters that a method makes at its default threshold.

    >>> labels = Labels(pairs=[LabelledPair("ferry-2025", "bread-1")])
    >>> mistakes = store.evaluate.run(labels).mistakes
    >>> mistakes.method, mistakes.counts.recall
    ('verified', 0.0)

    Attributes:
        method: The method.
        threshold: Its threshold.
        counts: Pairs of documents in one cluster, compared with the labelled
            pairs.
        ari: Adjusted Rand index of the clusters; None where only some pairs are
            judged.
        classes: Why pairs were missed or wrongly joined; every class, also
            without pairs.
    """

    method: str
    threshold: float
    counts: Agreement
    ari: float | None
    classes: tuple[MistakeClass, ...]


@dataclass(frozen=True, slots=True)
class FoundMistakes:
    """Mistaken pairs by the places of their documents.

    Attributes:
        counts: Pairs in one cluster, compared with the labelled pairs.
        ari: Adjusted Rand index; None where only some pairs are judged.
        stars: Canonical document of each document, shape (documents,).
        classes: Kind, reason and the codes of the pairs, ascending.
    """

    counts: Agreement
    ari: float | None
    stars: NDArray[np.int64]
    classes: Sequence[tuple[MistakeKind, str, NDArray[np.int64]]]


def find_mistakes(
    pairs: ScoredPairs,
    clusters: NDArray[np.int64] | None,
    count: int,
    method: tuple[str, float],
    radius: int,
) -> FoundMistakes:
    """Return which pairs the clusters of a method miss or wrongly join.

    Args:
        pairs: Every pair that is labelled or that the method may find.
        clusters: Labelled cluster of each document; None: only the scored pairs are judged, each
            by its own edge.
        count: Number of documents.
        method: Name of the method, and its threshold.
        radius: Radius of channel 1 where the method is not ``simhash``.
    """
    found = found_by(pairs, *method, radius)
    candidate = candidates_of(pairs, *method, radius)
    codes = pairs.first * count + pairs.second
    labelled = codes[pairs.labelled]
    edges = codes[found]
    stars = np.arange(count)
    joined = edges
    if clusters is not None:
        stars = star_clusters(
            pairs.first[found], pairs.second[found], stars, pairs.resemblance[found]
        )
        joined = pairs_of_clusters(stars)
    missed = pairs.labelled & ~np.isin(codes, joined)
    wrong = np.setdiff1d(joined, labelled)
    by_edge = np.isin(wrong, edges)
    common = len(labelled) - int(np.count_nonzero(missed))
    return FoundMistakes(
        Agreement(common, len(joined), len(labelled)),
        None if clusters is None else adjusted_rand_index(stars, clusters),
        stars,
        (
            ("missed", NO_CANDIDATE, np.sort(codes[missed & ~candidate])),
            ("missed", RULE_SAID_NO, np.sort(codes[missed & candidate & ~found])),
            ("missed", JOINED_ANOTHER, np.sort(codes[missed & found])),
            ("wrongly joined", RULE_SAID_YES, wrong[by_edge]),
            ("wrongly joined", BY_CANONICAL, wrong[~by_edge]),
        ),
    )


def spread(codes: NDArray[np.int64], most: int = EXAMPLES) -> NDArray[np.int64]:
    """Return some codes, spread evenly over all of them.

    >>> import numpy as np
    >>> from simstore.search.mistakes import spread
    >>> spread(np.arange(10), 4).tolist()
    [0, 2, 5, 7]

    Args:
        codes: Codes of pairs, ascending.
        most: How many at most.
    """
    if len(codes) <= most:
        return codes
    return codes[np.arange(most) * len(codes) // most]
