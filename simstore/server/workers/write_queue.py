"""The write queue of a server: requests that wait at the same time are committed together.

A group is taken when the one before it is committed, not earlier: the longer a commit takes, the
more the next one holds. A second thread tidies up meanwhile.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass

from simstore.errors import (
    InvalidParameter,
    Overloaded,
    SimstoreError,
    Stopping,
    StorageError,
    Unavailable,
    counted,
)
from simstore.model import WriteReply, WriteRequest
from simstore.server.workers.store_worker import StoreWorker
from simstore.services.ingest.write_groups import Reply, Request
from simstore.services.ingest.writer import Writer
from simstore.store import Store

# What a request weighs besides its documents.
_REQUEST_BYTES = 256
# Seconds after which a refused sender is told to try again, at least and at most.
_SOONEST, _LATEST = 1.0, 30.0
# Documents a second that are expected before any was counted.
_FIRST_RATE = 500.0
# Seconds between two looks whether there is something to tidy up, and how many times as long as
# the last one took.
_TIDY_SECONDS = 5.0
_TIDY_SHARE = 10.0
# Seconds after which it is tried again where writing failed: who asks whether the server is ready
# sends it nothing else before.
_FAILED_SECONDS = 30.0
# Seconds that what ends gets at least.
_LAST_SECONDS = 1.0

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class QueueCounters:
    """Counters of a write queue since it began.

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
    """A queued request with its future, its number of documents and its size."""

    request: Request
    future: Future[WriteReply]
    documents: int
    size: int


