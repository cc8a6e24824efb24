"""Verified edges from a few texts to the documents of a store.

An edge is a function of two texts: they resemble each other enough, and where one of them is too
short to tell, one wholly contains the other. Which pairs are looked at, the channels say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from simstore.errors import NotFound
from simstore.search.plan import check_radius
from simstore.search.resemblance import EdgeRule, check_share, overlap, size_ratio
from simstore.services.duplicates.candidate_text import CandidateText
from simstore.services.duplicates.edge_candidates import EdgeCandidates
from simstore.services.features import feature_counts
from simstore.services.open_store.open_store import Snapshot
from simstore.services.open_store.state import State, missing_channel

__all__ = [
    "BASES",
    "Among",
    "Basis",
    "CandidateText",
    "Edge",
    "EdgeSearch",
    "Verified",
    "VerifiedPair",
]

Among = Callable[[NDArray[np.int64]], NDArray[np.bool_]]
Basis = Literal["same", "text", "sketch", "distance"]
BASES: dict[str, Basis] = {
    "same": "same",
    "text": "text",
    "sketch": "sketch",
    "distance": "distance",
}


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge from a text to a document.

    Attributes:
        document_id: The document.
        digest: That of its text.
        resemblance: Of the two texts, 0 to 1; None where nothing tells it.
        distance: Of their fingerprints, bits; None where one has none.
        basis: ``same``: one text; ``text``: compared exactly; ``sketch``: estimated;
            ``distance``: there is nothing else to compare.
    """

    document_id: int
    digest: bytes
    resemblance: float | None
    distance: int | None
    basis: Basis


@dataclass(frozen=True, slots=True)
class Verified:
    """What an edge between two texts that are given was verified by; as of :class:`Edge`."""

    resemblance: float | None
    distance: int | None
    basis: Basis


@dataclass(frozen=True, slots=True)
class VerifiedPair:
    """What texts are compared by, and what came of it, by their digests.

    Attributes:
        sets: Shingles of a text, ascending, distinct.
        shares: Of two texts that were compared: their resemblance, and the ratio of their sizes.
    """

    sets: dict[bytes, NDArray[np.uint64]]
    shares: dict[tuple[bytes, bytes], tuple[float, float]] = field(default_factory=dict)


