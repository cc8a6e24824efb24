"""The client: what the command line and users hold in place of a store."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from simstore.client.documents import DocumentRequests
from simstore.client.namespaces import (
    RemoteClusters,
    RemoteDuplicates,
    RemoteFilters,
    RemoteMaintenance,
    RemoteRejects,
    RemoteRuns,
)
from simstore.client.query import QueryRequests
from simstore.errors import NotServed

# What only a store itself has.
_NOT_SERVED = (
    "evaluate",
    "expire",
    "export",
    "fingerprints",
    "passages",
    "report",
    "tokens",
    "vocabulary",
)


class Client(QueryRequests, DocumentRequests):
    """A store on a server, with the methods of :class:`simstore.Store` that a server serves.

    >>> client = Client("http://127.0.0.1:8765")
    >>> client
    Client('http://127.0.0.1:8765')

    Parameters, replies and errors are the same. What is only about a store itself (threads,
    transactions, refreshes) has no parameter here: the server sees to it; what a server does not
    serve raises NotServed. Threads may share a client.
    """

    @cached_property
    def clusters(self) -> RemoteClusters:
        """Clusters of near-duplicates."""
        return RemoteClusters("clusters", self)

    @cached_property
    def duplicates(self) -> RemoteDuplicates:
        """Duplicates that ingests found."""
        return RemoteDuplicates("duplicates", self)

    @cached_property
    def filters(self) -> RemoteFilters:
        """Filters of known keys and texts."""
        return RemoteFilters("filters", self)

    @cached_property
    def maintenance(self) -> RemoteMaintenance:
        """What a server tells of its store."""
        return RemoteMaintenance("maintenance", self)

    @cached_property
    def rejects(self) -> RemoteRejects:
        """Records that could not be stored."""
        return RemoteRejects("rejects", self)

    @cached_property
    def runs(self) -> RemoteRuns:
        """Recorded runs."""
        return RemoteRuns("runs", self)

    def __getattr__(self, name: str) -> Any:
        if name in _NOT_SERVED:
            raise NotServed(f"store.{name}")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
