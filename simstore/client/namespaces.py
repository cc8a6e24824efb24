"""Namespaces of a ``Client`` (``clusters``, ``filters``, ...): store methods over HTTP."""

from __future__ import annotations

import builtins
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, Never, TypeVar, overload

from simstore.client.connection import document_path
from simstore.errors import BadReply, NotFound, NotServed
from simstore.model import (
    ClusterMerge,
    ClusterPlace,
    ClustersStatus,
    Duplicate,
    IngestRun,
    RecordedQuery,
    Results,
    RunDetails,
    SchemeFacts,
    StoredCluster,
    StoredRejection,
    StoreStatistics,
    Story,
    Stream,
    Token,
    VocabularyTerm,
)
from simstore.model.arguments import CheckedArguments
from simstore.model.clusters import ClusterSet
from simstore.model.results import Listed
from simstore.wire import to_wire

if TYPE_CHECKING:
    from simstore.client.connection import HttpConnection
    from simstore.known_filter import KnownFilter

Run = TypeVar("Run", IngestRun, RecordedQuery)

_MOST_CLUSTERS, _MOST_MERGES = 100, 1_000
_MOST_REJECTS = 10_000
_MOST_DUPLICATES = _MOST_RUNS = 1_000


def not_served(name: str) -> Callable[..., Never]:
    """Return a method that raises NotServed, whatever it is given.

    Args:
        name: Its name, as of a store.
    """

    def refuse(*_args: Any, **_keywords: Any) -> Never:
        raise NotServed(name)

    refuse.__name__ = refuse.__qualname__ = name.rpartition(".")[2]
    refuse.__doc__ = f"Raise NotServed.\n\n``store.{name}`` is done where the store is."
    return refuse


class RemoteNamespace(CheckedArguments):
    """Base class of namespaces that call a server.

    Class arguments:
        lacks: Names of methods of the store's namespace that a server does not offer.
    """

    def __init_subclass__(cls, lacks: Sequence[str] = (), **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        space = cls.__name__.removeprefix("Remote").lower()
        for name in lacks:
            setattr(cls, name, not_served(f"{space}.{name}"))

    def __init__(self, client: HttpConnection) -> None:
        """Use a client's connection."""
        self._client = client

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {self._client._url}>"

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., Never]: ...


N = TypeVar("N", bound=RemoteNamespace)


class NamespaceAttribute(Generic[N]):
    """A namespace of a client, as an attribute. Of the class it is the namespace's class."""

    def __init__(self, kind: type[N]) -> None:
        self._kind = kind

    @overload
    def __get__(self, client: None, owner: type) -> type[N]: ...
    @overload
    def __get__(self, client: HttpConnection, owner: type) -> N: ...
    def __get__(self, client: HttpConnection | None, owner: type) -> type[N] | N:
        """Return the namespace of a client."""
        return self._kind if client is None else self._kind(client)


