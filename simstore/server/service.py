"""The service behind the HTTP routes: an open store with its queues, executors and caches."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from simstore import outputs
from simstore.errors import Stopping, StorageError, Unavailable
from simstore.model import (
    CheckedPaper,
    CheckOptions,
    Document,
    MutualCheck,
    QueryOptions,
    QueryRun,
    RemoveRequest,
    WriteReply,
    WriteRequest,
)
from simstore.server.cached_value import CachedValue
from simstore.server.known_filter import FilterCache
from simstore.server.metrics import Metrics, figures_of
from simstore.server.settings import ServerSettings
from simstore.server.workers.bounded_executor import BoundedExecutor, Step
from simstore.server.workers.read_batches import QueryBatcher
from simstore.server.workers.store_worker import AwayChecker, AwayReader, StoreWorker
from simstore.server.workers.write_queue import WriteQueue
from simstore.store import Store

if TYPE_CHECKING:
    from starlette.requests import Request

    from simstore.reports.html_page import Library

_READERS = 4
_WAITING_READERS = 200
_WAITING_HEAVY = 8
# What all that runs gets to end, when the time is up.
_LAST_SECONDS = 2.0
# Seconds between two looks whether the store's file has its name.
_LOOK_SECONDS = 1.0

log = logging.getLogger("simstore")


class Service:
    """A served store with its writer and its readers.

    Attributes:
        store: The store.
        writes: The queue to the one writer.
        reader: What queries are answered by.
        queries: Answers single queries, some together.
        readers: Threads for short look-ups.
        heavy: Threads for checks, comparisons and the like.
        filters: Makes the crawler's filter.
        statistics: Counts the store.
        figures: The store's vital figures.
        copies: A thread for copies of the store.
        metrics: What ``/metrics`` tells.
        lost: Why nothing can be asked for: the store's file has lost its name; None: it has not.
        stopping: Set when the server is to stop.
    """

    store: Store
    reader: Store | AwayReader
    writes: WriteQueue
    queries: QueryBatcher
    readers: BoundedExecutor
    heavy: BoundedExecutor
    copies: BoundedExecutor

    def __init__(
        self,
        place: str | os.PathLike[str],
        settings: ServerSettings,
        writer: StoreWorker | None = None,
        readers: Sequence[StoreWorker] = (),
    ) -> None:
        """Make a service that is not open yet.

        Args:
            place: The store.
            settings: How to serve it.
            writer: A process that writes to it, which ends with the service; None: this one does.
            readers: Processes that answer queries, which end with it; none: this one does, and
                checks papers, too.
        """
        self.writer = writer
        self._reading = list(readers)
        # What is looked up by is in the memory of who answers queries, and of who writes.
        self._looks_up = not readers or writer is None
        self.place = place
        self.settings = settings
        self.metrics = Metrics()
        self.lost: str | None = None
        self._checker: AwayChecker | None = None
        self.stopping = asyncio.Event()
        self._is_open = False
        self._has_ended = True
        self._stopped_at = 0.0

    def open(self) -> None:
        """Open the store and start what works on it; nothing where that is done.

        Raises:
            StorageError: The store cannot be opened.
        """
        if self._is_open:
            return
        self.store = Store.open(self.place, resident=self._looks_up)
        if self.store.maintenance.path is not None:
            # Copies that servers left when they were killed, if they can be deleted.
            with suppress(OSError, StorageError):
                outputs.draft_beside(self.store.maintenance.path)
        try:
            self._start()
        except BaseException:
            self.store.close()
            raise
        self._is_open = True

    def _start(self) -> None:
        settings = self.settings
        self.reader = self.store
        ask: Callable[[Sequence[Document], QueryOptions], QueryRun] = self.store.query_many
        warm = self.store.maintenance.warm
        if self._reading:
            for process in self._reading:
                process.wait_until_ready()
            away = AwayReader(self._reading)
            self.reader, ask, warm = away, away.query_few, away.warm
            self._checker = AwayChecker(self.place, settings.heavy_requests)
        if self._looks_up:
            self.store.maintenance.warm()
        self.writes = WriteQueue(
            self.store,
            self.writer,
            warm,
            most_documents=settings.queue_documents,
        )
        self.queries = QueryBatcher(ask, threads=max(len(self._reading), 1))
        self.readers = BoundedExecutor("reader", _READERS, _WAITING_READERS)
        self.heavy = BoundedExecutor("heavy", settings.heavy_requests, _WAITING_HEAVY)
        self.copies = BoundedExecutor("copies", 1, 0)
        self._looking = BoundedExecutor("file", 1, 0)
        self.filters = FilterCache(self.store, BoundedExecutor("filter", 1, _WAITING_READERS))
        self.statistics = CachedValue(self.store.stats, self.heavy)
        self.figures = CachedValue(
            partial(figures_of, self.store), self.readers, settings.figures_seconds
        )

    async def watch_file(self) -> None:
        """Look, each second, whether the store's file was moved, replaced or deleted."""
        failed = False
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            try:
                self._note(await self._looking.run(self._lost))
                failed = False
            except Unavailable:
                # The last look goes on, or the server stops.
                continue
            except Exception:
                # Told once, until it can be looked at again; what was found last holds until then.
                if not failed:
                    log.exception(
                        "it cannot be told whether the store's file was moved or replaced"
                    )
                failed = True

    def _lost(self) -> str | None:
        """Return why the file of the store is not the one that is open; None: it is."""
        try:
            self.store.maintenance.check_file()
        except StorageError:
            path = self.store.maintenance.path
            if path is not None and path.exists():
                return "another file has the name of the store's file"
            return "the store's file was moved or deleted"
        return None

    def _note(self, lost: str | None) -> None:
        if lost is not None and lost != self.lost:
            log.error(
                "%s while it was open: every request is refused, and nothing is written, until it "
                "is back; restart the server to serve what is there now", lost,
            )  # fmt: skip
        elif lost is None and self.lost is not None:
            log.warning("the store's file is back: requests are answered")
        self.lost = lost

    def stop(self) -> None:
        """Begin to stop: nothing new is written from now on."""
        self._stopped_at = time.monotonic()
        self.stopping.set()

    def close(self, *others: Callable[[float], bool]) -> bool:
        """Write what waits, and close the store; nothing where that is done.

        Args:
            others: Close what else works on it, in so many seconds, and say whether it has ended.

        Returns:
            Whether nothing runs any more; a thread may, which cannot be stopped.
        """
        if not self._is_open:
            return self._has_ended
        self._is_open = False
        stopped = self._stopped_at or time.monotonic()
        ends = stopped + self.settings.notice_seconds + self.settings.drain_seconds

        def left() -> float:
            return max(ends + _LAST_SECONDS - time.monotonic(), 0.0)

        self.writes.drain(max(ends - time.monotonic(), 0.0))
        # Each, so that none of them takes anything on.
        parts = (self.queries, self.readers, self.heavy, self.copies, self.filters, self._looking)
        ended = [close(left()) for close in (*(part.close for part in parts), *others)]
        for process in self._reading:
            process.close(left())
        if self._checker is not None:
            self._checker.end()
        self._has_ended = all(ended)
        if self._has_ended:
            # While it is open: who closes it cannot tell any more which file that was.
            self.lost = self._lost()
            self.store.close()
        return self._has_ended

    @property
    def query_processes(self) -> int:
        """Return how many processes answer queries; 0: this one does, or none is up."""
        return self.reader.up if isinstance(self.reader, AwayReader) else 0

    @property
    def restarts(self) -> dict[str, int]:
        """Return how often processes were started again, by what they are called."""
        return {
            "writer": self.writer.restarts if self.writer is not None else 0,
            "reader": sum(one.restarts for one in self._reading),
        }

    def check_many(
        self, papers: Sequence[Document], options: CheckOptions, step: Step
    ) -> list[CheckedPaper]:
        """Return the result of each paper, in a thread; see :meth:`simstore.Store.check_many`.

        Args:
            papers: The papers.
            options: How to check them.
            step: Called now and then; what it raises ends the check.
        """
        if self._checker is None:
            return list(self.store.check_many(papers, options, on_step=step))
        return self._checker.check_many(papers, options, step)

    def check_mutual(
        self, papers: Sequence[Document], options: CheckOptions, step: Step
    ) -> MutualCheck:
        """Return what papers have in common, as :meth:`check_many`."""
        if self._checker is None:
            return self.store.check_mutual(papers, options, on_step=step)
        return self._checker.check_mutual(papers, options, step)

    def submit(self, asked: WriteRequest | RemoveRequest) -> asyncio.Future[WriteReply]:
        """Give a request to the writer, as :meth:`take`; to be awaited in the event loop."""
        return asyncio.wrap_future(self.take(asked))

    def take(self, asked: WriteRequest | RemoveRequest) -> Future[WriteReply]:
        """Give a request to the writer, in any thread; the result is there once it is durable.

        Raises:
            Stopping: The server is to stop.
            Overloaded: Too much waits.
            InvalidParameter: The request holds what cannot be stored.
        """
        if self.stopping.is_set():
            raise Stopping
        return self.writes.submit(asked)

    def unready(self) -> str | None:
        """Return why requests should go elsewhere; None where they are welcome."""
        if self.stopping.is_set():
            return "the server stops"
        if self.lost is not None:
            return self.lost
        if self.writes.failure is not None:
            reason, processes = "the writer has failed", [self.writer] if self.writer else []
        elif self._reading and not self.query_processes:
            reason, processes = "no process answers queries", self._reading
        else:
            return None
        if any(one.is_of_other_version for one in processes):
            return f"{reason}: another version of simstore is installed, restart the server"
        return reason


def library_of(service: Service, options: CheckOptions) -> Library | None:
    """Return what a report says that papers were compared with: the store's file, size and state.

    Returns:
        None for a store on a database server.
    """
    from simstore.reports.check_data import settings_text
    from simstore.reports.html_page import Library

    store = service.store
    path = store.maintenance.path
    if path is None:
        return None
    return Library(
        name=path.name,
        document_count=len(store),
        counts_references=not options.exclude_bibliography,
        last_run=next(((run.run_id, run.started_at) for run in store.runs.ingest(1)), None),
        settings=settings_text(options),
    )


def service_of(request: Request) -> Service:
    """Return the service of a request's application."""
    found: Service = request.app.state.service
    return found
