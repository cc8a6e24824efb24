"""State of the page beside the store: reports just made, and figures that take a while."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import Any

from fastapi import Request

from simstore.model import StoreFigures, StoreStatistics
from simstore.server.cached_value import CachedValue
from simstore.server.page.report_cache import ReportCache
from simstore.server.service import Service, service_of

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


class PageState:
    """What the page holds as long as the server runs.

    Args:
        service: What it shows.
    """

    def __init__(self, service: Service) -> None:
        self.service = service
        self.reports = ReportCache()
        self.store = CachedValue(
            partial(_store_now, service), service.readers, _LEAST_SECONDS, _TIMES_ITS_COST
        )
        self._drawn = CachedValue(
            partial(_drawn, service), service.heavy, _LEAST_SECONDS, _TIMES_ITS_COST
        )

    async def drawn(self) -> Drawn | None:
        """Return what the plots draw; None where that takes longer."""
        return await self._drawn.soon(_PATIENCE_SECONDS)


def page_state_of(request: Request) -> PageState:
    """Return what the page of an application holds."""
    service = service_of(request)
    held: PageState | None = getattr(request.app.state, "page", None)
    if held is None or held.service is not service:
        held = request.app.state.page = PageState(service)
    return held


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