class RemoteClusters(RemoteNamespace, ClusterSet, lacks=("build", "drop", "once")):
    """Clusters of near-duplicates, as they were last brought up to date."""

    __call__ = not_served("clusters.once")

    def __len__(self) -> int:
        found = self.status()
        return 0 if found is None else found.cluster_count

    def list(self, min_size: int = 2) -> Stream[StoredCluster]:
        """Yield the stored clusters, by ascending number.

        They are fetched in parts, each as the store then is.

        Args:
            min_size: Leave out clusters of fewer documents.

        Raises:
            NotFound: The store keeps no clusters.
        """
        parameters = {"min_size": min_size}
        pages = self._client._pages("/v1/clusters", "clusters", parameters, page=_MOST_CLUSTERS)
        return Stream((self._client._as(StoredCluster, one) for one in pages), of=StoredCluster)

    def of(self, key: str) -> ClusterPlace | None:
        """Return the stored cluster of a document.

        Raises:
            DocumentNotFound: There is no document with the key.
        """
        place = self._client._member(self._client._get("/v1/clusters/of", {"key": key}), "place")
        return None if place is None else self._client._as(ClusterPlace, place)

    def members(self, cluster_id: int) -> StoredCluster | None:
        """Return a stored cluster by its number; None where there is none."""
        try:
            return self._client._as(
                StoredCluster, self._client._get(f"/v1/clusters/{cluster_id:d}")
            )
        except NotFound:
            return None

    def merges(self) -> Stream[ClusterMerge]:
        """Yield the stored clusters that have ended, by ascending number."""
        pages = self._client._pages("/v1/clusters/merges", "merges", {}, page=_MOST_MERGES)
        return Stream((self._client._as(ClusterMerge, one) for one in pages), of=ClusterMerge)

    def status(self, *, largest: bool = False) -> ClustersStatus | None:
        """Return the status of the stored clusters; None where none are stored.

        Args:
            largest: Count the documents of the largest, too.
        """
        parameters = {"largest": "true" if largest else None}
        value = self._client._member(
            self._client._get("/v1/clusters/summary", parameters), "summary"
        )
        return None if value is None else self._client._as(ClustersStatus, value)


class RemoteDuplicates(RemoteNamespace, Listed[Duplicate], lacks=("of",)):
    """Duplicates that ingests found."""

    def __getitem__(self, key: str) -> Duplicate:
        return self.of(key)

    def __len__(self) -> int:
        found = self._client._as(StoreStatistics, self._client._get("/v1/stats"))
        skipped = found.skipped_count + found.uncovered_count + found.orphaned_count
        return found.flagged_count + skipped

    def list(self, *, state: str | None = None, original: str | None = None) -> Stream[Duplicate]:
        """Yield the duplicates that checks before the insert found.

        They are fetched in parts, each as the store then is.
        """
        parameters = {"state": state, "original": original}
        pages = self._client._pages(
            "/v1/duplicates", "duplicates", parameters, page=_MOST_DUPLICATES
        )
        return Stream((self._client._as(Duplicate, one) for one in pages), of=Duplicate)

    def story(self, key: str, *, original: str = "first-seen") -> Story:
        """Return when a key was seen, what is like it, and the original.

        As :meth:`simstore.Store.duplicates.story`.
        """
        return self._client._as(
            Story, self._client._get(document_path(key), {"story": "true", "original": original})
        )


