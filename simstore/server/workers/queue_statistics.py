"""Counters of the write queue, and the requests that wait in it."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass

from simstore.errors import Unavailable
from simstore.model import RemoveRequest, WriteReply, WriteRequest

Request = WriteRequest | RemoveRequest


@dataclass(slots=True)
class QueueCounters:
    """What a queue has done since it began.

    Attributes:
        groups: Transactions.
        requests: Requests that were answered, failed ones too.
        documents: Documents that were written, or left as they were.
        failed: Requests that failed.
        refused: Requests that found the queue full.
        seconds: Time that commits took.
    """

    groups: int = 0
    requests: int = 0
    documents: int = 0
    failed: int = 0
    refused: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class QueuedRequest:
    """A request, whom to tell, and what it weighs."""

    request: Request
    future: Future[WriteReply]
    documents: int
    size: int


def died(error: BaseException) -> Unavailable:
    """Return what senders are told when the writer has died."""
    return Unavailable(f"the writer has died of {error!r}; start the server anew")
