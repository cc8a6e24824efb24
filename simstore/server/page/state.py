"""State of the page beside the store: reports just made, and figures that take a while."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from fastapi import Request

from simstore.errors import SimstoreError
from simstore.model import StoreStatistics
from simstore.reports.store_figures import StoreFigures
from simstore.server.page.report_cache import ReportCache
from simstore.server.service import Service, service_of
from simstore.server.workers.bounded_executor import BoundedExecutor

T = TypeVar("T")
_LEAST_SECONDS = 2.0
# What took a second to count is counted again after twenty.
_TIMES_ITS_COST = 20.0
_PATIENCE_SECONDS = 3.0
_RUNS = 24


# What the page says where papers cannot be checked, by what there is of a passage index.
_REASONS = {
    "none": "no_passages",
    "no_text": "no_passages_text",
    "unfinished": "passages_unfinished",
    "fingerprints": "fingerprints",
}


@dataclass(frozen=True, slots=True)
class StoreOverview:
    """What there is to say of a store as a whole.

    Attributes:
        figures: The store in numbers.
        passages: ``ready``, ``unfinished``, ``none``: its passage index; ``no_text``: none, and
            it cannot be made; ``fingerprints``: the store holds no documents at all.
        passage_fingerprints: The passage index has fingerprints.
        least_words: Shortest run of words that the passage index is certain to find.
        least_characters: The same of a script without blanks.
    """

    figures: StoreStatistics
    passages: str
    passage_fingerprints: bool = False
    least_words: int = 0
    least_characters: int = 0

    @property
    def reason(self) -> str:
        """Return the name of what the page says where there is no passage index to ask."""
        return _REASONS.get(self.passages, "")


@dataclass(frozen=True, slots=True)
class Drawn:
    """What the plots draw."""

    figures: StoreFigures
    runs: list[dict[str, Any]]
    made_at: int


class Kept(Generic[T]):
    """A value that takes a while to find; one asks for it, the others wait or take the last one."""

    def __init__(self, find: Callable[[Service], T]) -> None:
        self._find = find
        self._value: T | None = None
        self._failure: SimstoreError | None = None
        self._until = 0.0
        self._task: asyncio.Task[None] | None = None

    async def value(
        self, service: Service, lane: BoundedExecutor, patience: float | None = None
    ) -> T | None:
        """Return the value.

        Args:
            service: What it is found in.
            lane: The threads that find it.
            patience: How long to wait, seconds; then the last value is taken. None: for ever.

        Returns:
            None: It takes longer, and there is none yet.

        Raises:
            SimstoreError: It cannot be found.
        """
        if time.monotonic() >= self._until and self._task is None:
            self._task = asyncio.create_task(self._fetch(service, lane))
        if self._task is not None:
            await asyncio.wait([self._task], timeout=patience)
        if self._failure is not None and self._task is None:
            raise self._failure
        return self._value

    async def _fetch(self, service: Service, lane: BoundedExecutor) -> None:
        begun = time.monotonic()
        self._failure = None
        try:
            self._value = await lane.run(self._find, service)
        except SimstoreError as error:
            self._failure = error
        finally:
            now = time.monotonic()
            self._until = now + max(_LEAST_SECONDS, _TIMES_ITS_COST * (now - begun))
            self._task = None


class PageState:
    """What the page holds as long as the server runs."""

    def __init__(self) -> None:
        self.reports = ReportCache()
        self._store = Kept(_store_now)
        self._drawn = Kept(_drawn)

    async def store(self, service: Service) -> StoreOverview:
        """Return what there is to say of the store as a whole."""
        found = await self._store.value(service, service.readers)
        if found is None:
            found = await service.readers.run(_store_now, service)
        return found

    async def drawn(self, service: Service) -> Drawn | None:
        """Return what the plots draw; None where that takes longer."""
        return await self._drawn.value(service, service.heavy, _PATIENCE_SECONDS)


def standing_of(request: Request) -> PageState:
    """Return what the page of an application holds."""
    service = service_of(request)
    held = getattr(request.app.state, "page", None)
    if held is None or held[0] is not service:
        held = request.app.state.page = (service, PageState())
    standing: PageState = held[1]
    return standing


def _store_now(service: Service) -> StoreOverview:
    store = service.store
    figures = store.statistics()
    if store.scheme().get("scheme", "").startswith("given"):
        return StoreOverview(figures, "fingerprints")
    status = store.passage_status(sizes=False)
    if status is None:
        return StoreOverview(figures, "none" if figures.text_kept else "no_text")
    return StoreOverview(
        figures,
        "ready" if status.complete else "unfinished",
        status.fingerprints,
        status.least_words,
        status.least_characters,
    )


def _drawn(service: Service) -> Drawn:
    store = service.store
    return Drawn(store.figures(), store.ingest_runs(_RUNS), int(time.time()))
