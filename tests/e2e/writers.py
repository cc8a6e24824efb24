"""Threads that write documents to a server for as long as a test wants."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager

from forked import PATIENCE_SECONDS

BATCH = 5


class Writers:
    """Threads that write batches of documents, each as fast as the server takes them.

    Args:
        count: How many threads.
        opened: Makes what writes the documents of keys, for one thread; it raises what it could
            not write.

    Attributes:
        sent: Keys that were sent.
        acknowledged: Keys that were acknowledged.
        failed: What was raised; a thread ends with it.
    """

    def __init__(
        self, count: int, opened: Callable[[], AbstractContextManager[Callable[[list[str]], None]]]
    ) -> None:
        self.sent: set[str] = set()
        self.acknowledged: set[str] = set()
        self.failed: list[Exception] = []
        self._opened = opened
        self._stop = threading.Event()
        self._changed = threading.Condition()
        self._threads = [threading.Thread(target=self._write, args=(n,)) for n in range(count)]

    def __enter__(self) -> Writers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End the threads; what they have sent is acknowledged then, or has failed."""
        self._stop.set()
        for thread in self._threads:
            thread.join(PATIENCE_SECONDS)
            assert not thread.is_alive(), "a request has no end"

    def wait_for(self, more: int) -> set[str]:
        """Return the keys that are acknowledged once they are so many more."""
        with self._changed:
            wanted = len(self.acknowledged) + more
            self._changed.wait_for(
                lambda: len(self.acknowledged) >= wanted or self.failed, PATIENCE_SECONDS
            )
            assert not self.failed, self.failed
            assert len(self.acknowledged) >= wanted, "the server took too few documents"
            return set(self.acknowledged)

    def _write(self, writer: int) -> None:
        number = 0
        with self._opened() as write:
            while not self._stop.is_set():
                keys = [f"{writer}/{number + n}" for n in range(BATCH)]
                number += BATCH
                with self._changed:
                    self.sent.update(keys)
                try:
                    write(keys)
                except Exception as error:
                    with self._changed:
                        self.failed.append(error)
                        self._changed.notify_all()
                    return
                with self._changed:
                    self.acknowledged.update(keys)
                    self._changed.notify_all()