class RemoteFilters(RemoteNamespace, lacks=("known_count", "known_mark")):
    """Filters of known keys and texts."""

    def known(
        self,
        *,
        false_positive_rate: float = 0.001,
        of: Sequence[str] = ("keys", "digests"),
        capacity: int | None = None,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> KnownFilter:
        """Return a filter of known keys and texts, for a crawler.

        Args:
            false_positive_rate: Largest share of strangers that are taken for
                known.
            of: ``keys``, ``digests`` (of texts) or both.
            capacity: Keys, and as many texts, that it has room for; None: a
                quarter more.
            on_progress: Called once, at the end, with members.

        Raises:
            InvalidParameter: A parameter is out of its range.
        """
        from simstore.known_filter import KnownFilter

        data = self._client._ask(
            "GET",
            "/v1/known-keys",
            {"false_positive_rate": false_positive_rate, "of": list(of), "capacity": capacity},
        )
        try:
            found = KnownFilter.from_bytes(data)
        except ValueError as error:
            raise BadReply(self._client._url, str(error)) from None
        if on_progress is not None:
            count = sum(found.counts.values())
            on_progress(count, count)
        return found


class RemoteMaintenance(
    RemoteNamespace,
    lacks=(
        "abort_reindex",
        "check_file",
        "check_options",
        "compact",
        "fsck",
        "import_deduped",
        "quick_stats",
        "reindex",
        "warm",
    ),
):
    """The part of ``store.maintenance`` that a server offers: backup and scheme."""

    @property
    def path(self) -> Never:
        """Raise NotServed: a server does not tell the path of its store."""
        raise NotServed("maintenance.path")

    def backup(
        self,
        target: str | os.PathLike[str],
        *,
        replace: bool = False,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> int:
        """Fetch a checked copy of the store; return its size in bytes.

        The file appears when all of it came and its digest is right. The token
        is an admin's.

        Args:
            target: The copy.
            replace: Put it in the place of a file that is there.
            on_progress: Called with bytes that came, and bytes in all.
        """
        return self._client._save("/v1/backup", target, replace=replace, on_progress=on_progress)

    def scheme(self) -> SchemeFacts:
        """Return the scheme's name, version, bits and options."""
        value = self._client._as(dict[str, Any], self._client._get("/v1/scheme"))
        return self._client._made(SchemeFacts.of_record, value)


class RemoteRejects(RemoteNamespace, Listed[StoredRejection], lacks=("clear",)):
    """Records that could not be stored."""

    _NAMED = "reject_id"

    def __len__(self) -> int:
        return self._client._as(StoreStatistics, self._client._get("/v1/stats")).reject_count

    def list(self, *, limit: int | None = None) -> Results[StoredRejection]:
        """Return the records that could not be stored, the oldest first."""
        pages = self._client._pages("/v1/rejects", "rejects", {}, page=_MOST_REJECTS, limit=limit)
        return Results(
            (self._client._as(StoredRejection, value) for value in pages), of=StoredRejection
        )


class RemoteRuns(RemoteNamespace, Listed[IngestRun], lacks=("writer",)):
    """Recorded runs; it holds the latest of ingest and removal."""

    _NAMED = "run_id"

    def _all(self) -> Results[IngestRun]:
        return self.ingest(_MOST_RUNS)

    def __len__(self) -> int:
        found = self._client._as(StoreStatistics, self._client._get("/v1/stats"))
        return min(found.ingest_run_count + found.removal_run_count, _MOST_RUNS)

    def ingest(self, limit: int = 20) -> Results[IngestRun]:
        """Return the latest runs of ingest and removal, the newest first.

        One is the server's own: what it was asked to store and to remove.
        """
        return self._recent(IngestRun, "/v1/runs", limit)

    def show(self, run_id: int) -> RunDetails:
        """Return a run of ingest or removal, with the keys that it removed."""
        found = self._client._get(f"/v1/runs/{int(run_id)}")
        run = self._client._made(IngestRun.of_record, self._client._member(found, "run"))
        return self._client._as(RunDetails, found | {"run": to_wire(run)})

    def query(self, limit: int = 20) -> Results[RecordedQuery]:
        """Return the latest query runs that are recorded, the newest first.

        Queries over the server are not.
        """
        return self._recent(RecordedQuery, "/v1/query-runs", limit)

    def _recent(self, kind: type[Run], path: str, limit: int) -> Results[Run]:
        value = self._client._member(self._client._get(path, {"limit": limit}), "runs")
        rows = self._client._as(builtins.list[dict[str, Any]], value)
        return Results((self._client._made(kind.of_record, row) for row in rows), of=kind)


class RemoteEvaluate(RemoteNamespace, lacks=("exact_pairs", "run")):
    """The methods of ``store.evaluate``, which a server does not offer."""


class RemoteFingerprints(RemoteNamespace, lacks=("add", "reader", "remove")):
    """The methods of ``store.fingerprints``, which a server does not offer."""


class RemotePassages(RemoteNamespace, lacks=("build", "status")):
    """The methods of ``store.passages``, which a server does not offer."""


class RemoteTokens(RemoteNamespace, Listed[Token], lacks=("add", "book", "list", "revoke")):
    """The methods of ``store.tokens``, which a server does not offer."""

    def __len__(self) -> Never:
        self.list()


class RemoteVocabulary(
    RemoteNamespace, Listed[VocabularyTerm], lacks=("refresh", "set_policy", "status", "terms")
):
    """The methods of ``store.vocabulary``, which a server does not offer."""

    def _all(self) -> Never:
        self.terms()
