"""Prepare groups of write requests, and record their replies by idempotency key.

A request may have a name, its idempotency key: it is done once, and answered as often as it comes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from simstore.errors import IdempotencyConflict, InvalidParameter
from simstore.model import DocumentOutcome, Duplicate, RemoveRequest, WriteReply, WriteRequest
from simstore.services.features.prepare import PreparedBatch, prepare
from simstore.services.ingest.batches import BatchOutcome
from simstore.services.ingest.duplicate_checker import DuplicateRule, check_in
from simstore.services.open_store.state import State
from simstore.sources.documents import accept
from simstore.storage import idempotency
from simstore.storage.engine import Connection
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

    def undone(self, done: set[int]) -> Iterator[dict[int, tuple[int, int]]]:
        """Yield the spans of requests that are not done, those together that follow each other."""
        held: dict[int, tuple[int, int]] = {}
        for place, span in self.spans.items():
            if place not in done:
                held[place] = span
            elif held:
                yield held
                held = {}
        if held:
            yield held


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


def repeats_a_name(requests: Sequence[Request]) -> bool:
    """Return whether two requests share a name: the outcome of the first decides the other."""
    names = [(n.owner, n.key) for one in requests if (n := one.idempotency) is not None]
    return len(set(names)) < len(names)


def answered_before(
    connection: Connection, requests: Sequence[Request], now: int
) -> dict[int, Reply]:
    """Return the replies, by places, of requests that came before or reuse another's name.

    Args:
        connection: A writer.
        requests: The requests; no two of them have one name.
        now: The time.
    """
    replies: dict[int, Reply] = {}
    for place, request in enumerate(requests):
        name = request.idempotency
        if name is None:
            continue
        found = idempotency.recorded(
            connection, name.owner, name.key, now - idempotency.KEPT_SECONDS
        )
        if found is not None:
            same = found.digest == name.digest
            replies[place] = unpacked_reply(found.reply) if same else IdempotencyConflict(name.key)
    return replies


def record_replies(
    connection: Connection, requests: Sequence[Request], made: Mapping[int, Reply], now: int
) -> None:
    """Keep the replies to named requests; what failed may be asked again.

    Args:
        connection: The writer that has done them.
        requests: The group.
        made: The replies by their places.
        now: The time.
    """
    rows = [
        (name.owner, name.key, name.digest, packed_reply(reply), now)
        for place, reply in made.items()
        if (name := requests[place].idempotency) is not None and isinstance(reply, WriteReply)
    ]
    if rows:
        idempotency.record_many(connection, rows)


def packed_reply(reply: WriteReply) -> bytes:
    """Encode a reply for storage."""
    outcomes = [
        [one.key, one.outcome, None if one.duplicate is None else asdict(one.duplicate),
         one.same_text_as, [asdict(other) for other in one.displaced]]
        for one in reply.outcomes
    ]  # fmt: skip
    fields = [reply.removed, outcomes, reply.orphans, reply.unflagged, reply.uncovered]
    return json.dumps(fields).encode("ascii")


def unpacked_reply(data: bytes) -> WriteReply:
    """Decode a stored reply, marked as a repeated one."""
    removed, outcomes, *freed = json.loads(data)
    fields = tuple(
        DocumentOutcome(
            key,
            outcome,
            None if found is None else Duplicate(**found),
            same,
            # A release before this one kept none.
            tuple(Duplicate(**one) for some in displaced for one in some),
        )
        for key, outcome, found, same, *displaced in outcomes
    )
    return WriteReply(fields, removed, True, *map(tuple, freed))
