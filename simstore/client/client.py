"""The client: what the command line and users hold in place of a store."""

from __future__ import annotations

from simstore.client.clusters import ClusterRequests, RemovalRequests
from simstore.client.query import QueryRequests


class Client(QueryRequests, ClusterRequests, RemovalRequests):
    """A store on a server, with the methods of :class:`simstore.Store` that a server serves.

    Parameters, replies and errors are the same. What is only about a store itself (threads,
    transactions, refreshes) has no parameter here: the server sees to it. Threads may share a
    client.
    """