class EdgeSearch:
    """Finds edges in one snapshot, or in a writer's transaction.

    Args:
        snapshot: The store in a transaction.
        min_resemblance: Least resemblance of an edge, above 0, at most 1, inclusive; None: any
            where there is a distance.
        radius: Radius of channel 1, bits, inclusive; None: the default.
        within: Largest distance of an edge, bits, inclusive; None: any. Channel 1 alone looks then,
            and finds all.

    Raises:
        InvalidParameter: A parameter is out of its range, or the store has no fingerprints of its
            texts and a distance is given.
        NotFound: The store keeps neither texts nor sketches, and a resemblance is to be told.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        *,
        min_resemblance: float | None,
        radius: int | None = None,
        within: int | None = None,
    ) -> None:
        check_verifiable(snapshot, min_resemblance, within)
        self._snapshot = snapshot
        self._least = min_resemblance
        self._within = within
        self._tells_resemblance = snapshot.settings.text_kept or snapshot.channels.has_word_sketches
        self._rule = EdgeRule(min_resemblance, snapshot.scheme.least_features)
        self.candidates = EdgeCandidates(
            snapshot,
            radius if within is None else within,
            min_resemblance=min_resemblance if within is None else None,
        )
        self._kept = snapshot.store.shingles(snapshot)

    def edges_of(
        self, texts: Sequence[CandidateText], among: Among | None = None
    ) -> list[list[Edge]]:
        """Return the edges of each text, in order of ingest.

        Args:
            texts: The texts.
            among: Says which documents, int64, ascending, are looked at; None: all.
        """
        found, stored = self.candidates_of(texts, among)
        pairs = [
            (place, stored[number])
            for place, numbers in enumerate(found)
            for number in sorted(numbers & stored.keys())
            if number != texts[place].document_id
        ]
        edges: list[list[Edge]] = [[] for _ in texts]
        compared = self.compared((texts[place], other) for place, other in pairs)
        for place, other in pairs:
            one = self.verified(texts[place], other, compared)
            if one is not None and other.document_id is not None:
                edges[place].append(
                    Edge(other.document_id, other.digest, one.resemblance, one.distance, one.basis)
                )
        return edges

    def candidates_of(
        self, texts: Sequence[CandidateText], among: Among | None = None
    ) -> tuple[list[set[int]], dict[int, CandidateText]]:
        """Return the documents that may have an edge to each text, and what is known of them.

        Args:
            texts: The texts.
            among: As of :meth:`edges_of`. Sets may hold others; they are not among the known.
        """
        found = self.candidates.of_each(texts, among)
        asked = sorted(set().union(*found))
        if among is not None and asked:
            passing = among(np.array(asked, np.int64))
            asked = np.array(asked, np.int64)[passing].tolist()
        known = CandidateText.of_documents(self._snapshot, asked)
        return found, {one.document_id: one for one in known if one.document_id is not None}

    def compared(self, pairs: Iterable[tuple[CandidateText, CandidateText]]) -> VerifiedPair:
        """Return what the texts of pairs are compared by, read and made at once."""
        texts: dict[bytes, CandidateText] = {}
        if self._snapshot.settings.text_kept:
            for one, other in pairs:
                if one.digest != other.digest and self._may_reach(one, other):
                    texts[one.digest], texts[other.digest] = one, other
        return VerifiedPair(self._sets(texts))

    def verified(
        self, one: CandidateText, other: CandidateText, compared: VerifiedPair
    ) -> Verified | None:
        """Return how much two texts resemble each other; None: it is no edge.

        Args:
            one: A text.
            other: Another.
            compared: What they are compared by; what it lacks is put into it.
        """
        if one.digest == other.digest:
            return Verified(1.0, _distance(one, other), "same")
        distance = _distance(one, other)
        if not self._may_reach(one, other):
            return None
        fewest = min(one.feature_count, other.feature_count)
        if not self._tells_resemblance:
            if fewest < self._rule.least_features:
                return None
            return Verified(None, distance, "distance")
        both = one.digest, other.digest
        if both not in compared.shares:
            compared.shares[both] = self._share(one, other, compared.sets)
        share, ratio = compared.shares[both]
        if self._least is None:
            # What has no shingle is like nothing but itself.
            holds = ratio > 0 and self._rule.is_long_enough_for(share, ratio, fewest)
        else:
            holds = self._rule.holds_for(share, ratio, fewest)
        if not holds:
            return None
        basis: Basis = "text" if self._snapshot.settings.text_kept else "sketch"
        return Verified(share, distance, basis)

    def _may_reach(self, one: CandidateText, other: CandidateText) -> bool:
        """Return whether two texts may have an edge.

        Fingerprints that are too far from each other have none, nor have sets of very different
        sizes, nor those whose sketches have hardly a value in common.
        """
        if self._within is not None:
            distance = _distance(one, other)
            if distance is None or distance > self._within:
                return False
        if self._least is None:
            return True
        sizes = one.shingle_count, other.shingle_count
        if sizes[0] is None or sizes[1] is None:
            return True
        if size_ratio(sizes[0], sizes[1]) < self._least:
            return False
        if one.sketch is None or other.sketch is None:
            return True
        equal = np.count_nonzero(one.sketch == other.sketch)
        return bool(equal >= self._rule.fewest_equal)

    def _share(
        self, one: CandidateText, other: CandidateText, sets: dict[bytes, NDArray[np.uint64]]
    ) -> tuple[float, float]:
        """Return resemblance and ratio of sizes: of the texts, or else of the sketches."""
        if self._snapshot.settings.text_kept:
            if one.digest not in sets or other.digest not in sets:
                sets.update(self._sets({one.digest: one, other.digest: other}))
            first, second = sets[one.digest], sets[other.digest]
            return overlap(first, second).resemblance, size_ratio(len(first), len(second))
        ratio = size_ratio(one.shingle_count or 0, other.shingle_count or 0)
        if one.sketch is None or other.sketch is None:
            return 0.0, ratio
        return float((one.sketch == other.sketch).mean()), ratio

    def _sets(self, texts: Mapping[bytes, CandidateText]) -> dict[bytes, NDArray[np.uint64]]:
        """Return shingle sets by digests."""
        found = self._kept.of(texts)
        made: dict[bytes, str] = {}
        read: dict[int, bytes] = {}
        for digest, one in texts.items():
            if digest in found:
                continue
            if one.text is not None:
                made[digest] = one.text
            elif one.document_id is not None:
                read[one.document_id] = digest
        stored = feature_counts.whole_texts(self._snapshot, list(read))
        made |= {read[number]: text for number, text in stored.items()}
        sets = self._snapshot.channels.sketching.sets(made.values())
        fresh = {digest: sets.row(place) for place, digest in enumerate(made)}
        self._kept.put(fresh)
        return found | fresh


def _distance(one: CandidateText, other: CandidateText) -> int | None:
    if one.words is None or other.words is None:
        return None
    return int(np.bitwise_count(one.words ^ other.words).sum())


def check_verifiable(state: State, min_resemblance: float | None, within: int | None) -> None:
    """Raise an error where edges cannot be told in a store; as :class:`EdgeSearch` does."""
    check_share("min resemblance", min_resemblance)
    if within is not None:
        if not state.channels.has_fingerprints:
            raise missing_channel(state, "simhash")
        check_radius(within, state.scheme.bits)
    if min_resemblance is None:
        return
    if not state.settings.text_kept and not state.channels.has_word_sketches:
        raise NotFound(
            "this store keeps neither texts nor sketches to verify candidates by; ingest into "
            "a store that keeps texts (`simstore init` without --no-text)"
        )