class WriteQueue:
    """Takes requests from any thread, and commits them in their order.

    Args:
        store: Where to; it stays the caller's.
        process: Writes in place of this process; it is ended with the queue. Where it dies, what
            waits is refused, and what comes until it is back. None: none does.
        warm: Reads anew what queries go by, after a tail was packed; None: the store does.
        most_documents: Documents that may wait or be under way.
        most_bytes: Characters of them.
        most_group: Documents of a transaction; a request of more is one by itself.

    Attributes:
        counters: What it has done.
    """

    def __init__(
        self,
        store: Store,
        process: StoreWorker | None = None,
        warm: Callable[[], None] | None = None,
        *,
        most_documents: int = 20_000,
        most_bytes: int = 256 << 20,
        most_group: int = 1_000,
    ) -> None:
        if min(most_documents, most_bytes, most_group) < 1:
            raise InvalidParameter("the limits of a queue must be at least 1")
        self.counters = QueueCounters()
        self._warm = warm or store.maintenance.warm
        self._most_documents = most_documents
        self._most_bytes = most_bytes
        self._most_group = most_group
        self._stack = ExitStack()
        # None: a store of fingerprints alone, which takes no documents and says so each time.
        self._writer: Writer | None = None
        self._process: StoreWorker | None = None
        try:
            near = self._stack.enter_context(store.runs.writer())
        except InvalidParameter as error:
            self._refusal = error
            if process is not None:
                process.close()
        else:
            # It checks requests, also of a process that writes in its place.
            self._writer = near
            if process is not None:
                try:
                    process.wait_until_ready()
                except BaseException:
                    process.close()
                    self._stack.close()
                    raise
                self._process = process
        self._changed = threading.Condition()
        self._waiting: deque[QueuedRequest] = deque()
        self._pending: dict[int, QueuedRequest] = {}
        self._documents = 0
        self._size = 0
        self._is_draining = False
        self._is_over = False
        self._failure: BaseException | None = None
        self._failed_at = 0.0
        self._is_dead = False
        self._threads = [
            threading.Thread(
                target=self._guarded, args=(work, self._writer), name=name, daemon=True
            )
            for name, work in (
                ("write", self._write_on),
                ("tidy-store", self._tidy_on),
            )
        ]
        if self._writer is not None:
            for thread in self._threads:
                thread.start()

    @property
    def depth(self) -> int:
        """Documents that wait or are under way."""
        return self._documents

    @property
    def failure(self) -> BaseException | None:
        """The error for which nothing is written at present; None while writing works.

        What failed half a minute ago, as on a full disk, may succeed by now.
        """
        if self._process is not None and not self._process.is_up:
            return self._process.away()
        if not self._is_dead and time.monotonic() - self._failed_at > _FAILED_SECONDS:
            return None
        return self._failure

    def submit(self, request: Request) -> Future[WriteReply]:
        """Take a request; its future holds the reply once it is durable.

        Raises:
            Overloaded: Too much waits; nothing was taken.
            Stopping: The queue is drained.
            Unavailable: The writer has died, and may come back.
            InvalidParameter: The request holds what cannot be stored, or the store is one of
                fingerprints alone.
            NotFound: Duplicates are asked for, and the store keeps nothing to verify them by.
        """
        if self._writer is None:
            raise self._refusal
        checked = self._writer.checked(request)
        documents, size = 1, _REQUEST_BYTES
        if isinstance(checked, WriteRequest):
            documents = max(len(checked.documents), 1)
            size += sum(len(one.text) for one in checked.documents)
        waiting = QueuedRequest(checked, Future(), documents, size)
        with self._changed:
            self._check_takes()
            is_full = (
                self._documents + documents > self._most_documents
                or self._size + size > self._most_bytes
            )
            # What is too large for any queue is taken by an empty one.
            if is_full and self._documents:
                self.counters.refused += 1
                raise Overloaded(self._retry_after())
            self._documents += documents
            self._size += size
            self._pending[id(waiting)] = waiting
            self._waiting.append(waiting)
            self._changed.notify_all()
        return waiting.future

    def drain(self, timeout: float) -> bool:
        """Take nothing more, write what waits, and end.

        Args:
            timeout: Seconds; what is not written by then fails with Stopping.

        Returns:
            Whether all was written.
        """
        deadline = time.monotonic() + timeout
        with self._changed:
            self._is_draining = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._documents or self._is_dead, timeout)
            is_written = not self._documents and not self._is_dead
            self._is_over = True
            left = list(self._waiting)
            self._waiting.clear()
            self._changed.notify_all()
        self._settle(left, [Stopping() for _ in left])
        if self._process is not None:
            # It ends what it was asked last, where there is time; else it ends at once.
            ends = max(deadline - time.monotonic(), _LAST_SECONDS) if is_written else 0.0
            self._process.close(ends)
        for thread in self._threads if self._writer else ():
            thread.join(max(deadline - time.monotonic(), _LAST_SECONDS))
        if not any(thread.is_alive() for thread in self._threads):
            try:
                self._stack.close()
            except StorageError as error:
                # What was acknowledged is stored; of the run it is not recorded that it has ended.
                _log.error("the end of the run was not recorded: %s", error)
        return is_written

    def _check_takes(self) -> None:
        if self._is_draining:
            raise Stopping
        if self._is_dead:
            raise _died(self._failure or SystemExit())
        if self._process is not None and not self._process.is_up:
            raise self._process.away()

    def _retry_after(self) -> float:
        done = self.counters
        rate = done.documents / done.seconds if done.seconds > 1 else _FIRST_RATE
        return round(min(max(self._documents / max(rate, 1.0), _SOONEST), _LATEST), 1)

    # The threads

    def _guarded(self, work: Callable[[Writer], None], writer: Writer) -> None:
        """Do a thread's work; where it fails, the queue is dead, and says so."""
        try:
            work(writer)
        except BaseException as error:
            _log.exception("a thread of the write queue has died")
            with self._changed:
                self._failure, self._is_dead = error, True
                left = list(self._pending.values())
                self._waiting.clear()
                self._changed.notify_all()
            self._settle(left, [_died(error)] * len(left))

    def _write_on(self, writer: Writer) -> None:
        """Write what waits, one group after the other."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._is_ending or self._waiting)
                if self._is_ending:
                    return
                members = self._taken()
            began = time.perf_counter()
            replies: list[Reply]
            try:
                replies = self._written(writer, [one.request for one in members])
                self._failure = None
            except StorageError as error:
                _log.error(
                    "%s not written: %s",
                    _requests(members),
                    error,
                )
                self._failure, self._failed_at = error, time.monotonic()
                replies = [error] * len(members)
            except Unavailable as error:
                # Its process has died. Who waits is told, too, and may go elsewhere.
                members += self._all_waiting()
                replies = [error] * len(members)
            except Exception as error:
                # Nothing that is asked may end the writing of others.
                _log.exception("%s not written", _requests(members))
                replies = [error] * len(members)
            self.counters.groups += 1
            self.counters.seconds += time.perf_counter() - began
            self._settle(members, replies)

    def _written(self, writer: Writer, requests: list[Request]) -> list[Reply]:
        """Write requests, here or in the process; they are durable on return."""
        if self._process is None:
            return writer.write(requests)
        replies: list[Reply] = self._process.ask("write", requests)
        return replies

    def _tidied(self, writer: Writer) -> bool:
        """Tidy the store up; return whether queries are to read again what they go by."""
        if self._process is None:
            return writer.tidy()
        is_packed: bool = self._process.ask("tidy")
        return is_packed

    def _taken(self) -> list[QueuedRequest]:
        """Take requests that are committed together; the condition's lock is held."""
        members = [self._waiting.popleft()]
        documents = members[0].documents
        while self._waiting and documents + self._waiting[0].documents <= self._most_group:
            members.append(self._waiting.popleft())
            documents += members[-1].documents
        return members

    def _all_waiting(self) -> list[QueuedRequest]:
        """Take all requests that wait."""
        with self._changed:
            left = list(self._waiting)
            self._waiting.clear()
        return left

    def _tidy_on(self, writer: Writer) -> None:
        """Tidy the store up where something was written since, and after a pause."""
        pause, seen = _TIDY_SECONDS, 0
        while True:
            with self._changed:
                if self._changed.wait_for(lambda: self._is_ending, pause):
                    return
            groups = self.counters.groups
            if groups == seen:
                continue
            began = time.monotonic()
            try:
                if self._tidied(writer):
                    self._warm()
            except SimstoreError as error:
                # What is asked of the store next says so too, where it lasts.
                _log.error("the store was not tidied up: %s", error)
            except Exception:
                # It is tried again; writing goes on meanwhile.
                _log.exception("the store was not tidied up")
            seen = groups
            pause = max(_TIDY_SECONDS, _TIDY_SHARE * (time.monotonic() - began))

    @property
    def _is_ending(self) -> bool:
        return self._is_over or self._is_dead

    def _settle(self, members: Sequence[QueuedRequest], replies: Sequence[Reply]) -> None:
        """Tell the senders, and count their requests as done."""
        told = []
        with self._changed:
            for one, reply in zip(members, replies, strict=True):
                # A thread that died has told of all.
                if self._pending.pop(id(one), None) is None:
                    continue
                told.append((one, reply))
                self._documents -= one.documents
                self._size -= one.size
                self.counters.requests += 1
                if isinstance(reply, WriteReply):
                    self.counters.documents += len(reply.outcomes)
                self.counters.failed += isinstance(reply, Exception)
            self._changed.notify_all()
        for one, reply in told:
            # A sender that went away has cancelled; what was written is written.
            if not one.future.set_running_or_notify_cancel():
                continue
            if isinstance(reply, Exception):
                one.future.set_exception(reply)
            else:
                one.future.set_result(reply)


def _requests(members: Sequence[QueuedRequest]) -> str:
    return counted(len(members), "request was", "requests were")


def _died(error: BaseException) -> Unavailable:
    """Return the error for senders when the writer has died."""
    return Unavailable(f"the writer has died of {error!r}; start the server anew")
