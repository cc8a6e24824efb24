"""Build or update the clusters stored in a database, summarize them, or drop them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simstore.errors import InvalidParameter, NotFound
from simstore.model import ClustersStatus, LeastShares, Progress
from simstore.search.plan import default_radius
from simstore.search.resemblance import check_share
from simstore.search.stars import CanonicalOrder, LostStar, pass_on, spokes_among
from simstore.services.clusters.cluster import RESEMBLANCE_ALONE, cluster_basis, policy_order
from simstore.services.clusters.distinct_texts import Contents, read_contents
from simstore.services.clusters.repair import repair_texts
from simstore.services.clusters.verified_edges import EdgeFinder, Edges
from simstore.services.duplicates.measure import Measure
from simstore.services.open_store.open_store import OpenStore, Snapshot, now
from simstore.storage import cluster_names, clusters
from simstore.storage.clusters import Basis, ClusteringRow, TextRow
from simstore.storage.engine import Connection
from simstore.storage.rows import next_numbers

# Returns the edges between the texts of a snapshot; None: it does not know those of this one.
KnownEdges = Callable[[Contents], Edges | None]
# Rows that are written at a time.
_WRITTEN_ROWS = 10_000
# Clusters whose members are looked up at a time.
_ASKED_STARS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltStars:
    """The stars of a snapshot, their texts in the policy's order.

    Attributes:
        digests: Of each text, ``V16``, shape (texts,).
        majors: The first part of its place.
        first_seen: The second part.
        document_ids: The third, the document that stands for it.
        centres: The canonical text of each, itself for a canonical one, shape (texts,).
        spoke_texts: The text of each spoke, ascending, shape (spokes,).
        spoke_centres: The canonical text that it leads to, before the text.
        resemblances: Of the two.
    """

    digests: NDArray[np.void]
    majors: NDArray[np.int64]
    first_seen: NDArray[np.int64]
    document_ids: NDArray[np.int64]
    centres: NDArray[np.int64]
    spoke_texts: NDArray[np.int64]
    spoke_centres: NDArray[np.int64]
    resemblances: NDArray[np.float64]


def write_from_scratch(
    opened: OpenStore,
    begun: ClusteringRow,
    on_progress: Progress | None = None,
    known: KnownEdges | None = None,
) -> Callable[[Connection], None]:
    """Compute the clusters of the stored documents; return the function that writes them.

    Args:
        opened: The store.
        begun: The rule.
        on_progress: Called with documents read and in all, then with texts placed and in all.
        known: Tells the edges, where they were found elsewhere by the same rule.

    Returns:
        What writes them through a writer's connection in the place of all that are there.
    """
    made = _stars(opened, begun, on_progress, known)

    def finish(connection: Connection) -> None:
        _write(connection, made)

    return finish


def _stars(
    opened: OpenStore,
    begun: ClusteringRow,
    on_progress: Progress | None,
    known: KnownEdges | None,
) -> BuiltStars:
    with opened.database.read() as connection:
        snapshot = opened.snapshot(connection)
        held = read_contents(snapshot, on_progress=on_progress)
        order = CanonicalOrder(begun.policy, begun.preferred)
        _, firsts = policy_order(held, order)
        majors = np.array(
            order.majors([held.keys[row] for row in firsts.tolist()], held.byte_counts.tolist()),
            np.int64,
        )
        times, numbers = held.first_seen[firsts], held.document_ids[firsts]
        ordered = np.lexsort((numbers, times, majors))
        edges = known(held) if known is not None else None
        if edges is None:
            least = LeastShares(begun.min_resemblance)
            finder = EdgeFinder(snapshot, held, least, on_progress)
            found = finder.spokes(ordered, begun.basis.radius)
        else:
            found = spokes_among(edges.first, edges.second, ordered, edges.resemblance)
    places = np.empty(len(ordered), np.int64)
    places[ordered] = np.arange(len(ordered))
    later, earlier = places[found.texts], places[found.centres]
    spokes = np.lexsort((earlier, later))
    return BuiltStars(
        digests=held.digests[ordered],
        majors=majors[ordered],
        first_seen=times[ordered],
        document_ids=numbers[ordered],
        centres=places[found.joined(ordered)][ordered],
        spoke_texts=later[spokes],
        spoke_centres=earlier[spokes],
        resemblances=found.resemblance[spokes],
    )


def _write(connection: Connection, made: BuiltStars) -> None:
    """Write stars in the place of those that are there; names of clusters pass on to them."""
    total = len(made.digests)
    ended_at = now()
    before = _standing_names(connection, made)
    cluster_names.free_names(connection)
    clusters.drop_texts_and_spokes(connection)
    numbers = np.array(next_numbers(connection, "cluster_text", "text_id", total), np.int64)
    for start in range(0, total, _WRITTEN_ROWS):
        part = slice(start, start + _WRITTEN_ROWS)
        clusters.add_texts(
            connection,
            (
                TextRow(number, digest, (major, seen, document_id))
                for number, digest, major, seen, document_id in zip(
                    numbers[part].tolist(),
                    made.digests[part].tolist(),
                    made.majors[part].tolist(),
                    made.first_seen[part].tolist(),
                    made.document_ids[part].tolist(),
                    strict=True,
                )
            ),
        )
    for start in range(0, len(made.spoke_texts), _WRITTEN_ROWS):
        part = slice(start, start + _WRITTEN_ROWS)
        texts = numbers[made.spoke_texts[part]].tolist()
        centres = numbers[made.spoke_centres[part]].tolist()
        shares = made.resemblances[part].tolist()
        clusters.put_spokes(connection, list(zip(texts, centres, shares, strict=True)))
    _write_names(connection, made, numbers, before, ended_at)


@dataclass(frozen=True, slots=True)
class _Before:
    """Names that stood, as rows of the new stars.

    Attributes:
        kept: Names and the text that is still canonical.
        lost: The other stars.
        text_of: Documents that stood for lost ones to the texts they stand for now.
    """

    kept: Mapping[int, int]
    lost: Sequence[LostStar]
    text_of: Mapping[int, int]


def _standing_names(connection: Connection, made: BuiltStars) -> _Before:
    stars = cluster_names.all_names(connection)
    if not stars:
        return _Before({}, [], {})
    row_of = {digest: row for row, digest in enumerate(made.digests.tolist())}
    canonical = made.centres == np.arange(len(made.centres))
    kept: dict[int, int] = {}
    lost: list[LostStar] = []
    for star in stars:
        row = row_of.get(star.digest)
        if row is not None and canonical[row]:
            kept[star.name] = row
        else:
            lost.append(LostStar(star.name, row, star.document_id, ()))
    centre_of = {star.name: star.centre for star in stars}
    members = _members(connection, centre_of, lost, row_of)
    documents = {star.document_id for star in lost}
    stand_for = np.flatnonzero(np.isin(made.document_ids, np.array(sorted(documents), np.int64)))
    return _Before(
        kept,
        [LostStar(s.name, s.text, s.document_id, members[s.name]) for s in lost],
        {int(made.document_ids[row]): int(row) for row in stand_for},
    )


def _members(
    connection: Connection,
    centre_of: Mapping[int, int],
    lost: Sequence[LostStar],
    row_of: Mapping[bytes, int],
) -> dict[int, list[int]]:
    """Return the rows of the texts that were in lost stars, ascending, by name."""
    found: dict[int, list[int]] = {}
    for start in range(0, len(lost), _ASKED_STARS):
        some = lost[start : start + _ASKED_STARS]
        joined = clusters.members(connection, [centre_of[star.name] for star in some])
        texts = [text for of_star in joined.values() for text in of_star]
        digests = clusters.texts_by_number(connection, texts)
        for star in some:
            rows = (
                row_of.get(digests[text].digest) for text in joined.get(centre_of[star.name], ())
            )
            found[star.name] = sorted(row for row in rows if row is not None)
    return found


def _write_names(
    connection: Connection,
    made: BuiltStars,
    numbers: NDArray[np.int64],
    before: _Before,
    ended_at: int,
) -> None:
    named = set(before.kept.values())
    canonical = np.flatnonzero(made.centres == np.arange(len(made.centres))).tolist()
    promoted = [row for row in canonical if row not in named]
    passed = pass_on(before.lost, promoted, before.text_of, lambda row: int(made.centres[row]))
    standing = {**before.kept, **passed.heirs}
    cluster_names.move_names(
        connection, {name: int(numbers[row]) for name, row in standing.items()}
    )
    name_of = {row: name for name, row in standing.items()}
    for part in _parts(passed.unnamed):
        given = cluster_names.give_names(connection, numbers[list(part)].tolist(), ended_at)
        if passed.merged:
            name_of.update(zip(part, given, strict=True))
    merged = {name: None if row is None else name_of[row] for name, row in passed.merged.items()}
    cluster_names.end_names(connection, merged, ended_at)
    cluster_names.end_nameless(connection, ended_at)


def _parts(rows: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(rows), _WRITTEN_ROWS):
        yield rows[start : start + _WRITTEN_ROWS]


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
        layout = snapshot.channels.layout
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
