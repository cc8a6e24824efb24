"""Read the ranks and document frequencies of features, for fingerprints that depend on them.

From the vocabulary as it is, or as a generation has frozen it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.features import assemble
from simstore.fingerprint.scheme import Scheme
from simstore.fingerprint.weights import idf_weights
from simstore.services.open_store.open_store import Snapshot
from simstore.storage import vocabularies
from simstore.storage.engine import Connection
from simstore.storage.vocabularies import FeatureRow, Frequencies

# Feature numbers to what Scheme.fingerprints takes for them.
Standing = Callable[[NDArray[np.int64]], NDArray[np.int64]]


def of_generation(snapshot: Snapshot, generation_id: int) -> Standing:
    """Return the statistics of features in a generation.

    Raises:
        CorruptStore: Its document frequencies are damaged.
    """
    if snapshot.scheme.corpus == "frequencies":
        return of_frequencies(snapshot.store.frequencies_of(snapshot.connection, generation_id))
    return lambda feature_ids: snapshot.store.ranks_of(
        snapshot.connection, generation_id, feature_ids
    )


def of_frequencies(frequencies: Frequencies) -> Standing:
    """Return a function of idf weights by document counts; unknown features count 0 documents."""
    numbers, counts = frequencies

    def weigh(feature_ids: NDArray[np.int64]) -> NDArray[np.int64]:
        places = np.minimum(np.searchsorted(numbers, feature_ids), len(numbers) - 1)
        found = np.where(numbers[places] == feature_ids, counts[places], 0)
        return idf_weights(found, int(counts[0]))

    return weigh


def of_ranks(ranked: Sequence[tuple[int, int]]) -> Standing:
    """Return the rank of features, -1 for none.

    Args:
        ranked: (feature number, total count) in rank order.
    """
    rank_of = {number: rank for rank, (number, _) in enumerate(ranked)}
    return lambda feature_ids: np.array(
        [rank_of.get(number, -1) for number in feature_ids.tolist()], np.int64
    )


def of_terms(
    snapshot: Snapshot,
    generation_id: int | None,
    terms: Sequence[bytes],
) -> NDArray[np.int64]:
    """Return the statistics of terms in a generation; the vocabulary may lack some of them."""
    if snapshot.scheme.corpus == "ranks":
        rank_of = snapshot.store.rank_of_terms(snapshot.connection, generation_id)
        return np.array([rank_of.get(term, -1) for term in terms], np.int64)
    if generation_id is None:
        return idf_weights(np.zeros(len(terms), np.int64), 0)
    known = vocabularies.feature_ids(snapshot.connection, snapshot.scheme_id, terms)
    numbers = np.array([known.get(term, -1) for term in terms], np.int64)
    return of_generation(snapshot, generation_id)(numbers)


def row_fingerprints(
    connection: Connection, scheme: Scheme, rows: Sequence[FeatureRow], standing: Standing | None
) -> NDArray[np.uint64]:
    """Make the fingerprints of documents from their feature counts.

    Args:
        connection: A snapshot, which knows the features' terms.
        scheme: The scheme.
        rows: Feature numbers and counts of each document.
        standing: What the corpus says of features, for a scheme that depends on it.

    Returns:
        uint64, shape (rows, ceil(M / 64)).
    """
    counts = assemble(rows)
    if scheme.corpus == "ranks" and standing is not None:
        ranks = standing(counts.columns)
        # Ranks, entry by entry, serve as a table of their own: no term is looked at.
        return scheme.fingerprints(replace(counts, columns=np.arange(len(ranks))), ranks)
    numbers, columns = np.unique(counts.columns, return_inverse=True)
    term_of = vocabularies.terms_of(connection, numbers.tolist())
    terms = tuple(term_of.get(number, b"?") for number in numbers.tolist())
    return scheme.fingerprints(
        replace(counts, terms=terms, columns=columns),
        None if standing is None else standing(numbers),
    )
