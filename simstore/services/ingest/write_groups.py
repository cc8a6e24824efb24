"""Prepare groups of write requests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from simstore.errors import InvalidParameter
from simstore.model import DocumentOutcome, RemoveRequest, WriteReply, WriteRequest
from simstore.services.features.prepare import PreparedBatch, prepare
from simstore.services.ingest.batches import BatchOutcome
from simstore.services.ingest.duplicate_checker import DuplicateRule, check_in
from simstore.services.open_store.state import State
from simstore.sources.documents import accept
from simstore.text.decoding import encode, exact_text

Request = WriteRequest | RemoveRequest
Reply = WriteReply | Exception


@dataclass(frozen=True, slots=True)
class StoringPart:
    """Consecutive write requests of a group with the same treatment of duplicates.

    Attributes:
        spans: Place of each request in the group to its documents in the batch, as [start, end).
        batch: Their documents, prepared together.
        state: With what they were prepared.
        check: What is done with duplicates; None: nothing is looked for.
    """

    spans: dict[int, tuple[int, int]]
    batch: PreparedBatch
    state: State
    check: DuplicateRule | None


@dataclass(frozen=True, slots=True)
class RemovingPart:
    """A request to remove, with its place in the group."""

    place: int
    request: RemoveRequest


@dataclass(frozen=True, slots=True)
class PreparedGroup:
    """Requests with all data that can be computed without the database."""

    requests: tuple[Request, ...]
    parts: tuple[StoringPart | RemovingPart, ...]


def checked(request: Request, state: State) -> Request:
    """Return a request with its documents as they will be stored.

    Raises:
        InvalidParameter: It holds what cannot be stored, or an option is out of its range.
        NotFound: Duplicates are asked for, and the store keeps nothing to verify them by.
    """
    if isinstance(request, RemoveRequest):
        for key in request.keys:
            encode(key)
        return request
    check = _check_of(request, state)
    if check is not None:
        check.measure(state)
    documents = tuple(map(accept, request.documents))
    if not all(one.key for one in documents):
        raise InvalidParameter("a document has an empty key; give each its own key")
    return replace(request, documents=documents)


def prepared_group(requests: Sequence[Request], state: State) -> PreparedGroup:
    """Prepare, outside a transaction, requests that will be committed together.

    Raises:
        InvalidParameter: One of them holds what cannot be stored; :func:`checked` tells which.
    """
    parts: list[StoringPart | RemovingPart] = []
    alike: dict[int, WriteRequest] = {}
    for place, request in enumerate(requests):
        if isinstance(request, RemoveRequest):
            parts += _storing(alike, state)
            parts.append(RemovingPart(place, request))
            alike = {}
        else:
            if alike and _wish(request) != _wish(next(iter(alike.values()))):
                parts += _storing(alike, state)
                alike = {}
            alike[place] = request
    parts += _storing(alike, state)
    return PreparedGroup(tuple(requests), tuple(parts))


def outcomes_of(batch: PreparedBatch, outcome: BatchOutcome) -> Iterable[DocumentOutcome]:
    """Yield the outcome of each document of a batch, in their order."""
    same = outcome.duplicates
    for place, document in enumerate(batch.documents):
        yield DocumentOutcome(
            document.key,
            outcome.outcomes[place],
            outcome.found.get(place),
            exact_text(same[place]) if place in same else None,
            outcome.displaced.get(place, ()),
        )


def keys_told(keys: Iterable[bytes]) -> tuple[str, ...]:
    """Return keys in ascending order, as text for a reply."""
    return tuple(exact_text(key) for key in sorted(keys))


def _storing(alike: dict[int, WriteRequest], state: State) -> list[StoringPart]:
    if not alike:
        return []
    spans = {}
    end = 0
    for place, request in alike.items():
        spans[place] = end, end + len(request.documents)
        end += len(request.documents)
    # A program may come here past `checked`; of what was accepted it changes and copies nothing.
    documents = [accept(one) for request in alike.values() for one in request.documents]
    batch = prepare(documents, state)
    return [StoringPart(spans, batch, state, _check_of(next(iter(alike.values())), state))]


def _wish(request: WriteRequest) -> tuple[object, ...]:
    return (
        request.on_duplicate,
        request.min_resemblance,
        request.radius,
        request.channels,
        request.short_texts,
    )


def _check_of(request: WriteRequest, state: State) -> DuplicateRule | None:
    return check_in(
        state.settings,
        request.on_duplicate,
        request.min_resemblance,
        request.radius,
        request.channels,
        short_texts=request.short_texts,
    )
