"""The ``Client`` class: a store on a server, with the methods of a local ``Store``."""

from __future__ import annotations

from simstore.client.documents import DocumentRequests
from simstore.client.namespaces import (
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

    @property
    def clusters(self) -> RemoteClusters:
        """Clusters of near-duplicates."""
        return RemoteClusters(self)

    @property
    def duplicates(self) -> RemoteDuplicates:
        """Duplicates that ingests found."""
        return RemoteDuplicates(self)

    @property
    def filters(self) -> RemoteFilters:
        """Filters of known keys and texts."""
        return RemoteFilters(self)

    @property
    def maintenance(self) -> RemoteMaintenance:
        """Backups of a store, and its scheme."""
        return RemoteMaintenance(self)

    @property
    def rejects(self) -> RemoteRejects:
        """Records that could not be stored."""
        return RemoteRejects(self)

    @property
    def runs(self) -> RemoteRuns:
        """Recorded runs."""
        return RemoteRuns(self)

    @property
    def evaluate(self) -> RemoteEvaluate:
        """Evaluation against labels: not served."""
        return RemoteEvaluate(self)

    @property
    def fingerprints(self) -> RemoteFingerprints:
        """Fingerprints by their values: not served."""
        return RemoteFingerprints(self)

    @property
    def passages(self) -> RemotePassages:
        """The passage index: not served."""
        return RemotePassages(self)

    @property
    def tokens(self) -> RemoteTokens:
        """Tokens for the server: not served."""
        return RemoteTokens(self)

    @property
    def vocabulary(self) -> RemoteVocabulary:
        """The features of all documents: not served."""
        return RemoteVocabulary(self)

    expire = not_served("expire")
    export = not_served("export")
    report = not_served("report")
