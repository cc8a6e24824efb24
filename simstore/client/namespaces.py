"""Namespaces of a client: the parts of a store's methods that a server serves."""

from __future__ import annotations

import builtins
import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from simstore.client.connection import document_path
from simstore.errors import BadReply, NotFound, NotServed
from simstore.model import (
    ClusterMerge,
    ClusterPlace,
    ClustersStatus,
    Duplicate,
    StoredCluster,
    StoredRejection,
    Story,
)

if TYPE_CHECKING:
    from simstore.client.connection import Connection
    from simstore.known_filter import KnownFilter

_MOST_CLUSTERS, _MOST_MERGES = 100, 1_000
_MOST_DUPLICATES = 1_000
_MOST_REJECTS = 10_000


class RemoteNamespace:
    """Methods of a store, asked of a server."""

    # What a store has here, and a server does not serve.
    not_served: tuple[str, ...] = ()

    def __init__(self, name: str, client: Connection) -> None:
        """Use a client's connection."""
        self._name = name
        self._client = client

    def __getattr__(self, name: str) -> Any:
        if name in self.not_served:
            raise NotServed(f"{self._name}.{name}")
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")


class RemoteClusters(RemoteNamespace):
    """Clusters of near-duplicates, as they were last brought up to date."""

    not_served = ("build", "drop", "once")

    def list(self, min_size: int = 2) -> Iterator[StoredCluster]:
        """Yield the kept clusters, by their names.

        They are fetched in parts, each as the store then is.

        Args:
            min_size: Leave out clusters of fewer documents.

        Raises:
            NotFound: The store keeps no clusters.
        """
        parameters = {"min_size": min_size}
        for value in self._client._pages(
            "/v1/clusters", "clusters", parameters, page=_MOST_CLUSTERS
        ):
            yield self._client._as(StoredCluster, value)

    def of(self, key: str) -> ClusterPlace | None:
        """Return where a document stands among the kept clusters; None where it does not.

        Raises:
            DocumentNotFound: There is no document with the key.
        """
        place = self._client._member(self._client._get("/v1/clusters/of", {"key": key}), "place")
        return None if place is None else self._client._as(ClusterPlace, place)

    def members(self, cluster_id: int) -> StoredCluster | None:
        """Return a kept cluster by its name; None where there is none, or none any more."""
        try:
            return self._client._as(
                StoredCluster, self._client._get(f"/v1/clusters/{cluster_id:d}")
            )
        except NotFound:
            return None

    def merges(self) -> Iterator[ClusterMerge]:
        """Yield the kept clusters that have ended, by their names."""
        for value in self._client._pages("/v1/clusters/merges", "merges", {}, page=_MOST_MERGES):
            yield self._client._as(ClusterMerge, value)

    def status(self, *, largest: bool = False) -> ClustersStatus | None:
        """Return what there is of kept clusters; None where none are kept.

        Args:
            largest: Count the documents of the largest, too.
        """
        parameters = {"largest": "true" if largest else None}
        value = self._client._member(
            self._client._get("/v1/clusters/summary", parameters), "summary"
        )
        return None if value is None else self._client._as(ClustersStatus, value)


class RemoteDuplicates(RemoteNamespace):
    """Duplicates that ingests found."""

    not_served = ("of",)

    def list(self, *, state: str | None = None, original: str | None = None) -> Iterator[Duplicate]:
        """Yield what checks before the insert found to be duplicates, by their keys.

        They are fetched in parts, each as the store then is.
        """
        parameters = {"state": state, "original": original}
        for value in self._client._pages(
            "/v1/duplicates", "duplicates", parameters, page=_MOST_DUPLICATES
        ):
            yield self._client._as(Duplicate, value)

    def orphans(self) -> Iterator[Duplicate]:
        """Yield the keys that were skipped because of documents which have gone or changed."""
        return self.list(state="orphaned")

    def story(self, key: str, *, original: str = "first-seen") -> Story:
        """Return when a key was seen, what is like it, and which of them is the original.

        As :meth:`simstore.Store.duplicates.story`.
        """
        return self._client._as(
            Story, self._client._get(document_path(key), {"story": "true", "original": original})
        )


class RemoteFilters(RemoteNamespace):
    """Filters of known keys and texts."""

    not_served = ("known_count", "known_mark")

    def known(
        self,
        *,
        false_positive_rate: float = 0.001,
        of: Sequence[str] = ("keys", "digests"),
        capacity: int | None = None,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> KnownFilter:
        """Return a filter of the keys and the texts that the store knows, for a crawler.

        Args:
            false_positive_rate: Largest share of strangers that are taken for known.
            of: ``keys``, ``digests`` (of texts) or both.
            capacity: Keys, and as many texts, that it has room for; None: a quarter more.
            on_progress: Called once, at the end, with members.

        Raises:
            InvalidParameter: A parameter is out of its range.
        """
        from simstore.known_filter import KnownFilter

        data = self._client._ask(
            "GET",
            "/v1/filter",
            {"false_positive_rate": false_positive_rate, "of": list(of), "capacity": capacity},
        )
        try:
            found = KnownFilter.from_bytes(data)
        except ValueError as error:
            raise BadReply(self._client._url, str(error)) from None
        if on_progress is not None:
            count = sum(len(found.table(kind)) for kind in found.of)
            on_progress(count, count)
        return found


class RemoteMaintenance(RemoteNamespace):
    """What a server tells of its store."""

    not_served = (
        "abort_reindex",
        "check_options",
        "compact",
        "fsck",
        "import_deduped",
        "pack",
        "path",
        "quick_stats",
        "reindex",
        "stats_over_time",
        "unpack",
        "warm",
    )

    def backup(
        self,
        target: str | os.PathLike[str],
        *,
        replace: bool = False,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> int:
        """Fetch a checked copy of the store; return its size in bytes.

        The file appears when all of it came and its digest is right. The token is an admin's.

        Args:
            target: The copy.
            replace: Put it in the place of a file that is there.
            on_progress: Called with bytes that came, and bytes in all.
        """
        return self._client._save("/v1/backup", target, replace=replace, on_progress=on_progress)

    def scheme(self) -> dict[str, Any]:
        """Return the scheme's name, version, bits and options."""
        return self._client._as(dict[str, Any], self._client._get("/v1/scheme"))


class RemoteRejects(RemoteNamespace):
    """Records that could not be stored."""

    not_served = ("clear", "retry")

    def list(
        self, reject_id: int | None = None, *, limit: int | None = None
    ) -> builtins.list[StoredRejection]:
        """Return the records that could not be stored, or the one with this number."""
        parameters: dict[str, Any] = {}
        if reject_id is not None:
            parameters, limit = {"after": max(reject_id - 1, 0)}, 1
        pages = self._client._pages(
            "/v1/rejects", "rejects", parameters, page=_MOST_REJECTS, limit=limit
        )
        found = [self._client._as(StoredRejection, value) for value in pages]
        return [one for one in found if reject_id in (None, one.reject_id)]


class RemoteRuns(RemoteNamespace):
    """Recorded runs."""

    not_served = ("query", "writer")

    def ingest(self, limit: int = 20) -> builtins.list[dict[str, Any]]:
        """Return the latest runs that stored or removed documents, the newest first.

        One is the server's own: what it was asked to store and to remove.
        """
        value = self._client._get("/v1/runs", {"limit": limit})
        return self._client._as(builtins.list[dict[str, Any]], self._client._member(value, "runs"))
