"""Verified edges from a few texts to the documents of a store.

An edge is a function of two texts: they resemble each other enough, and where one of them is too
short to tell, one wholly contains the other. Which pairs are looked at, the channels say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from simstore.errors import InvalidParameter, NotFound
from simstore.search.resemblance import overlap
from simstore.services import counting
from simstore.services.edge_candidates import EdgeCandidates
from simstore.services.opened import OpenStore, State
from simstore.services.probed import Probed
from simstore.storage.engine import Connection

__all__ = ["Among", "Basis", "Edge", "EdgeSearch", "Probed", "Verified"]

# Shingles of texts that are kept from one look to the next: 64 MB.
_KEPT_SHINGLES = 8 << 20

Among = Callable[[NDArray[np.int64]], NDArray[np.bool_]]
Basis = Literal["same", "text", "sketch"]


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge from a text to a document.

    Attributes:
        document_id: The document.
        digest: That of its text.
        resemblance: Of the two texts, 0 to 1.
        distance: Of their fingerprints, bits; None where one has none.
        basis: ``same``: one text; ``text``: compared exactly; ``sketch``: estimated.
    """

    document_id: int
    digest: bytes
    resemblance: float
    distance: int | None
    basis: Basis


@dataclass(frozen=True, slots=True)
class Verified:
    """What an edge between two texts that are given was verified by; as of :class:`Edge`."""

    resemblance: float
    distance: int | None
    basis: Basis


class KeptShingles:
    """Shingle sets of texts that were compared lately, by their digests: an original comes again.

    Args:
        scheme_id: The scheme by which they were made.
    """

    def __init__(self, scheme_id: int) -> None:
        self.scheme_id = scheme_id
        self._sets: dict[bytes, NDArray[np.uint64]] = {}
        self._size = 0

    def of(self, digests: Iterable[bytes]) -> dict[bytes, NDArray[np.uint64]]:
        """Return the sets that are kept."""
        sets = self._sets  # one read: another thread may put another in its place
        return {digest: sets[digest] for digest in digests if digest in sets}

    def put(self, made: Mapping[bytes, NDArray[np.uint64]]) -> None:
        """Keep sets; all others are forgotten once they take too much."""
        if self._size > _KEPT_SHINGLES:
            self._sets, self._size = {}, 0
        # Copies: a row would keep all sets alive that were made with it.
        self._sets.update((digest, one.copy()) for digest, one in made.items())
        self._size += sum(map(len, made.values()))


