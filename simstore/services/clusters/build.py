"""Build the stored clusters of a store from scratch (later changes only update them)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simstore.model import LeastShares, Progress
from simstore.search.stars import CanonicalOrder, LostStar, pass_on, spokes_among
from simstore.services.clusters.cluster import policy_order
from simstore.services.clusters.distinct_texts import Contents, read_contents
from simstore.services.clusters.verified_edges import EdgeFinder, Edges
from simstore.services.open_store.open_store import OpenStore, now
from simstore.storage import cluster_names, clusters
from simstore.storage.clusters import ClusteringRow, TextRow
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
