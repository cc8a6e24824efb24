"""Result types for clusters of documents: members, merges and status."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from simstore.errors import DocumentNotFound, NotFound, printable
from simstore.model.ingest import IngestSummary
from simstore.model.results import Listed, Shown


@dataclass(frozen=True, slots=True)
class LeastShares:
    """The thresholds of a cluster's edge; two documents have to reach one of them.

    >>> least = store.clusters.once(min_resemblance=0.5).least
    >>> least.resemblance, least.likeness
    (0.5, None)

    Attributes:
        resemblance: Least resemblance, inclusive; None: it does not count.
        likeness: Least likeness, inclusive; None: it does not count.
        cosine: Least cosine that goes with the likeness, inclusive.
    """

    resemblance: float | None
    likeness: float | None = None
    cosine: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ClusterMember(Shown):
    """A document of a cluster, beside the cluster's canonical document.

    >>> (cluster,) = store.clusters.once(min_resemblance=0.5)
    >>> member = cluster.members[1]
    >>> member.key, round(member.resemblance, 2)
    ('ferry-2026', 0.87)

    Attributes:
        key: Its key.
        document_id: Its place in the order of ingest.
        resemblance: Resemblance to the canonical document, 0 to 1.
        likeness: Likeness to it, 0 to 1; None where no likeness was asked for.
        distance: Hamming distance to it, in bits; None where one of the two has
            no fingerprint.
        basis: ``same``: it has the very text of the canonical document, or is
            it; ``text``: the resemblance is exact; ``sketch``: it is an
            estimate.
    """

    key: str
    document_id: int
    resemblance: float
    distance: int | None
    basis: Literal["same", "text", "sketch"]
    likeness: float | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Cluster(Shown):
    """A canonical document and the documents that resemble it.

    >>> (cluster,) = store.clusters.once(min_resemblance=0.5)
    >>> cluster.key, [member.key for member in cluster.members]
    ('ferry-2025', ['ferry-2025', 'ferry-2026'])

    Attributes:
        key: Key of the canonical document.
        members: All documents of the cluster by the policy's order, the
            canonical one in front.
    """

    _SHAPE = "places"

    key: str
    members: tuple[ClusterMember, ...]

    def __iter__(self) -> Iterator[ClusterMember]:
        return iter(self.members)

    def __len__(self) -> int:
        return len(self.members)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Clustering(Shown):
    """The clusters of the documents of a store.

    >>> found = store.clusters.once(min_resemblance=0.5)
    >>> found.document_count, [cluster.key for cluster in found]
    (3, ['ferry-2025'])

    Attributes:
        clusters: Those of the least size, by the policy's order of their
            canonical documents.
        document_count: Documents that were looked at.
        too_short_count: Of those, how many are too short to be judged by their
            likeness.
        radius: Radius of channel 1, in bits; None where the edges are those of
            the exact join, or the store has no fingerprints.
        basis: ``text`` or ``sketch``: by which the edges were verified.
        stale: Why the standing generation does not cover every document; None
            where it does.
        least: What a member has to reach one of.
    """

    _HOLDS = ("clusters", Cluster)

    clusters: tuple[Cluster, ...]
    document_count: int
    too_short_count: int
    radius: int | None
    basis: Literal["text", "sketch"]
    stale: str | None
    least: LeastShares

    def __iter__(self) -> Iterator[Cluster]:
        return iter(self.clusters)

    def __len__(self) -> int:
        return len(self.clusters)

    def __getitem__(self, place: int) -> Cluster:
        return self.clusters[place]


@dataclass(frozen=True, slots=True, repr=False)
class StoredCluster(Shown):
    """A stored cluster, kept up to date.

    >>> status = store.clusters.build()
    >>> for cluster in store.clusters:
    ...     print(cluster.key, [member.key for member in cluster.members])
    ferry-2025 ['ferry-2025', 'ferry-2026']

    Attributes:
        cluster_id: Its name, given to no other.
        key: Key of the canonical document.
        members: All documents of the cluster by the policy's order, the
            canonical one in front.
    """

    _SHAPE = "members"

    cluster_id: int
    key: str
    members: tuple[ClusterMember, ...]

    def __iter__(self) -> Iterator[ClusterMember]:
        return iter(self.members)

    def __len__(self) -> int:
        return len(self.members)


@dataclass(frozen=True, slots=True, repr=False)
class ClusterPlace(Shown):
    """The stored cluster of a document, and the document as its member.

    >>> status = store.clusters.build()
    >>> place = store.clusters.of("ferry-2026")
    >>> place.canonical_key, place.is_canonical
    ('ferry-2025', False)

    Attributes:
        cluster_id: The name of its cluster.
        canonical_key: Key of the canonical document.
        member: The document, beside the canonical one.
    """

    cluster_id: int
    canonical_key: str
    member: ClusterMember

    @property
    def is_canonical(self) -> bool:
        """Return whether the document is the canonical one."""
        return self.member.key == self.canonical_key


@dataclass(frozen=True, slots=True, repr=False)
class ClusterMerge(Shown):
    """A cluster that has ended, and the cluster that took its documents.

    >>> status = store.clusters.build()
    >>> store.remove(["ferry-2025", "ferry-2026"])
    2
    >>> status = store.clusters.build()
    >>> [merge.merged_into for merge in store.clusters.merges()]
    [None]

    Attributes:
        cluster_id: Its name.
        merged_into: The cluster that its documents came to; None where none was
            left.
        ended_at: When, in seconds since 1970-01-01 UTC.
    """

    cluster_id: int
    merged_into: int | None
    ended_at: int


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ClustersStatus(Shown):
    """The state of the clusters that a store keeps.

    >>> status = store.clusters.build()
    >>> status.cluster_count, status.is_current
    (1, True)

    Attributes:
        min_resemblance: Least resemblance of a member to its canonical
            document, inclusive.
        policy: ``first``, ``longest`` or ``prefer:REGEX``.
        radius: Radius of channel 1, in bits; None: not by fingerprints.
        basis: ``text`` or ``sketch``: by which edges are verified.
        text_count: Distinct texts that were clustered, those alone too.
        cluster_count: Clusters of two documents and more.
        waiting_count: Texts whose documents changed and that are still to be
            dealt with.
        is_current: The clusters are made by what stands now; else they are to
            be made anew.
        updated_at: When they were last brought up to date, in seconds since
            1970-01-01 UTC.
        largest_count: Documents of the largest cluster; None where it was not
            asked for.
        made_anew: They were made from the first now.
    """

    min_resemblance: float
    policy: str
    radius: int | None
    basis: Literal["text", "sketch"]
    text_count: int
    cluster_count: int
    waiting_count: int
    is_current: bool
    updated_at: int
    largest_count: int | None = None
    made_anew: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ImportSummary(Shown):
    """Summary of an import of the output of ``simstore spark dedup``.

    Attributes:
        documents: What became of the documents.
        clusters: The clusters that are kept now; None: none are, or it was
            interrupted.
    """

    documents: IngestSummary
    clusters: ClustersStatus | None


class ClusterSet(Listed[StoredCluster]):
    """A namespace of stored clusters: each is found by the key of any of its documents."""

    def __getitem__(self, key: str) -> StoredCluster:
        found = self._with(key)
        if found is None:
            raise NotFound(f"{printable(key)} is in no cluster of two documents and more")
        return found

    def __contains__(self, key: object) -> bool:
        try:
            return isinstance(key, str) and self._with(key) is not None
        except DocumentNotFound:
            return False

    def _with(self, key: str) -> StoredCluster | None:
        """Return the cluster of a document, if it has others; those alone are not listed."""
        own: Any = self
        place = own.of(key)
        found: StoredCluster | None = None if place is None else own.members(place.cluster_id)
        return found if found is not None and len(found.members) > 1 else None