class EdgeSearch:
    """Finds edges in one snapshot, or in a writer's transaction.

    Args:
        opened: The store.
        connection: The snapshot or the writer.
        state: What stands in it.
        min_resemblance: Least resemblance of an edge, above 0, at most 1, inclusive.
        radius: Radius of channel 1, bits, inclusive; None: min(3, M).

    Raises:
        InvalidParameter: A parameter is out of its range.
        NotFound: The store keeps neither texts nor sketches.
    """

    def __init__(
        self,
        opened: OpenStore,
        connection: Connection,
        state: State,
        *,
        min_resemblance: float,
        radius: int | None = None,
    ) -> None:
        if not 0 < min_resemblance <= 1:
            raise InvalidParameter(
                f"min resemblance {min_resemblance}: it must be above 0 and at most 1"
            )
        check_verifiable(state)
        self._opened = opened
        self._connection = connection
        self._state = state
        self._least = min_resemblance
        self._candidates = EdgeCandidates(opened, connection, state, radius)
        kept = opened.kept_shingles
        if kept is None or kept.scheme_id != state.scheme_id:
            kept = opened.kept_shingles = KeptShingles(state.scheme_id)
        self._kept = kept

    def edges_of(self, texts: Sequence[Probed], among: Among | None = None) -> list[list[Edge]]:
        """Return the edges of each text, in order of ingest.

        Args:
            texts: The texts.
            among: Says which documents, int64, ascending, are looked at; None: all.
        """
        found = self._candidates.of_each(texts, among)
        asked = sorted(set().union(*found))
        if among is not None and asked:
            passing = among(np.array(asked, np.int64))
            asked = np.array(asked, np.int64)[passing].tolist()
        stored = {one.document_id: one for one in self._stored(asked)}
        pairs = [
            (place, stored[number])
            for place, numbers in enumerate(found)
            for number in sorted(numbers & stored.keys())
            if number != texts[place].document_id
        ]
        edges: list[list[Edge]] = [[] for _ in texts]
        verified = self._verified([(texts[place], other) for place, other in pairs])
        for (place, other), one in zip(pairs, verified, strict=True):
            if one is not None and other.document_id is not None:
                edges[place].append(
                    Edge(other.document_id, other.digest, one.resemblance, one.distance, one.basis)
                )
        return edges

    def edges_between(self, texts: Sequence[Probed]) -> list[dict[int, Verified]]:
        """Return the edges of each text to those before it, by their places, ascending."""
        pairs = self._candidates.pairs(texts)
        verified = self._verified([(texts[one], texts[other]) for one, other in pairs])
        edges: list[dict[int, Verified]] = [{} for _ in texts]
        for (one, other), found in zip(pairs, verified, strict=True):
            if found is not None:
                edges[other][one] = found
        return edges

    def _stored(self, document_ids: Sequence[int]) -> list[Probed]:
        return Probed.of_documents(self._opened, self._connection, self._state, document_ids)

    def _verified(self, pairs: Sequence[tuple[Probed, Probed]]) -> list[Verified | None]:
        """Return how much the texts of each pair resemble each other; None: it is no edge."""
        text_kept = self._state.settings.text_kept
        compared = [(a, b) for a, b in pairs if a.digest != b.digest and self._may_reach(a, b)]
        shares = self._exact(compared) if text_kept else self._estimated(compared)
        least = self._state.scheme.least_features
        judged = iter(shares)
        result: list[Verified | None] = []
        for one, other in pairs:
            if one.digest == other.digest:
                result.append(Verified(1.0, _distance(one, other), "same"))
                continue
            if not self._may_reach(one, other):
                result.append(None)
                continue
            share, ratio = next(judged)
            # Of two sets, the smaller lies within the larger where their resemblance is the ratio
            # of their sizes; an estimate may be above it.
            fewest = min(one.feature_count, other.feature_count)
            if share >= self._least and (fewest >= least or share >= ratio):
                basis: Basis = "text" if text_kept else "sketch"
                result.append(Verified(share, _distance(one, other), basis))
            else:
                result.append(None)
        return result

    def _may_reach(self, one: Probed, other: Probed) -> bool:
        """Return whether two texts may have an edge: sets of very different sizes have none."""
        sizes = one.shingle_count, other.shingle_count
        if sizes[0] is None or sizes[1] is None:
            return True
        return _ratio(sizes[0], sizes[1]) >= self._least

    def _exact(self, pairs: Sequence[tuple[Probed, Probed]]) -> list[tuple[float, float]]:
        """Return resemblance and ratio of sizes of each pair, from the texts."""
        sets = self._sets({one.digest: one for pair in pairs for one in pair})
        known: dict[tuple[bytes, bytes], tuple[float, float]] = {}
        result = []
        for a, b in pairs:
            both = a.digest, b.digest
            if both not in known:
                one, other = sets[both[0]], sets[both[1]]
                known[both] = overlap(one, other).resemblance, _ratio(len(one), len(other))
            result.append(known[both])
        return result

    def _sets(self, texts: Mapping[bytes, Probed]) -> dict[bytes, NDArray[np.uint64]]:
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
        stored = counting.whole_texts(self._opened, self._connection, list(read))
        made |= {read[number]: text for number, text in stored.items()}
        sets = self._state.channels.sketching.sets(made.values())
        fresh = {digest: sets.row(place) for place, digest in enumerate(made)}
        self._kept.put(fresh)
        return found | fresh

    def _estimated(self, pairs: Sequence[tuple[Probed, Probed]]) -> list[tuple[float, float]]:
        """Return resemblance and ratio of sizes of each pair, from the sketches."""
        result = []
        for a, b in pairs:
            alike = a.sketch is not None and b.sketch is not None
            share = float((a.sketch == b.sketch).mean()) if alike else 0.0  # type: ignore[union-attr]
            result.append((share, _ratio(a.shingle_count or 0, b.shingle_count or 0)))
        return result


def _distance(one: Probed, other: Probed) -> int | None:
    if one.words is None or other.words is None:
        return None
    return int(np.bitwise_count(one.words ^ other.words).sum())


def _ratio(one: int, other: int) -> float:
    """Return the smaller size divided by the larger; 0 where both are 0."""
    return min(one, other) / max(one, other, 1)


def check_verifiable(state: State) -> None:
    """Raise NotFound where a store keeps neither texts nor sketches."""
    if not state.settings.text_kept and not state.channels.minhash:
        raise NotFound(
            "this store keeps neither texts nor sketches to verify candidates by; ingest into "
            "a store that keeps texts (`simstore init` without --no-text)"
        )
