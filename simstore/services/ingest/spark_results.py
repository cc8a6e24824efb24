"""Ingest the output of ``simstore spark dedup``: documents and clusters."""

from __future__ import annotations

import numpy as np

from simstore.errors import InvalidParameter
from simstore.fingerprint.scheme import Scheme
from simstore.model import ClustersStatus, IngestSummary, Progress
from simstore.search.plan import default_radius
from simstore.services.clusters.distinct_texts import Contents
from simstore.services.clusters.stored_clusters import basis_of, keep_clusters
from simstore.services.clusters.verified_edges import Edges
from simstore.services.ingest.ingest import ingest_documents
from simstore.services.ingest.options import IngestOptions, Observer
from simstore.services.open_store.open_store import OpenStore
from simstore.sources.spark_results import DedupedOutput


def import_deduped(
    opened: OpenStore,
    output: DedupedOutput,
    observer: Observer,
    *,
    clusters: bool = True,
    on_progress: Progress | None = None,
) -> tuple[IngestSummary, ClustersStatus | None]:
    """Add the documents of an output, in their order, and its clusters where they are the store's.

    The store makes fingerprints and sketches of its own. Clusters are taken from the edges that
    were found where the store finds edges by the same rule, has no other documents, and keeps no
    clusters yet; else its own are brought up to date by comparing.

    Args:
        opened: The store.
        output: What is to be added.
        observer: Hears of progress.
        clusters: Keep clusters.
        on_progress: Called with documents read and in all while clusters are made.

    Raises:
        InvalidParameter: The store has another scheme.
    """
    with opened.database.read() as connection:
        snapshot = opened.snapshot(connection)
        basis = basis_of(snapshot)
    if not _is_same(snapshot.scheme, output.scheme):
        raise InvalidParameter(
            f"the output's scheme ({output.scheme.label}, M = {output.scheme.bits}) has other "
            f"options than the store's ({snapshot.scheme.label}, M = {snapshot.scheme.bits}); "
            "import into a new store"
        )
    summary = ingest_documents(opened, output.documents(), IngestOptions(), observer)
    if not clusters or summary.interrupted:
        return summary, None
    layout = output.channels.layout if output.channels.has_word_sketches else None
    by_same_rule = (
        snapshot.channels.names == output.channels.names
        and (basis.bands, basis.band_rows)
        == ((layout.bands, layout.rows) if layout else (None, None))
        and output.radius == default_radius(snapshot.scheme.bits)
        and snapshot.settings.text_kept
    )
    kept = keep_clusters(
        opened,
        min_resemblance=output.min_resemblance,
        policy=output.policy,
        rebuild=True,
        on_progress=on_progress,
        known=_Known(output) if by_same_rule else None,
    )
    return summary, kept


def _is_same(one: Scheme, other: Scheme) -> bool:
    return one.record() == other.record()


class _Known:
    """The edges of an output, as those of a store that has the same texts.

    Args:
        output: The output.
    """

    def __init__(self, output: DedupedOutput) -> None:
        self._output = output

    def __call__(self, held: Contents) -> Edges | None:
        """Return the edges between the texts of a store; None: it has other texts."""
        known = self._output.edges()
        order = np.argsort(held.digests.view("S16"), kind="stable")
        if not np.array_equal(held.digests[order], known.digests):
            return None
        one, other = order[known.first], order[known.second]
        first, second = np.minimum(one, other), np.maximum(one, other)
        ascending = np.lexsort((second, first))
        return Edges(
            first[ascending], second[ascending], known.resemblance[ascending], likeness=None
        )
