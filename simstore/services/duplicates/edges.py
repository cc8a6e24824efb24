"""Find the stored near-duplicates of given texts, and verify each pair (an edge).

An edge is a function of two texts: they resemble each other enough, and where one of them is too
short to tell, one wholly contains the other. Which pairs are looked at, the channels say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simstore.errors import InvalidParameter
from simstore.fingerprint.shingle_sets import distinct_numbers
from simstore.fingerprint.simhash import word_count
from simstore.search.plan import check_radius
from simstore.search.resemblance import check_share
from simstore.services.duplicates.candidate_text import CandidateText
from simstore.services.duplicates.comparison import (
    Basis,
    CandidateComparison,
    EdgeConditions,
    Verified,
)
from simstore.services.duplicates.edge_candidates import EdgeCandidates
from simstore.services.duplicates.measure import Measure
from simstore.services.features import feature_counts
from simstore.services.features.prepare import PreparedBatch
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
]

# Texts are looked up and compared in blocks. The first block has so many texts.
_FIRST_TEXTS = 64
# Each further block is to have about so many pairs, at as many candidates a text as the one before
# it; and it has at most so many times the texts of that one, and at most so many in all.
_BLOCK_PAIRS = 1 << 18
_GROWTH = 4
_MOST_TEXTS = 2_048
Among = Callable[[NDArray[np.int64]], NDArray[np.bool_]]
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


class EdgeSearch:
    """Finds edges in one snapshot, or in a writer's transaction.

    Texts are looked up some at a time, and of their candidates only the edges are kept. So the
    memory grows by some 1,000 bytes with each document that may have an edge to one of them, and
    not with the pairs.

    Args:
        snapshot: The store in a transaction.
        min_resemblance: Least resemblance of an edge, above 0, at most 1, inclusive; None: any
            where there is a distance.
        radius: Radius of channel 1, bits, inclusive; None: the default.
        within: Largest distance of an edge, bits, inclusive; None: any. Channel 1 alone looks then,
            and finds all.
        channels: By which to look; none: those of words.
        short_texts: By characters, short texts have edges too.

    Attributes:
        bits: M, of a fingerprint.
        candidates: Finds the pairs that are compared.
        conditions: What an edge asks for.
        measure: What texts are compared by.

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
        channels: Sequence[str] = (),
        short_texts: bool = False,
    ) -> None:
        self.measure = measure = check_verifiable(
            snapshot, min_resemblance, within, channels, short_texts=short_texts
        )
        self._snapshot = snapshot
        self.bits = snapshot.scheme.bits
        self.conditions = EdgeConditions(
            rule=measure.rule(min_resemblance),
            sketching=measure.recipe.sketching,
            within=within,
            by_text=measure.is_of_texts,
            tells_resemblance=measure.is_of_texts or measure.is_sketched,
        )
        self.candidates = EdgeCandidates(
            snapshot,
            radius if within is None else within,
            min_resemblance=min_resemblance if within is None else None,
            measure=measure,
        )

    def edges_of(
        self, texts: Sequence[CandidateText], among: Among | None = None, *, own: bool = False
    ) -> list[list[Edge]]:
        """Return the edges of each text, in order of ingest.

        Args:
            texts: The texts.
            among: Says which documents, int64, ascending, are looked at; None: all.
            own: A text has an edge to its own document, too.
        """
        comparison = self.comparison()
        rows_of: dict[int, int] = {}
        held: dict[int, tuple[int, bytes]] = {}
        edges: list[list[Edge]] = []
        size = _FIRST_TEXTS
        while len(edges) < len(texts):
            block = texts[len(edges) : len(edges) + size]
            found = self.candidates.of_each(block, among)
            pair_count = sum(len(numbers) for numbers in found)
            fitting = max(_BLOCK_PAIRS * len(block) // max(pair_count, 1), 1)
            size = min(_GROWTH * size, _MOST_TEXTS, fitting)
            asked = distinct_numbers(np.concatenate([np.empty(0, np.int64), *found]))
            if among is not None and len(asked):
                asked = asked[among(asked)]
            if not len(asked):
                edges += [[] for _ in block]
                continue
            unknown = [number for number in asked.tolist() if number not in rows_of]
            new = self.stored_texts(unknown)
            for one, row in zip(new, comparison.add(new).tolist(), strict=True):
                if one.document_id is not None:
                    rows_of[one.document_id] = row
                    held[row] = one.document_id, one.digest
            # One that has left without its turn having come yet is not there.
            rows = np.array([rows_of.get(number, -1) for number in asked.tolist()], np.int64)
            there, rows = asked[rows >= 0], rows[rows >= 0]
            # Most texts of a batch have no candidate: nothing is done for each of these.
            turns = [turn for turn, numbers in enumerate(found) if len(numbers)]
            lengths = [len(found[turn]) for turn in turns]
            first = np.repeat(comparison.add([block[turn] for turn in turns]), lengths)
            numbers = np.concatenate([found[turn] for turn in turns])
            chosen = np.isin(numbers, there)
            if not own:
                of_texts = [block[turn].document_id or 0 for turn in turns]
                chosen &= numbers != np.repeat(np.array(of_texts, np.int64), lengths)
            second = rows[np.searchsorted(there, numbers[chosen])]
            places, verified = comparison.verified(first[chosen], second)
            asking = np.repeat(np.array(turns, np.int64), lengths)[chosen]
            of_block: list[list[Edge]] = [[] for _ in block]
            for turn, row, told in zip(
                asking[places].tolist(), second[places].tolist(), verified, strict=True
            ):
                edge = Edge(*held[row], told.resemblance, told.distance, told.basis)
                of_block[turn].append(edge)
            edges += of_block
        return edges

    def stored_texts(self, document_ids: Sequence[int]) -> list[CandidateText]:
        """Return stored documents as what edges are looked for of, without missing ones."""
        return CandidateText.of_documents(self._snapshot, document_ids, self.measure.recipe)

    def batch_texts(
        self,
        batch: PreparedBatch,
        words: NDArray[np.uint64] | None,
        places: Iterable[int] | None = None,
    ) -> list[CandidateText]:
        """Return documents of a batch likewise; arguments as of :meth:`CandidateText.of_batch`."""
        return CandidateText.of_batch(batch, words, places, self.measure.recipe)

    def comparison(self) -> CandidateComparison:
        """Return the comparison that decides which pairs of texts have an edge."""
        return CandidateComparison(self.conditions, self._sets, word_count(self.bits))

    def _sets(self, texts: Mapping[bytes, CandidateText]) -> dict[bytes, NDArray[np.uint64]]:
        """Return shingle sets by digests."""
        found = self._snapshot.store.shingles(self._snapshot, texts, self.measure.name)
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
        sets = self.measure.recipe.sketching.sets(made.values())
        fresh = {digest: sets.row(place) for place, digest in enumerate(made)}
        self._snapshot.store.keep_shingles(self._snapshot, fresh, self.measure.name)
        return found | fresh


def check_verifiable(
    state: State,
    min_resemblance: float | None,
    within: int | None,
    channels: Sequence[str] = (),
    *,
    short_texts: bool = False,
) -> Measure:
    """Return what edges are looked for and verified by in a store; raise an error if it cannot.

    The errors are those of :class:`EdgeSearch`.
    """
    check_share("min_resemblance", min_resemblance)
    if within is not None:
        if not state.channels.has_fingerprints:
            raise missing_channel(state, "simhash")
        check_radius(within, state.scheme.bits)
    measure = Measure.of(state, channels, short_texts=short_texts)
    if within is not None and not measure.by_fingerprint:
        raise InvalidParameter(
            f"a radius is one of fingerprints: leave it out, or name simhash among the channels "
            f"{', '.join(channels)}"
        )
    if min_resemblance is not None:
        measure.check_tells_resemblance()
    return measure
