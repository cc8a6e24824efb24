"""Build or update the clusters stored in a database, summarize them, or drop them."""

from __future__ import annotations

from dataclasses import replace

from simstore.errors import InvalidParameter, NotFound
from simstore.model import ClustersStatus, Progress
from simstore.search.plan import default_radius
from simstore.search.resemblance import check_share
from simstore.search.stars import CanonicalOrder
from simstore.services.clusters.build import KnownEdges, write_from_scratch
from simstore.services.clusters.cluster import RESEMBLANCE_ALONE, cluster_basis
from simstore.services.clusters.repair import repair_texts
from simstore.services.duplicates.measure import Measure
from simstore.services.open_store.open_store import OpenStore, Snapshot, now
from simstore.storage import cluster_names, clusters
from simstore.storage.clusters import Basis, ClusteringRow
from simstore.storage.sketches import WORDS

# Texts that are dealt with in a transaction.
BATCH_TEXTS = 2_000
# Texts that are put in their order at a time.
_ORDERED_TEXTS = 50_000


def keep_clusters(
    opened: OpenStore,
    *,
    min_resemblance: float | None = None,
    policy: str | None = None,
    rebuild: bool = False,
    on_progress: Progress | None = None,
    known: KnownEdges | None = None,
) -> ClustersStatus:
    """Build a store's clusters where there are none, and bring them up to date.

    They are made from scratch if none are stored, on request, and if the settings that find edges
    have changed: another scheme, other bands, or, if fingerprints depend on the corpus, another
    generation.

    Args:
        opened: The store.
        min_resemblance: Least resemblance of a member to its canonical document; None: that of
            the clusters that are kept, else 0.5.
        policy: ``first``, ``longest`` or ``prefer:REGEX``; None: as above, else ``first``.
        rebuild: Make them from the first, by what is given.
        on_progress: Called with texts done and in all.
        known: Tells the edges, where they were found elsewhere by the same rule.

    Raises:
        InvalidParameter: A parameter is out of its range, or other than what clusters are kept by
            and they are not to be made anew.
        NotFound: The store keeps neither texts nor sketches to verify by.
        ReadOnlyStore: It cannot be written.
    """
    order = None if policy is None else CanonicalOrder.parse(policy)
    check_share("min_resemblance", min_resemblance)
    with opened.database.read() as connection:
        snapshot = opened.snapshot(connection)
        cluster_basis(Measure.of(snapshot), exact_join=False)
        kept = clusters.row(connection)
        waiting = clusters.count_changes(connection)
        basis = basis_of(snapshot)
    if kept is not None and kept.state == "standing" and not rebuild:
        _refuse_others(kept, min_resemblance, order)
    made_anew = kept is None or rebuild or kept.state == "building" or kept.basis != basis
    if made_anew:
        _make(opened, min_resemblance, order, on_progress, known)
        waiting = 0
    _bring_up_to_date(opened, waiting, on_progress)
    found = kept_summary(opened)
    if found is None:
        raise NotFound("the clusters were dropped meanwhile; ask again")
    return replace(found, made_anew=made_anew)


def kept_summary(opened: OpenStore, *, largest: bool = False) -> ClustersStatus | None:
    """Return a summary of the stored clusters; None where there are none.

    Args:
        opened: The store.
        largest: Count the documents of the largest cluster, too; it looks at every text.
    """
    with opened.database.read() as connection:
        snapshot = opened.snapshot(connection)
        kept = clusters.row(connection)
        if kept is None:
            return None
        text_count, _ = cluster_names.counts(connection)
        is_current = kept.state == "standing" and kept.basis == basis_of(snapshot)
        return ClustersStatus(
            min_resemblance=kept.min_resemblance,
            policy=str(CanonicalOrder(kept.policy, kept.preferred)),
            radius=kept.basis.radius,
            basis="text" if snapshot.settings.text_kept else "sketch",
            text_count=text_count,
            cluster_count=cluster_names.count_of_several(connection),
            waiting_count=clusters.count_changes(connection),
            is_current=is_current,
            updated_at=kept.updated_at,
            largest_count=cluster_names.largest(connection) if largest else None,
        )


