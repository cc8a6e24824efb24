"""The ``Client`` class: a store on a server, with the methods of a local ``Store``."""

from __future__ import annotations

from simstore.client.documents import DocumentRequests
from simstore.client.namespaces import (
    NamespaceAttribute,
    RemoteClusters,
    RemoteDuplicates,
    RemoteEvaluate,
    RemoteFilters,
    RemoteFingerprints,
    RemoteMaintenance,
    RemotePassages,
    RemoteRejects,
    RemoteRuns,
    RemoteTokens,
    RemoteVocabulary,
    not_served,
)
from simstore.client.query import QueryRequests


class Client(QueryRequests, DocumentRequests):
    """A store on a server, with the methods of :class:`simstore.Store`.

    >>> client = Client("http://127.0.0.1:8765")
    >>> client
    Client('http://127.0.0.1:8765')

    Parameters, replies and errors are the same. What is only about a store
    itself (threads, transactions, refreshes) has no parameter here: the server
    sees to it; what a server does not serve raises NotServed. Threads may share
    a client.
    """

    clusters = NamespaceAttribute(RemoteClusters)
    duplicates = NamespaceAttribute(RemoteDuplicates)
    filters = NamespaceAttribute(RemoteFilters)
    maintenance = NamespaceAttribute(RemoteMaintenance)
    rejects = NamespaceAttribute(RemoteRejects)
    runs = NamespaceAttribute(RemoteRuns)
    evaluate = NamespaceAttribute(RemoteEvaluate)
    fingerprints = NamespaceAttribute(RemoteFingerprints)
    passages = NamespaceAttribute(RemotePassages)
    tokens = NamespaceAttribute(RemoteTokens)
    vocabulary = NamespaceAttribute(RemoteVocabulary)

    expire = not_served("expire")
    export = not_served("export")
    report = not_served("report")
