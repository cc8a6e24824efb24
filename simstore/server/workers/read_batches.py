"""Batch single queries: queries that wait at the same time are answered together.

A batch of samples is counted, sketched and looked up at once, in one snapshot: the fixed cost of a
query is shared by all of them. Nobody waits for a batch to fill: a thread that is free takes what
is there.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace

from simstore.errors import InvalidParameter, Overloaded, Stopping, Unavailable
from simstore.model import Document, QueryOptions, QueryRun

# Samples of a batch: the first of them waits for the last.
_MOST_TOGETHER = 64
# Characters of them; of longer ones fewer are answered together.
_MOST_CHARACTERS = 1 << 20
_RETRY_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class _Asked:
    sample: Document
    options: QueryOptions
    future: Future[QueryRun]


class QueryBatcher:
    """Answers samples in batches; any thread may submit them.

    Args:
        ask: Answers some of them in one snapshot.
        threads: How many batches are answered at once.
        most_waiting: Samples that may wait.
    """

    def __init__(
        self,
        ask: Callable[[Sequence[Document], QueryOptions], QueryRun],
        *,
        threads: int = 1,
        most_waiting: int = 2_000,
    ) -> None:
        if min(threads, most_waiting) < 1:
            raise InvalidParameter("threads and samples that wait must be at least 1")
        self._ask = ask
        self._most_waiting = most_waiting
        self._changed = threading.Condition()
        self._waiting: deque[_Asked] = deque()
        self._is_closed = False
        self._threads = [
            threading.Thread(target=self._answer_on, name=f"query-{number}", daemon=True)
            for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, sample: Document, options: QueryOptions) -> Future[QueryRun]:
        """Take a sample; its future holds what :meth:`simstore.Store.query_many` says of it alone.

        Raises:
            Overloaded: Too many wait.
            Stopping: It is closed.
        """
        question = _Asked(sample, options, Future())
        with self._changed:
            if self._is_closed:
                raise Stopping
            if len(self._waiting) >= self._most_waiting:
                raise Overloaded(_RETRY_SECONDS)
            self._waiting.append(question)
            self._changed.notify()
        return question.future

    def close(self, seconds: float | None = None) -> bool:
        """Answer what waits, and end.

        Args:
            seconds: How long it may take; None: as long as it takes.

        Returns:
            Whether all was answered.
        """
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        ends = None if seconds is None else time.monotonic() + seconds
        for thread in self._threads:
            thread.join(None if ends is None else max(ends - time.monotonic(), 0.0))
        return not any(thread.is_alive() for thread in self._threads)

    def _answer_on(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._is_closed or self._waiting)
                if not self._waiting:
                    return
                batch = self._taken()
            self._answer([one for one in batch if one.future.set_running_or_notify_cancel()])

    def _taken(self) -> list[_Asked]:
        """Take samples that are asked for in the same way; the condition's lock is held."""
        first = self._waiting.popleft()
        batch, others = [first], []
        size = len(first.sample.text)
        while self._waiting and len(batch) < _MOST_TOGETHER and size < _MOST_CHARACTERS:
            one = self._waiting.popleft()
            if one.options == first.options:
                batch.append(one)
                size += len(one.sample.text)
            else:
                others.append(one)
        self._waiting.extendleft(reversed(others))
        return batch

    def _answer(self, batch: list[_Asked]) -> None:
        if not batch:
            return
        try:
            run = self._ask([one.sample for one in batch], batch[0].options)
        except Unavailable as error:
            # One of them may be what the process died of: nobody is asked it again.
            for one in batch:
                one.future.set_exception(error)
            return
        except Exception as error:
            if len(batch) == 1:
                batch[0].future.set_exception(error)
            else:
                # Only what cannot be answered fails.
                for one in batch:
                    self._answer([one])
            return
        for one, result in zip(batch, run.samples, strict=True):
            one.future.set_result(replace(run, samples=(result,)))
