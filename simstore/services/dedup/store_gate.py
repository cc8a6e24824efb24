"""Ask a store, or a server, which rows duplicate its documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from simstore.model import Document, Match, QueryOptions, QueryRun, SampleResult
from simstore.model.channels import DROP_RESEMBLANCE
from simstore.services.dedup.gates import Answer, Known


class Queried(Protocol):
    """A store, or the client of a server."""

    def query_many(
        self, samples: Sequence[Document], options: QueryOptions | None = None, /
    ) -> QueryRun:
        """Return the matches of each sample, in the order of the samples."""


def store_answer(
    store: Queried, min_resemblance: float = DROP_RESEMBLANCE, *, radius: int | None = None
) -> Answer:
    """Return what tells which stored document each row resembles most.

    The store is read, never written.

    Args:
        store: A store, or the client of a server.
        min_resemblance: Least resemblance of a row that is known, above 0, at most 1.
        radius: Of fingerprints, bits; None: 3.
    """
    options = QueryOptions(min_resemblance=min_resemblance, radius=radius)

    def answer(documents: Sequence[Document]) -> list[Known | None]:
        # Keys of several files may be the same; texts without a key have none.
        asked = [replace(one, key=str(n)) for n, one in enumerate(documents)]
        return [_known(result) for result in store.query_many(asked, options)]

    return answer


def _known(result: SampleResult) -> Known | None:
    nearest = min(result.matches, key=_rank, default=None)
    if nearest is None:
        return None
    return Known(nearest.key, nearest.resemblance, nearest.basis or "distance")


def _rank(match: Match) -> tuple[float, int]:
    return -(match.resemblance or 0.0), match.document_id
