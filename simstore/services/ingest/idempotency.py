"""Requests that their senders named: each is done once, and answered as often as it comes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from simstore.errors import IdempotencyConflict
from simstore.model import DocumentOutcome, Duplicate, WriteReply
from simstore.services.ingest.write_groups import Reply, Request
from simstore.storage import idempotency
from simstore.storage.engine import Connection

# How long the reply to a named request is kept.
KEPT_SECONDS = 86_400


def repeats_a_name(requests: Sequence[Request]) -> bool:
    """Return whether two requests have one name: what becomes of the first decides of the other."""
    names = [(n.owner, n.key) for one in requests if (n := one.idempotency) is not None]
    return len(set(names)) < len(names)


def answered_before(
    connection: Connection, requests: Sequence[Request], now: int
) -> dict[int, Reply]:
    """Return the replies, by places, of requests that came before, or have another's name.

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
        found = idempotency.recorded(connection, name.owner, name.key, now - KEPT_SECONDS)
        if found is not None:
            same = found.digest == name.digest
            replies[place] = unpacked(found.reply) if same else IdempotencyConflict(name.key)
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
        (name.owner, name.key, name.digest, packed(reply), now)
        for place, reply in made.items()
        if (name := requests[place].idempotency) is not None and isinstance(reply, WriteReply)
    ]
    if rows:
        idempotency.record_many(connection, rows)


def packed(reply: WriteReply) -> bytes:
    """Return a reply as it is kept."""
    outcomes = [
        [one.key, one.outcome, None if one.duplicate is None else asdict(one.duplicate),
         one.same_text_as, [asdict(other) for other in one.displaced]]
        for one in reply.outcomes
    ]  # fmt: skip
    told = [reply.removed, outcomes, reply.orphans, reply.unflagged]
    return json.dumps(told).encode("ascii")


def unpacked(data: bytes) -> WriteReply:
    """Return a reply that was kept, as one that comes again."""
    removed, outcomes, orphans, unflagged = json.loads(data)
    told = tuple(
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
    return WriteReply(told, removed, True, tuple(orphans), tuple(unflagged))
