"""Read the documents that the samples of a batch found, all at once."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from simstore.services.query.simhash_channel import Linked, SimhashNeighbours
from simstore.storage import documents
from simstore.storage.damage import corrupt
from simstore.storage.engine import Connection


class KnownDocuments:
    """Documents that were found by fingerprints or sketches.

    Args:
        connection: A snapshot.
        linked: Which documents have which fingerprints in it; None: it has none.
        near: What was found by fingerprints.
        agreeing: Documents that were found by sketches.

    Attributes:
        holders: Documents with each fingerprint that was found.
        values: Fingerprint of each document that has one; of a store without fingerprints, none.
        keys: Key of each.
        sizes: Digest and number of features of each.
    """

    def __init__(
        self,
        connection: Connection,
        linked: Linked | None,
        near: Sequence[SimhashNeighbours],
        agreeing: Collection[int],
    ) -> None:
        self.holders: dict[int, list[int]] = {}
        self.values: dict[int, int] = {}
        if linked is not None:
            wanted = {value for one in near for value, _ in one.found}
            self.values = {number: value for value, number in linked.holders_of(sorted(wanted))}
            self.values |= linked.values_of(sorted(set(agreeing) - self.values.keys()))
        facts = documents.facts_of(connection, sorted({*agreeing, *self.values}))
        if not self.values.keys() <= facts.keys():
            raise corrupt(connection, "fingerprints are of documents that are not there")
        for number in facts.keys() & self.values.keys():
            self.holders.setdefault(self.values[number], []).append(number)
        self.keys = {number: key for number, (key, _, _) in facts.items()}
        self.sizes = {number: (digest, count) for number, (_, digest, count) in facts.items()}
