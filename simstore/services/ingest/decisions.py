"""Decide for each document of a batch: added, updated, unchanged or duplicate.

Decided in the order of the documents, as if each were stored before the next is looked at, so that
the size of a batch never changes the outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from simstore.model import DocumentLabels, Outcome
from simstore.model.documents import PLACE_FIELDS
from simstore.services.features.prepare import PreparedBatch
from simstore.services.ingest.duplicate_checker import DuplicateChecker
from simstore.storage import documents, runs
from simstore.storage.documents import DocumentRow
from simstore.storage.engine import Connection
from simstore.storage.runs import Origin

# Above every document number: new documents come after all others, in their order.
_NEW = 1 << 62


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalDocument:
    """The final state of a document at the end of a batch.

    Attributes:
        stored: Its row before the batch; None: it is new.
        place: Its place in the batch; None: nothing of the batch changed it.
    """

    digest: bytes
    labels: DocumentLabels
    metadata: Mapping[str, Any] | None
    source_id: int | None
    position: int | None
    revision: int
    stored: DocumentRow | None
    place: int | None

    @property
    def content_changed(self) -> bool:
        """Return whether its text differs from that before the batch."""
        return self.stored is None or self.stored.digest != self.digest


@dataclass(slots=True)
class Decisions:
    """The changes to be written for a batch, gathered document by document.

    Attributes:
        seen: Origin to (key, digest) of records of a source's present content that are not what
            their document was taken from: it has other content, or the same from elsewhere.
        renewed: Keys that got a text: another than before, or their first.
        left: Documents that left, because they duplicate others by now.
        repeated: Places of records that replace what an earlier record of the same run put under
            their key: it is lost. Dated ones are versions of a document.
        screen: What a check before the insert found; None: there was none.
    """

    finals: dict[bytes, FinalDocument]
    outcomes: list[Outcome] = field(default_factory=list)
    duplicates: dict[int, bytes] = field(default_factory=dict)
    seen: dict[Origin, tuple[bytes, bytes]] = field(default_factory=dict)
    renewed: set[bytes] = field(default_factory=set)
    left: list[int] = field(default_factory=list)
    repeated: set[int] = field(default_factory=set)
    screen: DuplicateChecker | None = None


def decide(
    connection: Connection,
    batch: PreparedBatch,
    source_ids: Mapping[int, int],
    make_screen: Callable[[Mapping[bytes, DocumentRow]], DuplicateChecker] | None = None,
    *,
    now: int,
    run_id: int,
) -> Decisions:
    """Go through the documents in order and decide the outcome of each.

    A dated record is no update of a document that was seen later: sources may be read in any
    order. A record that differs in its place alone (:data:`~simstore.model.documents.PLACE_FIELDS`)
    is none either, and the document keeps the place that its text was taken from. Nor is a record
    that a later record of the same content of its source replaced before: that one follows.

    It ends before the end of the batch after a document that makes duplicates of others, as the
    screen says: those have to be dealt with before more is decided.

    Args:
        connection: A writer.
        batch: The documents; where there is a screen, no key occurs twice.
        source_ids: Source of each document by its place in the batch.
        now: When documents without a date are seen.
        run_id: The ingest run.
        make_screen: Makes a check before the insert of what is stored under their keys.
    """
    stored = documents.by_keys(connection, sorted(set(batch.keys)))
    decisions = Decisions({key: _as_stored(row) for key, row in stored.items()})
    screen = decisions.screen = make_screen(stored) if make_screen else None
    finals = decisions.finals
    holders = {
        digest: {key: document_id for document_id, key in rows}
        for digest, rows in documents.by_digests(connection, sorted(set(batch.digests))).items()
    }
    order = {key: row.document_id for key, row in stored.items()}
    seen = _seen_before(connection, batch, stored, source_ids)
    last_seen = {key: row.times.last_seen for key, row in stored.items()}
    for place, document in enumerate(batch.documents):
        if screen is not None and screen.unsettled is not None:
            break
        key, digest = batch.keys[place], batch.digests[place]
        here = (source_ids.get(place), document.position)
        labels, fields = DocumentLabels.of(document), dict(document.metadata) or None
        final = finals.get(key)
        if final is None:
            last_seen.pop(key, None)
        seen_at = now if document.seen_at is None else document.seen_at
        is_older = seen_at < last_seen.get(key, seen_at)
        last_seen[key] = max(seen_at, last_seen.get(key, seen_at))
        if final is not None:
            is_alike = (final.digest, final.labels) == (digest, labels)
            same = is_alike and _same_fields(final.metadata, fields)
            known = seen.get(place) == digest or decisions.seen.get(here) == (key, digest)
            before = (final.source_id, final.position)
            # The stored text is that of a later record of this source.
            comes_later = before[0] == here[0] and (before[1] or 0) >= (here[1] or 0)
            is_dated = document.seen_at is not None
            if same or (known and comes_later) or (is_dated and is_older):
                if None not in here and here != before and not (known or is_dated):
                    # One that is dated says itself that it is older when it comes again.
                    decisions.seen[here] = (key, digest)
                decisions.outcomes.append("unchanged")
                if screen is not None:
                    screen.moves(place)
                continue
        if final is not None and document.seen_at is None:
            is_of_run = final.stored is not None and final.stored.run_id == run_id
            if final.place is not None or is_of_run:
                decisions.repeated.add(place)
        original = None
        if final is None or final.digest != digest:
            decisions.renewed.add(key)
            original = screen.original_of(place) if screen else None
        elif screen is not None:
            screen.moves(place)
        if original is not None and screen is not None and screen.skips:
            decisions.outcomes.append("skipped")
            if final is not None:
                holders.get(final.digest, {}).pop(key, None)
                del finals[key]
                if final.stored is not None:
                    decisions.left.append(final.stored.document_id)
            continue
        if final is not None:
            # A later page of one file is not superseded by an earlier one: it comes again.
            if None not in before and not comes_later:
                decisions.seen[before] = (key, final.digest)
            holders.get(final.digest, {}).pop(key, None)
        made: Outcome = "added" if final is None else "updated"
        decisions.outcomes.append(made if original is None else "flagged")
        finals[key] = FinalDocument(
            digest=digest,
            labels=labels,
            metadata=fields,
            source_id=here[0],
            position=here[1],
            revision=1 if final is None else final.revision + 1,
            stored=None if final is None else final.stored,
            place=place,
        )
        others = holders.setdefault(digest, {})
        if others:
            decisions.duplicates[place] = min(others, key=others.__getitem__)
        others[key] = order.setdefault(key, len(order) + _NEW)
    return decisions


def _same_fields(one: Mapping[str, Any] | None, other: Mapping[str, Any] | None) -> bool:
    """Return whether metadata are the same, wherever the records stand that they are of."""
    return one == other or _of_content(one) == _of_content(other)


def _of_content(fields: Mapping[str, Any] | None) -> dict[str, Any]:
    return {name: value for name, value in (fields or {}).items() if name not in PLACE_FIELDS}


def _as_stored(row: DocumentRow) -> FinalDocument:
    return FinalDocument(
        digest=row.digest,
        labels=row.labels,
        metadata=row.metadata,
        source_id=row.source_id,
        position=row.position,
        revision=row.revision,
        stored=row,
        place=None,
    )


def _seen_before(
    connection: Connection,
    batch: PreparedBatch,
    stored: Mapping[bytes, DocumentRow],
    source_ids: Mapping[int, int],
) -> dict[int, bytes]:
    """Return the digest last seen where a document of the batch stands, by its place.

    Only for records that are not what their document was taken from.
    """
    positions: dict[int, dict[int, int]] = {}
    for place, document in enumerate(batch.documents):
        source_id = source_ids.get(place)
        if source_id is not None and document.position is not None and batch.keys[place] in stored:
            positions.setdefault(source_id, {})[document.position] = place
    seen = {}
    for source_id, places in positions.items():
        found = runs.seen_digests(connection, source_id, list(places))
        seen.update({places[position]: digest for position, digest in found.items()})
    return seen
