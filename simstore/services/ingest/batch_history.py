"""Compute the times, versions and links that a batch of documents adds to the history.

Computed record by record in their order, so that the size of a batch changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from simstore.model import Document
from simstore.services.features.prepare import PreparedBatch
from simstore.services.ingest.decisions import Decisions
from simstore.services.open_store.open_store import Snapshot
from simstore.sources.seen_since import first_sight
from simstore.storage import documents, duplicates, history
from simstore.storage.documents import Times
from simstore.storage.duplicates import DuplicateRow
from simstore.storage.engine import Connection
from simstore.storage.history import SnapshotRow
from simstore.text.decoding import encode


@dataclass(slots=True)
class KeyHistory:
    """The times, versions and links of a key after the records of a batch.

    Attributes:
        digest: Of its present text.
        times: When it was seen.
        revision: Its present revision.
        moved: It was first seen at another time than was known before the batch.
        snapshots: Versions that the batch replaced, in their order.
        links: Keys that it links to, besides those that are stored.
        links_replaced: Those that are stored are of another text.
    """

    digest: bytes
    times: Times
    revision: int
    moved: bool = False
    snapshots: list[SnapshotRow] = field(default_factory=list)
    links: set[bytes] = field(default_factory=set)
    links_replaced: bool = False

    def see(self, document: Document, digest: bytes, now: int, *, is_written: bool) -> None:
        """Add a record of the key.

        Args:
            document: The record.
            digest: Digest of its text.
            now: The time, for a record without a date.
            is_written: The document is updated by it.
        """
        times = self.times
        # A clock that was set back saw nothing earlier.
        seen_at = max(now, times.last_seen) if document.seen_at is None else document.seen_at
        version_seen = times.version_seen
        if digest == self.digest:
            # If there were other versions, what was seen before this one was one of them.
            if self.revision == 1:
                version_seen = min(version_seen, seen_at)
            self.links.update(map(encode, document.links))
        elif is_written:
            self.snapshots.append(
                SnapshotRow(self.revision, self.digest, version_seen, times.last_seen)
            )
            self.digest, version_seen = digest, seen_at
            self.links, self.links_replaced = set(map(encode, document.links)), True
        known = times.first_seen, times.basis, times.last_seen
        first_seen, basis = first_sight(document, now, known, None)
        self.moved = self.moved or first_seen != times.first_seen
        last_seen = max(times.last_seen, seen_at)
        self.times = Times(first_seen, basis, last_seen, version_seen)
        self.revision += is_written


def known_duplicates(snapshot: Snapshot, decisions: Decisions) -> Mapping[bytes, DuplicateRow]:
    """Return the stored duplicate records of keys: at least of all that get a text.

    To be called before what they duplicated is forgotten.

    Args:
        snapshot: The store in the writer's transaction.
        decisions: What becomes of the documents of a batch.
    """
    if decisions.screen is not None:
        return decisions.screen.known
    if decisions.renewed and snapshot.settings.has_duplicates:
        return duplicates.by_keys(snapshot.connection, sorted(decisions.renewed))
    return {}


def first_sights(known: Mapping[bytes, DuplicateRow]) -> dict[bytes, int]:
    """Return the first-seen times of keys that were skipped as duplicates, not stored."""
    return {key: row.first_seen for key, row in known.items() if row.state != "flagged"}


def tell(
    batch: PreparedBatch, decisions: Decisions, now: int, first_seen: Mapping[bytes, int]
) -> dict[bytes, KeyHistory]:
    """Return the history of each key of a batch after its records.

    Args:
        batch: The documents.
        decisions: What becomes of each.
        now: The time, for records without a date.
        first_seen: Since when keys are known that were skipped before.
    """
    fresh = Times(now, "ingest", now, now)
    known: dict[bytes, KeyHistory] = {}
    dropped: set[bytes] = set()
    for place, document in enumerate(batch.documents):
        key, digest, outcome = batch.keys[place], batch.digests[place], decisions.outcomes[place]
        if outcome == "skipped":
            # Nothing is stored for it; what was stored leaves.
            known.pop(key, None)
            dropped.add(key)
            continue
        one = known.get(key)
        if one is None:
            stored = None if key in dropped else decisions.finals[key].stored
            if stored is None:
                known[key] = _first(document, digest, fresh, first_seen.get(key))
                continue
            one = known[key] = KeyHistory(stored.digest, stored.times, stored.revision)
        one.see(document, digest, now, is_written=outcome != "unchanged")
    return known


def write(
    connection: Connection, histories: Mapping[bytes, KeyHistory], ids: Mapping[bytes, int]
) -> None:
    """Write earlier versions and links.

    Args:
        connection: A writer.
        histories: What is known of each key.
        ids: Document number of each.
    """
    versions = {ids[key]: one.snapshots for key, one in histories.items() if one.snapshots}
    if versions:
        history.put_snapshots(connection, versions)
    history.drop_links(
        connection, [ids[key] for key, one in histories.items() if one.links_replaced]
    )
    links = {ids[key]: one.links for key, one in histories.items() if one.links}
    if links:
        history.add_links(connection, links)


def see_again(connection: Connection, sights: Iterable[tuple[bytes, int]]) -> None:
    """Note that documents were seen again with the text they have.

    Args:
        connection: A writer.
        sights: Keys, and when each was seen; those of no document are passed over.
    """
    latest: dict[bytes, int] = {}
    for key, seen_at in sights:
        latest[key] = max(seen_at, latest.get(key, seen_at))
    rows = documents.by_keys(connection, sorted(latest))
    times = {
        row.document_id: replace(row.times, last_seen=latest[key])
        for key, row in rows.items()
        if latest[key] > row.times.last_seen
    }
    history.put_times(connection, times)


def first_times(document: Document, now: int) -> Times:
    """Return when a document was seen of which nothing is known.

    Args:
        document: Its record.
        now: The time, for a record without a date.
    """
    return _first(document, b"", Times(now, "ingest", now, now)).times


def _first(
    document: Document, digest: bytes, fresh: Times, earlier: int | None = None
) -> KeyHistory:
    """Return the history of a document that was not stored before.

    Args:
        document: Its record.
        digest: Digest of its text.
        fresh: Times of what was seen now, without a date.
        earlier: Since when its key is known, as one that was skipped; who said so is not known.
    """
    now = fresh.last_seen
    seen_at = now if document.seen_at is None else document.seen_at
    first_seen, basis = first_sight(document, now, None, earlier)
    times = Times(first_seen, basis, seen_at, seen_at)
    return KeyHistory(digest, times, 1, links=set(map(encode, document.links)))
