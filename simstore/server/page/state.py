"""State of the web interface: cached reports, and statistics that take long to compute."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from threading import Lock

from fastapi import Request

from simstore.model import CheckedPaper, MutualCheck, StoreStatistics
from simstore.reports.html_page import Library
from simstore.server.cached_value import CachedValue
from simstore.server.service import Service, service_of

KEPT_SECONDS = 3_600
MOST_BYTES = 128 << 20
_LETTER_BYTES, _COPY_BYTES, _PASSAGE_BYTES, _BLOCK_BYTES = 2, 1_000, 200, 150
_LEAST_SECONDS = 2.0
# What the page says where papers cannot be checked, by what there is of a passage index.
_REASONS = {
    "none": "no_passages",
    "no_text": "no_passages_text",
    "unfinished": "passages_unfinished",
    "fingerprints": "fingerprints",
}


@dataclass(frozen=True, slots=True)
class CachedReport:
    """A cached report on checked papers.

    Attributes:
        papers: What was checked, at least one.
        left_out: Names of what could not be read, and why.
        made_at: When it was made, in seconds since 1970-01-01 UTC.
        compared_with: The documents that they were compared with.
        mutual: The papers beside each other, where there are several.
    """

    papers: tuple[CheckedPaper, ...]
    left_out: tuple[tuple[str, str], ...]
    made_at: int
    compared_with: Library | None = None
    mutual: MutualCheck | None = None


@dataclass(frozen=True, slots=True)
class _Held:
    report: CachedReport
    owner: str
    size: int
    ends: float


class ReportCache:
    """Reports by names that nobody can guess. Threads may share it.

    Args:
        most_bytes: About as much memory is used; the oldest go first. The latest stays always.
        clock: Tells seconds.
    """

    def __init__(
        self, most_bytes: int = MOST_BYTES, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._most_bytes = most_bytes
        self._clock = clock
        self._held: OrderedDict[str, _Held] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._held)

    def keep(self, report: CachedReport, owner: str) -> str:
        """Keep a report for its owner; return its name."""
        name = secrets.token_urlsafe(18)
        held = _Held(report, owner, _size(report), self._clock() + KEPT_SECONDS)
        with self._lock:
            self._held[name] = held
            now = self._clock()
            total = sum(one.size for one in self._held.values())
            for old, one in list(self._held.items())[:-1]:
                if one.ends > now and total <= self._most_bytes:
                    break
                del self._held[old]
                total -= one.size
        return name

    def find(self, name: str, owner: str) -> CachedReport | None:
        """Return a report; None where there is none, it has ended, or it is another's."""
        with self._lock:
            held = self._held.get(name)
            if held is not None and held.ends <= self._clock():
                del self._held[name]
                held = None
        return None if held is None or held.owner != owner else held.report

    def forget(self, name: str, owner: str) -> None:
        """Forget a report, if there is one and it is the owner's."""
        with self._lock:
            held = self._held.get(name)
            if held is not None and held.owner == owner:
                del self._held[name]


def _size(report: CachedReport) -> int:
    """Return about how much memory a report takes."""
    size = 0
    for paper in (*report.papers, *(report.mutual.papers if report.mutual else ())):
        size += _LETTER_BYTES * len(paper.text) + _PASSAGE_BYTES * len(paper.passages)
        for copy in paper.copies:
            size += _COPY_BYTES + _LETTER_BYTES * len(copy.source_text or "")
            size += _BLOCK_BYTES * len(copy.blocks)
    return size


@dataclass(frozen=True, slots=True)
class StoreOverview:
    """An overview of a store: its statistics and the state of its passage index.

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
        """Return the name of the text that explains why there is no passage index to search."""
        return _REASONS.get(self.passages, "")


class PageState:
    """The state of the web interface for as long as the server runs.

    Args:
        service: What it shows.
    """

    def __init__(self, service: Service) -> None:
        self.service = service
        self.reports = ReportCache()
        self.store = CachedValue(partial(_store_now, service), service.readers, _LEAST_SECONDS)


def page_state_of(request: Request) -> PageState:
    """Return the state of an application's web interface."""
    service = service_of(request)
    held: PageState | None = getattr(request.app.state, "page", None)
    if held is None or held.service is not service:
        held = request.app.state.page = PageState(service)
    return held


def _store_now(service: Service) -> StoreOverview:
    store = service.store
    figures = store.stats()
    if store.maintenance.scheme().name == "given":
        return StoreOverview(figures, "fingerprints")
    status = store.passages.status(sizes=False)
    if status is None:
        return StoreOverview(figures, "none" if figures.text_kept else "no_text")
    return StoreOverview(
        figures,
        "ready" if status.complete else "unfinished",
        status.fingerprints,
        status.least_words,
        status.least_characters,
    )
