"""Read stored clusters: all, one by number or by document, and which clusters have merged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from simstore.errors import CorruptStore, DocumentNotFound, InvalidParameter, NotFound
from simstore.model import ClusterMember, ClusterMerge, ClusterPlace, StoredCluster
from simstore.search.stars import CanonicalOrder, joined_centre
from simstore.services.open_store.open_store import OpenStore, Snapshot
from simstore.storage import cluster_names, clusters, documents
from simstore.storage.clusters import HolderRow
from simstore.storage.fingerprints import fingerprints
from simstore.text.decoding import encode, exact_text

# Clusters that are read at a time.
_PAGE_CLUSTERS = 500


def kept_clusters(
    opened: OpenStore, *, min_size: int = 2, after: int = 0
) -> Iterator[StoredCluster]:
    """Yield the stored clusters, as they were last brought up to date, by their numbers.

    Documents that came since are left out where their text is new; those that went are left out,
    and with its canonical document a cluster is named by the next of the same text, if any.

    Args:
        opened: The store; a snapshot of it is held until the last is taken.
        min_size: Leave out clusters of fewer documents.
        after: Only names above it.

    Raises:
        InvalidParameter: ``min_size`` is below 1.
        NotFound: No clusters are kept.
    """
    if min_size < 1:
        raise InvalidParameter(f"min size {min_size}: it must be at least 1")
    with opened.database.read() as connection:
        reading = _Reading(opened.snapshot(connection))
        while rows := cluster_names.centres_after(
            connection, after, _PAGE_CLUSTERS, alone=min_size == 1
        ):
            for found in reading.of(rows):
                if len(found.members) >= min_size:
                    yield found
            after = rows[-1][0]


def cluster_of(opened: OpenStore, key: str) -> ClusterPlace | None:
    """Return the stored cluster of a document, and its place in it.

    Args:
        opened: The store.
        key: The key of the document.

    Returns:
        None where no clusters are kept, or its text has come since they were brought up to date.

    Raises:
        DocumentNotFound: There is no document with the key.
    """
    name = encode(key)
    with opened.database.read() as connection:
        stored = documents.by_keys(connection, [name]).get(name)
        if stored is None:
            raise DocumentNotFound(key)
        text = clusters.texts(connection, [stored.digest]).get(stored.digest)
        if text is None:
            return None
        led = clusters.spokes(connection, [text.text_id]).get(text.text_id, {})
        rows = clusters.texts_by_number(connection, [text.text_id, *led])
        if not led.keys() <= rows.keys():
            raise _contradicts(opened.snapshot(connection))
        places = {one: rows[one].place for one in led}
        centre = joined_centre(text.text_id, led, places)
        cluster_id = cluster_names.names(connection, [centre]).get(centre)
        if cluster_id is None:
            raise _contradicts(opened.snapshot(connection))
        found = next(_Reading(opened.snapshot(connection)).of([(cluster_id, centre)]), None)
    if found is None:
        return None
    member = next((one for one in found.members if one.key == key), None)
    if member is None:
        return None
    return ClusterPlace(cluster_id, found.key, member)


def cluster_members(opened: OpenStore, cluster_id: int) -> StoredCluster | None:
    """Return a stored cluster by its number; None where there is none."""
    with opened.database.read() as connection:
        centre = cluster_names.centre(connection, cluster_id)
        if centre is None:
            return None
        return next(_Reading(opened.snapshot(connection)).of([(cluster_id, centre)]), None)


def cluster_merges(opened: OpenStore, *, after: int = 0) -> Iterator[ClusterMerge]:
    """Yield the clusters that have ended or merged, by their numbers, above a given one."""
    with opened.database.read() as connection:
        while rows := cluster_names.merges(connection, after, _PAGE_CLUSTERS):
            for row in rows:
                yield ClusterMerge(*row)
            after = rows[-1][0]


def _contradicts(snapshot: Snapshot) -> CorruptStore:
    return snapshot.corrupt(
        "its kept clusters name texts, or pairs of them, that are not there: `simstore clusters "
        "--rebuild` makes them anew",
    )


class _Reading:
    """Reads clusters in one snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        kept = clusters.row(snapshot.connection)
        if kept is None:
            raise NotFound("this store keeps no clusters; `simstore clusters` makes them")
        self._order = CanonicalOrder(kept.policy, kept.preferred)
        self._basis: Literal["text", "sketch"] = "text" if snapshot.settings.text_kept else "sketch"

    def of(self, rows: Sequence[tuple[int, int]]) -> Iterator[StoredCluster]:
        """Yield the clusters of these names and canonical texts; one without documents is not."""
        connection = self._snapshot.connection
        joined = clusters.members(connection, [centre for _, centre in rows])
        numbers = [centre for _, centre in rows] + [t for texts in joined.values() for t in texts]
        texts = clusters.texts_by_number(connection, numbers)
        if not texts.keys() >= set(numbers):
            raise _contradicts(self._snapshot)
        shares = clusters.spokes(connection, [t for of in joined.values() for t in of])
        if any(centre not in shares.get(text, ()) for centre in joined for text in joined[centre]):
            raise _contradicts(self._snapshot)
        held = clusters.holders(connection, [row.digest for row in texts.values()])
        ids = [one.document_id for holders in held.values() for one in holders]
        values = _fingerprints(self._snapshot, ids)
        for name, centre in rows:
            found: list[tuple[int, HolderRow]] = []
            for text in (centre, *joined.get(centre, ())):
                found += [(text, one) for one in held.get(texts[text].digest, ())]
            if not found:
                continue
            keys = [exact_text(one.key) for _, one in found]
            majors = self._order.majors(keys, [one.byte_count for _, one in found])
            ordered = sorted(
                range(len(found)),
                key=lambda place: (
                    majors[place],
                    found[place][1].first_seen,
                    found[place][1].document_id,
                ),
            )
            # Documents may have come since that would stand before it.
            head = next((place for place in ordered if found[place][0] == centre), ordered[0])
            ordered.remove(head)
            ordered.insert(0, head)
            first = found[ordered[0]][1].document_id
            members = []
            for place in ordered:
                text, one = found[place]
                same = text == centre
                members.append(
                    ClusterMember(
                        key=keys[place],
                        document_id=one.document_id,
                        resemblance=1.0 if same else shares[text][centre],
                        distance=_distance(values, first, one.document_id),
                        basis="same" if same else self._basis,
                    )
                )
            yield StoredCluster(name, members[0].key, tuple(members))


def _fingerprints(snapshot: Snapshot, document_ids: Sequence[int]) -> dict[int, int]:
    if snapshot.generation is None:
        return {}
    number = snapshot.generation.generation_id
    return fingerprints.of_documents(
        snapshot.connection, snapshot.scheme.bits, number, document_ids
    )


def _distance(values: dict[int, int], one: int, other: int) -> int | None:
    if one not in values or other not in values:
        return None
    return (values[one] ^ values[other]).bit_count()
