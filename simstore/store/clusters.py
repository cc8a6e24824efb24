"""The namespace ``store.clusters``: build, list and look up clusters of near-duplicates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from simstore.errors import check_numbers
from simstore.model import (
    Clustering,
    ClusterMerge,
    ClusterPlace,
    ClustersStatus,
    StoredCluster,
    Stream,
    with_keywords,
)
from simstore.model.clusters import ClusterSet
from simstore.store.opened import Namespace

if TYPE_CHECKING:
    from simstore.model import Progress
    from simstore.services.clusters.cluster import ClusterKeywords, ClusterOptions


class Clusters(Namespace, ClusterSet):
    """Clusters of near-duplicates, in ``store.clusters``.

    A cluster is a canonical document and those that are like it.
    :meth:`build` keeps clusters in the store, and brings them up to date.
    Then ``for cluster in store.clusters`` reads them,
    ``store.clusters[key]`` is that of a document, and
    ``store.clusters.to_frame()`` a DataFrame of all. :meth:`once`, or
    ``store.clusters(min_resemblance=0.8)``, returns some and keeps nothing.
    """

    def __len__(self) -> int:
        from simstore.services.clusters.stored_clusters import count_clusters

        return count_clusters(self._opened)

    def once(
        self,
        options: ClusterOptions | None = None,
        *,
        on_progress: Progress | None = None,
        **keywords: Unpack[ClusterKeywords],
    ) -> Clustering:
        """Return clusters of near-duplicates, and keep nothing.

        A cluster is a star of verified edges to a canonical document.

        >>> for cluster in store.clusters.once(min_resemblance=0.5):
        ...     print(cluster.key, [member.key for member in cluster.members])
        ferry-2025 ['ferry-2025', 'ferry-2026']

        Args:
            options: How to cluster, as an object; keywords go before it.
            on_progress: Called with documents read and in all, then with texts
                read and in all.

        Keyword Args:
            min_resemblance: Least resemblance of a member to its canonical
                document, above 0, at most 1. Where neither it nor
                ``min_likeness`` is given: 0.65, or a likeness of 0.58 (0.5
                where the store keeps no texts to tell likeness by).
            min_likeness: Least likeness, in the same range: the cosine of
                weighted terms.
            min_cosine: Least cosine that goes with the likeness, 0 to 1; None:
                0.68.
            radius: Largest distance of fingerprints that are compared, bits;
                None: 3 or fewer.
            exact_join: Compare all pairs that can reach the threshold; none is
                missed.
            policy: Which document is canonical: ``first``, ``longest`` or
                ``prefer:REGEX``.
            min_size: Leave out clusters of fewer documents; 2.
            collection: Only documents of this collection.
            channels: By which members are looked for: ``simhash``, ``minhash``,
                or ``characters`` alone, for scans and typed copies; the
                resemblance is then that of runs of characters, 0.5 where none
                is given. None named: those of words.
            short_texts: With ``characters``, texts of at most 24 words are
                members too; else "Chapter 1" is not "Chapter 2".

        Returns:
            The clusters, and what they were made by; iterate over it, or call
            its ``to_frame()``.

        Raises:
            InvalidParameter: A parameter is out of its range, or asks for what
                the store has not.
            NotFound: The store keeps nothing to verify candidates by.
        """
        self._check_takes_documents()
        from simstore.services.clusters.cluster import ClusterOptions, cluster_documents

        chosen = with_keywords("clusters.once", ClusterOptions, options, keywords)
        return cluster_documents(self._opened, chosen, on_progress)

    def __call__(
        self,
        options: ClusterOptions | None = None,
        *,
        on_progress: Progress | None = None,
        **keywords: Unpack[ClusterKeywords],
    ) -> Clustering:
        """Return clusters of near-duplicates, and keep nothing, as :meth:`once`."""
        return self.once(options, on_progress=on_progress, **keywords)

    def build(
        self,
        *,
        min_resemblance: float | None = None,
        policy: str | None = None,
        rebuild: bool = False,
        on_progress: Progress | None = None,
    ) -> ClustersStatus:
        """Bring the stored clusters up to date; the first time, build them.

        >>> store.clusters.build().cluster_count
        1

        Args:
            min_resemblance: Least resemblance of a member to its canonical
                document; None: that of the clusters that are kept, else 0.5.
            policy: ``first``, ``longest`` or ``prefer:REGEX``; None: as above,
                else ``first``.
            rebuild: Make them anew, by what is given.
            on_progress: Called with texts done and in all.

        Returns:
            The state of the clusters: how many there are, and by which rule.

        Raises:
            InvalidParameter: A parameter is out of its range, or other than
                that of the clusters that are kept and they are not to be made
                anew.
            NotFound: The store keeps neither texts nor sketches to verify by.
            ReadOnlyStore: It cannot be written.
        """
        self._check_takes_documents()
        from simstore.services.clusters.stored_clusters import keep_clusters

        return keep_clusters(
            self._opened,
            min_resemblance=min_resemblance,
            policy=policy,
            rebuild=rebuild,
            on_progress=on_progress,
        )

    def list(self, min_size: int = 2, *, after: int = 0) -> Stream[StoredCluster]:
        """Yield the stored clusters, by ascending number.

        >>> status = store.clusters.build()
        >>> [cluster.key for cluster in store.clusters.list()]
        ['ferry-2025']

        Args:
            min_size: Leave out clusters of fewer documents.
            after: Only those behind the one with this ``cluster_id``.

        Returns:
            An iterator over clusters, each with its ``key`` (of the canonical
            document) and ``members``; ``to_frame()`` makes a DataFrame, a row a
            member.

        Raises:
            NotFound: The store keeps no clusters.
        """
        from simstore.services.clusters.read import kept_clusters

        check_numbers(min_size=min_size, after=after)
        found = kept_clusters(self._opened, min_size=min_size, after=after)
        return Stream(found, of=StoredCluster)

    def of(self, key: str) -> ClusterPlace | None:
        """Return the stored cluster of a document.

        >>> status = store.clusters.build()
        >>> store.clusters.of("ferry-2026").canonical_key
        'ferry-2025'

        Returns:
            Its cluster and that cluster's canonical document; None where the
            document is in no cluster.

        Raises:
            DocumentNotFound: There is no document with the key.
        """
        from simstore.services.clusters.read import cluster_of

        return cluster_of(self._opened, key)

    def members(self, cluster_id: int) -> StoredCluster | None:
        """Return a stored cluster by its number; None where there is none.

        >>> status = store.clusters.build()
        >>> place = store.clusters.of("ferry-2026")
        >>> len(store.clusters.members(place.cluster_id).members)
        2

        Returns:
            The cluster; None where there is none, or none any more.
        """
        from simstore.services.clusters.read import cluster_members

        check_numbers(cluster_id=cluster_id)
        return cluster_members(self._opened, cluster_id)

    def merges(self, *, after: int = 0) -> Stream[ClusterMerge]:
        """Yield the stored clusters that have ended, by ascending number.

        >>> status = store.clusters.build()
        >>> list(store.clusters.merges())
        []

        Args:
            after: Only those behind the one with this ``cluster_id``.
        """
        from simstore.services.clusters.read import cluster_merges

        check_numbers(after=after)
        return Stream(cluster_merges(self._opened, after=after), of=ClusterMerge)

    def status(self, *, largest: bool = False) -> ClustersStatus | None:
        """Return the status of the stored clusters; None where none are stored.

        >>> store.clusters.status() is None
        True
        >>> status = store.clusters.build()
        >>> store.clusters.status().cluster_count
        1

        Args:
            largest: Count the documents of the largest, too; it looks at every
                text.
        """
        from simstore.services.clusters.stored_clusters import kept_summary

        return kept_summary(self._opened, largest=largest)

    def drop(self) -> bool:
        """Delete the stored clusters; return whether there were any.

        >>> store.clusters.drop()
        False
        """
        from simstore.services.clusters.stored_clusters import drop_clusters

        return drop_clusters(self._opened)
