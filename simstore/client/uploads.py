"""Upload documents to a server in batches, split where a request would be too large."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

from simstore.client.connection import HttpConnection
from simstore.errors import InvalidParameter, TooLarge
from simstore.model import (
    NAMED_KEYS,
    Document,
    DocumentOutcome,
    IngestProgress,
    IngestSummary,
    Rejection,
    Seen,
)
from simstore.text.decoding import encode, text_digest
from simstore.wire import encoded, to_wire_fields

if TYPE_CHECKING:
    from simstore.services.ingest.ingest import Observer
    from simstore.services.ingest.options import IngestOptions
    from simstore.services.ingest.source_batches import Batch

T = TypeVar("T")
# One request; a server takes no more than 1,000 documents and 32 MiB, by default.
MOST_DOCUMENTS = 500
MOST_CHARACTERS = 4 << 20
# Where it was read concerns its source, which the server does not see.
_LEFT_OUT = frozenset(("position", "byte_offset", "end_offset", "metadata"))
_FIELDS = tuple(field.name for field in fields(Document) if field.name not in _LEFT_OUT)
COUNTS = ("added", "updated", "unchanged", "flagged", "skipped")


@dataclass(frozen=True, slots=True)
class _Stored:
    """Outcomes of the documents of a request, and of others because of them."""

    documents: tuple[DocumentOutcome, ...]
    orphans: tuple[str, ...] = ()
    unflagged: tuple[str, ...] = ()
    uncovered: tuple[str, ...] = ()


def wire_document(document: Document) -> dict[str, Any]:
    """Return a document in the JSON form of requests, without empty fields.

    Raises:
        InvalidParameter: Its metadata are no JSON values.
    """
    held = ((name, getattr(document, name)) for name in _FIELDS)
    record = to_wire_fields((name, value) for name, value in held if value not in (None, ()))
    if document.metadata:
        record["metadata"] = dict(document.metadata)
        try:
            encoded(record["metadata"])
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidParameter(
                f"the metadata of {document.key!r} are no JSON values ({error})"
            ) from None
    return record


def parts_of(documents: Iterable[Document], most: int = MOST_DOCUMENTS) -> Iterator[list[Document]]:
    """Yield documents in parts that a request takes; those before an error too.

    Args:
        documents: The documents.
        most: Most documents a part.
    """
    part: list[Document] = []
    size = 0
    try:
        for document in documents:
            part.append(document)
            size += len(document.text)
            if len(part) >= most or size >= MOST_CHARACTERS:
                yield part
                part, size = [], 0
    except Exception:
        if part:
            yield part
        raise
    if part:
        yield part


def halves(part: Sequence[T], error: TooLarge) -> tuple[Sequence[T], Sequence[T]]:
    """Split documents that are too large for one request into two halves.

    Raises:
        TooLarge: It is one alone.
    """
    if len(part) < 2:
        raise error
    middle = len(part) // 2
    return part[:middle], part[middle:]


def in_collection(documents: Iterable[Document], collection: str | None) -> Iterator[Document]:
    """Yield documents; those that name no collection are of the one that is given."""
    for one in documents:
        yield one if one.collection or collection is None else replace(one, collection=collection)


class UploadOutcome:
    """An upload in progress: the documents sent, and their outcomes."""

    def __init__(
        self,
        connection: HttpConnection,
        options: IngestOptions,
        observer: Observer,
    ) -> None:
        self._connection = connection
        parameters = {
            "on_duplicate": options.on_duplicate,
            "min_resemblance": options.min_resemblance,
            "radius": options.radius,
            "channels": ",".join(options.channels) or None,
            "short_texts": "true" if options.short_texts else None,
        }
        self._parameters = {name: value for name, value in parameters.items() if value is not None}
        self._observer = observer
        self.counts: Counter[str] = Counter()
        self._detected: Counter[str] = Counter()
        self._orphans: set[str] = set()
        self._unflagged: set[str] = set()
        self._uncovered: set[str] = set()
        # Hashes of the keys that were stored, as there may be millions.
        self._stored: set[int] = set()
        self._repeated_keys: dict[str, None] = {}

    def send(self, documents: Sequence[Document]) -> None:
        """Send documents in one request; in two, where the server says that they are too many."""
        if not documents:
            return
        for one in documents:
            self.counts["byte_count"] += len(encode(one.text))
            self.counts["markup"] += one.holds_markup
            self._note_decoding(one)
        outcomes = self._send(documents)
        for document, outcome in zip(documents, outcomes, strict=True):
            self._note_repeated(document, outcome)

    def _note_decoding(self, document: Document) -> None:
        decoding = document.decoding
        if decoding is None:
            return
        self.counts["undecodable"] += decoding.replaced_bytes > 0
        if decoding.is_detected:
            self._detected[decoding.encoding] += 1
        self._observer.on_decoding(document.key, decoding)

    def _note_repeated(self, document: Document, outcome: DocumentOutcome) -> None:
        """Count a record that takes the place of one which this run stored, as a store does."""
        if outcome.outcome == "unchanged":
            return
        name = hash(outcome.key)
        if name in self._stored and document.seen_at is None:
            self.counts["repeated"] += 1
            if len(self._repeated_keys) < NAMED_KEYS:
                self._repeated_keys[outcome.key] = None
        if outcome.outcome == "skipped":
            self._stored.discard(name)
        else:
            self._stored.add(name)

    def _send(self, documents: Sequence[Document]) -> list[DocumentOutcome]:
        connection = self._connection
        body = {"documents": [wire_document(one) for one in documents]}
        try:
            value = connection._post("/v1/documents", body, self._parameters)
        except TooLarge as error:
            return [one for half in halves(documents, error) for one in self._send(half)]
        told = connection._as(_Stored, value)
        for outcome in told.documents:
            self.counts[outcome.outcome] += 1
            self._observer.on_document(outcome.key, outcome.outcome)
            self._note(outcome)
        # A key that comes again is removed from the three sets.
        again = {outcome.key for outcome in told.documents}
        self._orphans = (self._orphans - again).union(told.orphans)
        self._unflagged = (self._unflagged - again).union(told.unflagged)
        self._uncovered = (self._uncovered - again).union(told.uncovered)
        return list(told.documents)

    def _note(self, outcome: DocumentOutcome) -> None:
        if outcome.same_text_as is not None:
            self.counts["identical_texts"] += 1
            self._observer.on_duplicate(outcome.key, outcome.same_text_as)
        if outcome.duplicate is not None:
            self._observer.on_found(outcome.duplicate)
        for one in outcome.displaced:
            self.counts["displaced"] += 1
            self._observer.on_displaced(one)

    def take(self, batch: Batch, collection: str | None) -> None:
        """Send the documents of a batch of sources, and tell of its other records."""
        replaced = self._replaced_as_before(batch)
        for document in (batch.documents[place] for place in sorted(replaced)):
            self.counts["unchanged"] += 1
            self.counts["byte_count"] += len(encode(document.text))
            self._observer.on_document(document.key, "unchanged")
        left = (one for place, one in enumerate(batch.documents) if place not in replaced)
        for part in parts_of(in_collection(left, collection)):
            self.send(part)
        self.reject(batch.rejections)
        self.counts["passed_over"] += len(batch.passed_over)
        for one in batch.passed_over:
            self._observer.on_pass_over(one)

    def _replaced_as_before(self, batch: Batch) -> set[int]:
        """Return the places of records that a later one of their source replaces again.

        A store knows from its sources that nothing changes; a server is asked for the later text.
        """
        documents, owners = batch.documents, batch.owners
        last = {one.key: place for place, one in enumerate(documents)}
        places = [
            place
            for place, one in enumerate(documents)
            if place != last[one.key]
            and owners[place] == owners[last[one.key]]
            and one.seen_at is None
        ]
        keys = list(dict.fromkeys(documents[place].key for place in places))
        if not keys:
            return set()
        connection = self._connection
        value = connection._post("/v1/seen", to_wire_fields([("keys", keys)]))
        seen = connection._as(list[Seen | None], connection._member(value, "seen"))
        held = {one.key: one.digest for one in seen if one and one.state in ("stored", "flagged")}
        return {
            place
            for place in places
            if held.get(key := documents[place].key)
            == text_digest(encode(documents[last[key]].text)).hex()
        }

    def reject(self, rejections: list[Rejection]) -> None:
        """Count records that cannot be used, and tell of them."""
        for one in rejections:
            self.counts["rejected"] += 1
            self._observer.on_reject(one)

    def tell(self, source: str, byte_count: int, total_bytes: int | None) -> None:
        """Tell how far it is."""
        documents = sum(self.counts[name] for name in COUNTS)
        self._observer.on_progress(
            IngestProgress(source, byte_count, total_bytes, documents, self.counts["rejected"])
        )

    def should_stop(self) -> bool:
        """Return whether the observer wants no more."""
        return self._observer.should_stop()

    def summary(self) -> IngestSummary:
        """Return what was done."""
        known = {field.name for field in fields(IngestSummary)}
        counts: dict[str, Any] = {name: self.counts[name] for name in self.counts if name in known}
        return IngestSummary(
            **counts,
            detected=dict(self._detected),
            orphaned=len(self._orphans),
            uncovered=len(self._uncovered),
            unflagged=len(self._unflagged),
            repeated_keys=tuple(self._repeated_keys),
        )
