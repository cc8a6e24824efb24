"""Read clusters and remove documents over a server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from simstore.client.documents import DocumentRequests
from simstore.client.ingest import IngestRequests
from simstore.errors import DocumentNotFound, NotFound
from simstore.model import ClusterMerge, ClusterPlace, ClustersStatus, StoredCluster
from simstore.wire import to_wire_fields

_MOST_KEYS = 1_000
_MOST_CLUSTERS, _MOST_MERGES = 100, 1_000


@dataclass(frozen=True, slots=True)
class _Removed:
    """What a request removed, and what it left behind."""

    removed: int
    orphans: tuple[str, ...] = ()
    unflagged: tuple[str, ...] = ()


class ClusterRequests(IngestRequests):
    """Groups of documents that are alike, as they were last brought up to date."""

    def kept_clusters(self, min_size: int = 2) -> Iterator[StoredCluster]:
        """Yield the kept clusters, by their names.

        They are fetched in parts, each as the store then is.

        Args:
            min_size: Leave out clusters of fewer documents.

        Raises:
            NotFound: The store keeps no clusters.
        """
        parameters = {"min_size": min_size}
        for value in self._pages("/v1/clusters", "clusters", parameters, page=_MOST_CLUSTERS):
            yield self._as(StoredCluster, value)

    def cluster_of(self, key: str) -> ClusterPlace | None:
        """Return where a document stands among the kept clusters; None where it does not.

        Raises:
            DocumentNotFound: There is no document with the key.
        """
        place = self._member(self._get("/v1/clusters/of", {"key": key}), "place")
        return None if place is None else self._as(ClusterPlace, place)

    def cluster_members(self, cluster_id: int) -> StoredCluster | None:
        """Return a kept cluster by its name; None where there is none, or none any more."""
        try:
            return self._as(StoredCluster, self._get(f"/v1/clusters/{cluster_id:d}"))
        except NotFound:
            return None

    def cluster_merges(self) -> Iterator[ClusterMerge]:
        """Yield the kept clusters that have ended, by their names."""
        for value in self._pages("/v1/clusters/merges", "merges", {}, page=_MOST_MERGES):
            yield self._as(ClusterMerge, value)

    def cluster_summary(self, *, largest: bool = False) -> ClustersStatus | None:
        """Return what there is of kept clusters; None where none are kept.

        Args:
            largest: Count the documents of the largest, too.
        """
        parameters = {"largest": "true" if largest else None}
        value = self._member(self._get("/v1/clusters/summary", parameters), "summary")
        return None if value is None else self._as(ClustersStatus, value)


class RemovalRequests(DocumentRequests):
    """Documents leave."""

    def remove(
        self,
        *keys: str,
        missing_ok: bool = False,
        on_progress: Callable[[int, int], None] | None = None,
        on_orphan: Callable[[str], None] | None = None,
        on_unflagged: Callable[[str], None] | None = None,
    ) -> int:
        """Remove documents, in requests that are durable one by one; return how many.

        Args:
            keys: Keys; a repeated one counts once.
            missing_ok: Pass over keys that are not there.
            on_progress: Called with keys done and in all.
            on_orphan: Called with each key that was skipped as a duplicate of one that is removed.
            on_unflagged: Called with each key that stays, and was flagged as a duplicate of one
                that is removed.

        Raises:
            DocumentNotFound: A key is not there; then nothing is removed.
        """
        wanted = list(dict.fromkeys(keys))
        if len(wanted) > _MOST_KEYS and not missing_ok:
            for key, seen in zip(wanted, self.seen_many(wanted), strict=True):
                if seen is None or seen.state not in ("stored", "flagged"):
                    raise DocumentNotFound(key)
        removed = 0
        for start in range(0, len(wanted), _MOST_KEYS):
            part = wanted[start : start + _MOST_KEYS]
            parameters = {**to_wire_fields([("keys", part)]), "missing_ok": missing_ok}
            told = self._as(_Removed, self._write("/v1/remove", parameters))
            removed += told.removed
            for told_to, names in ((on_orphan, told.orphans), (on_unflagged, told.unflagged)):
                if told_to is not None:
                    for name in names:
                        told_to(name)
            if on_progress is not None:
                on_progress(start + len(part), len(wanted))
        return removed
