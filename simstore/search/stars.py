"""Stars: clusters of documents around a canonical one, which cannot chain."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def star_clusters(
    first: NDArray[np.int64], second: NDArray[np.int64], order: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the canonical document of each document.

    A document is canonical where it has no edge to an earlier canonical one; any other joins the
    earliest canonical document that it has an edge to. So every member has an edge to its
    canonical document, and no two canonical documents have one.

    Args:
        first: Row of one document of each edge, in any order; edges may repeat.
        second: Row of the other, shape (edges,).
        order: All rows, the earliest document first, shape (documents,).

    Returns:
        Row of each document's canonical document, its own for a canonical one; int64, shape
        (documents,).
    """
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    one, other = places[first], places[second]
    earlier, later = np.minimum(one, other), np.maximum(one, other)
    sorting = np.lexsort((earlier, later))
    # All edges of a document to earlier ones stand before its edges to later ones, so what is
    # canonical is settled when it is asked for. Each step needs the one before: a plain loop.
    centres = list(range(len(order)))
    for earlier_place, place in zip(
        earlier[sorting].tolist(), later[sorting].tolist(), strict=True
    ):
        if centres[place] == place and centres[earlier_place] == earlier_place:
            centres[place] = earlier_place
    result = np.empty(len(order), np.int64)
    result[order] = order[np.array(centres, np.int64)]
    return result