def count_clusters(opened: OpenStore) -> int:
    """Return the number of stored clusters of two documents and more; 0 where none are stored."""
    with opened.database.read() as connection:
        kept = clusters.row(connection)
        if kept is None:
            return 0
        return cluster_names.count_of_several(connection)


def drop_clusters(opened: OpenStore) -> bool:
    """Delete the stored clusters and their numbers; return whether there were any."""
    with opened.write() as connection:
        existed = clusters.are_kept(connection)
        clusters.drop_all(connection)
    return existed


def _refuse_others(
    kept: ClusteringRow, min_resemblance: float | None, order: CanonicalOrder | None
) -> None:
    standing = CanonicalOrder(kept.policy, kept.preferred)
    if (min_resemblance is None or min_resemblance == kept.min_resemblance) and (
        order is None or order == standing
    ):
        return
    raise InvalidParameter(
        f"clusters are kept at a resemblance of {kept.min_resemblance:g}, policy {standing}: give "
        "--rebuild to make them anew, or --once for clusters of the moment"
    )


def basis_of(snapshot: Snapshot) -> Basis:
    """Return the basis on which edges are found in a snapshot."""
    layout = None
    if snapshot.channels.has_word_sketches:
        packed = WORDS.layout(snapshot.connection, snapshot.scheme_id)
        layout = packed.layout if packed else snapshot.channels.layout
    generation_id = None
    if (
        snapshot.channels.has_fingerprints
        and snapshot.scheme.depends_on_corpus
        and snapshot.generation is not None
    ):
        generation_id = snapshot.generation.generation_id
    return Basis(
        snapshot.scheme_id,
        generation_id,
        default_radius(snapshot.scheme.bits) if snapshot.channels.has_fingerprints else None,
        layout.bands if layout else None,
        layout.rows if layout else None,
    )


def _make(
    opened: OpenStore,
    min_resemblance: float | None,
    order: CanonicalOrder | None,
    on_progress: Progress | None,
    known: KnownEdges | None,
) -> None:
    """Make all clusters from the first; what changes meanwhile waits."""
    while True:
        with opened.write() as connection:
            snapshot = opened.snapshot(connection)
            before = clusters.row(connection)
            if order is None:
                order = CanonicalOrder("first")
                if before is not None:
                    order = CanonicalOrder(before.policy, before.preferred)
            if min_resemblance is None:
                min_resemblance = before.min_resemblance if before else RESEMBLANCE_ALONE
            begun = ClusteringRow(
                min_resemblance=min_resemblance,
                policy=order.name,
                preferred=order.preferred,
                basis=basis_of(snapshot),
                state="building",
                attempt=before.attempt + 1 if before else 1,
                created_at=before.created_at if before else now(),
                updated_at=before.updated_at if before else now(),
            )
            clusters.put_row(connection, begun)
            # All that is there now is looked at.
            clusters.drop_all_changes(connection)
        finish = write_from_scratch(opened, begun, on_progress, known)
        with opened.write() as connection:
            snapshot = opened.snapshot(connection)
            if clusters.row(connection) != begun:
                # Another process began later, and finishes or has finished.
                return
            if basis_of(snapshot) == begun.basis:
                finish(connection)
                cluster_names.drop_old_ended(connection)
                made = replace(begun, state="standing", updated_at=now())
                clusters.put_row(connection, made)
                return


def _bring_up_to_date(opened: OpenStore, waiting: int, on_progress: Progress | None) -> None:
    """Deal with the texts that wait, some a transaction, until none does."""
    done = 0
    while True:
        with opened.database.read() as connection:
            digests = clusters.changes(connection, _ORDERED_TEXTS)
        if not digests:
            return
        for start in range(0, len(digests), BATCH_TEXTS):
            part = digests[start : start + BATCH_TEXTS]
            with opened.write() as connection:
                snapshot = opened.snapshot(connection)
                kept = clusters.row(connection)
                if kept is None or kept.state == "building" or kept.basis != basis_of(snapshot):
                    return
                repair_texts(snapshot, kept, part, now())
                clusters.drop_changes(connection, part)
                cluster_names.drop_old_ended(connection)
                clusters.set_updated(connection, now())
            done += len(part)
            if on_progress is not None:
                on_progress(done, max(waiting, done))
