"""Reports that were just made: for a while, in memory, each for whoever asked for it."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

from simstore.model import CheckedPaper

KEPT_SECONDS = 3_600
MOST_BYTES = 128 << 20
_LETTER_BYTES, _COPY_BYTES, _PASSAGE_BYTES, _BLOCK_BYTES = 2, 1_000, 200, 150


@dataclass(frozen=True, slots=True)
class CachedReport:
    """A report.

    Attributes:
        papers: What was checked, at least one.
        left_out: Names of what could not be read, and why.
        made_at: When it was made, in seconds since 1970-01-01 UTC.
    """

    papers: tuple[CheckedPaper, ...]
    left_out: tuple[tuple[str, str], ...]
    made_at: int


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
    for paper in report.papers:
        size += _LETTER_BYTES * len(paper.text) + _PASSAGE_BYTES * len(paper.passages)
        for copy in paper.copies:
            size += _COPY_BYTES + _LETTER_BYTES * len(copy.source_text or "")
            size += _BLOCK_BYTES * len(copy.blocks)
    return size
