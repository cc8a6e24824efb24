"""Update the stored clusters for a batch of texts that were added, removed or changed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from simstore.search.stars import (
    CanonicalOrder,
    LostStar,
    Place,
    Repair,
    Spokes,
    joined_centre,
    pass_on,
    repair,
)
from simstore.services.duplicates.edges import EdgeSearch
from simstore.services.open_store.open_store import Snapshot
from simstore.storage import cluster_names, clusters
from simstore.storage.clusters import ClusteringRow, HolderRow, TextRow
from simstore.storage.engine import Connection
from simstore.storage.rows import next_numbers
from simstore.text.decoding import exact_text


def repair_texts(
    snapshot: Snapshot,
    kept: ClusteringRow,
    digests: Sequence[bytes],
    ended_at: int,
) -> None:
    """Bring clusters up to date with the documents that some texts have now.

    Args:
        snapshot: The store in the writer's transaction.
        kept: The rule; what it goes by is what stands.
        digests: The texts, each once.
        ended_at: When clusters end that do.
    """
    connection = snapshot.connection
    order = CanonicalOrder(kept.policy, kept.preferred)
    held = clusters.holders(connection, digests)
    places = {digest: first_place(order, rows) for digest, rows in held.items()}
    known = clusters.texts(connection, digests)
    gone = [row for digest, row in known.items() if digest not in places]
    # Where fingerprints cover metadata, they may have changed with the text and its place the same.
    moved = [
        row
        for digest, row in known.items()
        if digest in places and (snapshot.scheme.reads_metadata or row.place != places[digest])
    ]
    fresh = sorted((place, digest) for digest, place in places.items() if digest not in known)
    numbers = next_numbers(connection, "cluster_text", "text_id", len(fresh))
    new = [
        TextRow(number, digest, place)
        for number, (place, digest) in zip(numbers, fresh, strict=True)
    ]
    put_in = new + [TextRow(row.text_id, row.digest, places[row.digest]) for row in moved]
    if not (gone or put_in):
        return
    graph = StoredGraph(snapshot, kept, put_in, held)
    made = repair(
        graph,
        gone=[row.text_id for row in gone],
        moved=[row.text_id for row in moved],
        new=[row.text_id for row in new],
    )
    old = {row.text_id: row.place for row in known.values()}
    lost = _lost(connection, graph, made, old, gone)
    _write_texts(connection, made, moved, new, places)
    _write_names(connection, graph, made, lost, put_in, ended_at)


def first_place(order: CanonicalOrder, rows: Sequence[HolderRow]) -> Place:
    """Return the sort key of a text in the canonical order: that of the first of its documents."""
    keys = [exact_text(row.key) for row in rows]
    majors = order.majors(keys, [row.byte_count for row in rows])
    return min(
        (major, row.first_seen, row.document_id) for major, row in zip(majors, rows, strict=True)
    )


class StoredGraph:
    """The stars of a store before a change, and the edges of its documents after it.

    Args:
        snapshot: The store in the writer's transaction.
        kept: The rule.
        put_in: Texts that are new or have moved, with their places after the change.
        held: The documents of the texts that changed.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        kept: ClusteringRow,
        put_in: Sequence[TextRow],
        held: Mapping[bytes, Sequence[HolderRow]],
    ) -> None:
        self._snapshot = snapshot
        self._held = held
        self._put_in = {row.text_id: row for row in put_in}
        self._numbers = {row.digest: row.text_id for row in put_in}
        self._known: dict[int, TextRow] = {}
        # Of documents that were met: their text, None where it is not of the clusters yet.
        self._texts: dict[int, tuple[bytes, int | None, bool]] = {}
        self._search = EdgeSearch(
            snapshot,
            min_resemblance=kept.min_resemblance,
            radius=kept.basis.radius,
        )

    def places(self, texts: Collection[int]) -> dict[int, Place]:
        """Return the place of each text after the change."""
        return {text: row.place for text, row in self._rows(texts).items()}

    def spokes(self, texts: Collection[int]) -> dict[int, Spokes]:
        """Return the spokes of those of the texts that had some before the change."""
        return clusters.spokes(self._snapshot.connection, list(texts))

    def followers(self, centres: Collection[int]) -> dict[int, list[int]]:
        """Return the texts that had a spoke to each before the change."""
        return clusters.followers(self._snapshot.connection, list(centres))

    def absent(self, texts: Collection[int]) -> set[int]:
        """Return those of the texts that no document has any more."""
        missing = [text for text in texts if text not in self._put_in]
        return clusters.without_documents(self._snapshot.connection, missing)

    def edges(self, texts: Collection[int], *, canonical_only: bool) -> dict[int, Spokes]:
        """Return the edges of texts to others that are there after the change."""
        owners: dict[int, int] = {}
        for text, row in self._rows(texts).items():
            owners.update(dict.fromkeys(self._stand_ins(row), text))
        # A document that went without its turn having come yet is left out: it has no edges.
        probed = self._search.stored_texts(list(owners))
        chosen = self._canonical if canonical_only else self._there
        found: dict[int, Spokes] = {text: {} for text in texts}
        for one, edges in zip(probed, self._search.edges_of(probed, chosen), strict=True):
            owner = owners[one.document_id or 0]
            for edge in edges:
                other = self._text_of(edge.document_id)
                if other is not None and other != owner:
                    found[owner][other] = edge.resemblance or 0.0
        return found

    def _rows(self, texts: Collection[int]) -> dict[int, TextRow]:
        unknown = [t for t in texts if t not in self._put_in and t not in self._known]
        self._known |= clusters.texts_by_number(self._snapshot.connection, unknown)
        rows = ((text, self._put_in.get(text) or self._known.get(text)) for text in texts)
        return {text: row for text, row in rows if row is not None}

    def _stand_ins(self, row: TextRow) -> list[int]:
        """Return the documents by which a text is looked up: one, as long as all are alike."""
        if not self._snapshot.scheme.reads_metadata:
            return [row.place[2]]
        held = self._held.get(row.digest)
        if held is None:
            held = clusters.holders(self._snapshot.connection, [row.digest]).get(row.digest, ())
        return [one.document_id for one in held]

    def _meet(self, document_ids: Sequence[int]) -> None:
        unknown = [number for number in document_ids if number not in self._texts]
        for number, (digest, text, canonical) in clusters.texts_of(
            self._snapshot.connection, unknown
        ).items():
            self._texts[number] = digest, self._numbers.get(digest, text), canonical

    def _text_of(self, document_id: int) -> int | None:
        found = self._texts.get(document_id)
        return None if found is None else found[1]

    def _canonical(self, document_ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        numbers = document_ids.tolist()
        self._meet(numbers)
        return np.array([self._texts[number][2] for number in numbers], np.bool_)

    def _there(self, document_ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        numbers = document_ids.tolist()
        self._meet(numbers)
        return np.array([self._texts[number][1] is not None for number in numbers], np.bool_)


def _lost(
    connection: Connection,
    graph: StoredGraph,
    made: Repair,
    old: Mapping[int, Place],
    gone: Sequence[TextRow],
) -> list[LostStar]:
    """Return the clusters whose text is canonical no longer, by the place of that text."""
    texts = {row.text_id: row for row in gone if not made.before[row.text_id]}
    centres = [*texts, *made.demoted]
    named = cluster_names.names(connection, centres)
    rows = texts | clusters.texts_by_number(connection, made.demoted)
    # What moved had another place when its star was made.
    asked = {centre for spokes in made.before.values() for centre in spokes}
    places = {**graph.places(asked | made.after.keys()), **old}
    members: dict[int, list[int]] = {}
    for text in sorted(made.after, key=lambda one: places[one]):
        if spokes := made.before[text]:
            members.setdefault(joined_centre(text, spokes, places), []).append(text)
    lost = [
        LostStar(
            named[centre],
            None if centre in texts else centre,
            rows[centre].place[2],
            members.get(centre, ()),
        )
        for centre in centres
    ]
    lost.sort(key=lambda star: star.name)
    return lost


def _write_texts(
    connection: Connection,
    made: Repair,
    moved: Sequence[TextRow],
    new: Sequence[TextRow],
    places: Mapping[bytes, Place],
) -> None:
    dropped = [
        (text, centre)
        for text, spokes in made.after.items()
        for centre in made.before[text]
        if centre not in spokes
    ]
    put = [
        (text, centre, share)
        for text, spokes in made.after.items()
        for centre, share in spokes.items()
        if made.before[text].get(centre) != share
    ]
    clusters.drop_spokes(connection, dropped)
    clusters.drop_texts(connection, sorted(made.gone))
    clusters.add_texts(connection, new)
    clusters.move_texts(
        connection,
        {row.text_id: places[row.digest] for row in moved if row.place != places[row.digest]},
    )
    clusters.put_spokes(connection, put)


def _write_names(
    connection: Connection,
    graph: StoredGraph,
    made: Repair,
    lost: Sequence[LostStar],
    put_in: Sequence[TextRow],
    ended_at: int,
) -> None:
    """Name the new stars: pass on the names of those that were lost, or give new ones."""
    centres = {centre for spokes in made.after.values() for centre in spokes}
    places = graph.places(centres)

    def centre_of(text: int) -> int:
        return joined_centre(text, made.after[text], places)

    passed = pass_on(lost, made.promoted, {row.place[2]: row.text_id for row in put_in}, centre_of)
    cluster_names.end_names(connection, dict.fromkeys(passed.merged), ended_at)
    cluster_names.move_names(connection, passed.heirs)
    cluster_names.give_names(connection, passed.unnamed, ended_at)
    into = {text for text in passed.merged.values() if text is not None}
    named = cluster_names.names(connection, sorted(into))
    cluster_names.end_names(
        connection,
        {name: None if text is None else named[text] for name, text in passed.merged.items()},
        ended_at,
    )
