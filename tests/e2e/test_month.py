"""A month of a crawl on a small scale: each day's numbers are what the truth says they must be."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, time
from pathlib import Path
from typing import Any

import pytest

from simstore import Store
from simstore.services.clusters.cluster import ClusterOptions
from simstore.sources.reader import HistoryFields
from simstore.text.tokens import tokens

pytestmark = pytest.mark.slow

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
NAMES = ("crawl", "crawl_web", "month", "results")
DUPLICATE = 0.8
LIKE = 0.5
DAYS = 14


@pytest.fixture(scope="module")
def month() -> Any:
    """Import the month, and forget it afterwards."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        yield __import__("month")
    finally:
        sys.path.remove(str(BENCHMARKS))
        for name in NAMES:
            sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def days(month: Any, tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """The days of a small crawl, each with its file."""
    folder = tmp_path_factory.mktemp("days")
    small = month.Settings(days=DAYS, sites=10, pages=8)
    return [(day, folder / day.name) for day in month.write_days(folder, small)]


def shingles(text: str) -> set[tuple[str, ...]]:
    words = tokens(text.casefold())
    return {tuple(words[place : place + 3]) for place in range(len(words) - 2)}


class Truth:
    """What a store must hold, by comparing everything with everything.

    Which of several is the original, their dates say: links are left out of it.
    """

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.shingles: dict[str, set[tuple[str, ...]]] = {}
        self.last_seen: dict[str, Any] = {}
        self.places: dict[str, tuple[Any, int]] = {}
        self.original_of: dict[str, str] = {}
        self.told: Counter[str] = Counter()
        self.displaced = 0
        self._count = 0

    def see(self, page: Any) -> None:
        url, known = page.url, self.texts.get(page.url)
        self.last_seen[url] = page.crawled
        date = page.crawled
        if page.published is not None:
            published = datetime.combine(page.published, time(), UTC)
            date = published if published <= date else date
        was = self.places.get(url)
        if was is None:
            self._count += 1
        # A changed one keeps its place in the order.
        place = (date, self._count) if was is None else (min(date, was[0]), was[1])
        if known == page.text:
            self.told["unchanged"] += 1
            if was is not None and place < was:
                self.places[url] = place
                if self.comes_before_any(url, self.near(url, self.shingles[url]), was):
                    self.settle(url)
            return
        made = shingles(page.text)
        near = self.near(url, made)
        originals = [other for other in near if other not in self.original_of]
        before = [other for other in originals if self.places[other] < place]
        self.places[url] = place
        displaces = not before and self.comes_before_any(url, near)
        # Only now: a page that changes a little is no duplicate of its own copies.
        self.leave(url)
        self.texts[url], self.shingles[url] = page.text, made
        if before:
            self.original_of[url] = self.most_similar(made, before)
        elif displaces:
            self.settle(url)
        outcome = "flagged" if before else "added" if known is None else "updated"
        self.told[outcome] += 1

    def near(self, url: str, made: set[Any]) -> list[str]:
        return [
            other
            for other, theirs in self.shingles.items()
            if other != url and self.are_near(made, theirs)
        ]

    def comes_before_any(self, url: str, near: list[str], was: Any = None) -> bool:
        for other in near:
            original = self.original_of.get(other, other)
            first = min(self.places[other], self.places[original])
            is_later = original != url and self.places[url] < first
            if is_later and (was is None or self.places[original] < was):
                return True
        return False

    def settle(self, url: str) -> None:
        """Flag what comes after a page, and look again at what was flagged because of that."""
        before = set(self.original_of)
        waiting, done = {url}, set()

        def put(other: str, original: str) -> None:
            if other not in self.original_of:
                waiting.update(k for k, held in self.original_of.items() if held == other)
            self.original_of[other] = original

        while waiting:
            one = min(waiting, key=self.places.__getitem__)
            waiting.remove(one)
            held = self.original_of.get(one)
            if one in done or (one != url and held is not None and held not in self.original_of):
                continue
            done.add(one)
            near = self.near(one, self.shingles[one])
            originals = [other for other in near if other not in self.original_of]
            before_it = [other for other in originals if self.places[other] < self.places[one]]
            if before_it:
                put(one, self.most_similar(self.shingles[one], before_it))
                continue
            self.original_of.pop(one, None)
            for other in originals:
                put(other, one)
            for other in near:
                theirs = self.original_of.get(other)
                if theirs and self.places[one] < min(self.places[other], self.places[theirs]):
                    put(other, one)
        self.displaced += len(self.original_of.keys() - before)

    def most_similar(self, made: set[Any], others: list[str]) -> str:
        """Return which of others has most shingles in common; of equals, the earliest."""

        def share(other: str) -> float:
            theirs = self.shingles[other]
            return len(made & theirs) / len(made | theirs)

        return min(others, key=lambda other: (-share(other), self.places[other]))

    @staticmethod
    def are_near(first: set[Any], second: set[Any], least: float = DUPLICATE) -> bool:
        common = len(first & second)
        return common >= least * (len(first) + len(second) - common)

    def leave(self, url: str) -> None:
        """Let go what rests on a text."""
        self.original_of.pop(url, None)
        for copy in [key for key, value in self.original_of.items() if value == url]:
            del self.original_of[copy]

    def expire(self, end: Any) -> int:
        gone = [url for url, time in self.last_seen.items() if time < end]
        for url in gone:
            self.leave(url)
            for held in (self.texts, self.shingles, self.last_seen, self.places):
                del held[url]
        return len(gone)


def test_month_by_day_is_what_comparing_everything_with_everything_finds(
    month: Any, days: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        month, "READ", replace(month.READ, history_fields=HistoryFields("crawled", "published"))
    )
    truth = Truth()
    flagged: Counter[tuple[Any, ...]] = Counter()
    pages: dict[str, Any] = {}
    place = tmp_path / "crawl.db"
    Store.create(place).close()
    for day, file in days:
        for page in day.fetched:
            truth.see(page)
            pages[page.url] = page
            original = truth.original_of.get(page.url)
            if original is not None and page.state == "new":
                flagged[page.kind, page.edit] += 1
                # A page of a press site that its crawler came to after a copy of it.
                assert page.kind != "own" or pages[original].original == page.url
        expected = dict(truth.told)
        truth.told.clear()
        expired = truth.expire(month.FIRST_DAY + (day.number - month.KEPT_DAYS) * month.DAY)
        made = month.run_day(place, file, day)
        assert made.fetched == len(day.fetched)
        told = {name: getattr(made, name) for name in ("added", "updated", "unchanged", "flagged")}
        assert {name: count for name, count in told.items() if count} == expected
        assert made.expired == expired
        assert made.documents == len(truth.texts)
        with Store.open(place) as store:
            assert {one.key: one.text for one in store.list(with_text=True)} == truth.texts
            found = {one.key: one.original for one in store.duplicates.list(state="flagged")}
        assert found == truth.original_of
        assert made.duplicates == len(found)
    # Nothing is left of what vanished more than a week ago, and of the rest nothing is missing.
    last = {page.url: page.crawled for day, _ in days for page in day.fetched}
    end = month.FIRST_DAY + (DAYS - month.KEPT_DAYS) * month.DAY
    assert any(time < end for time in last.values())
    with Store.open(place) as store:
        assert store.maintenance.fsck() == []
        assert {one.key for one in store} == {url for url, time in last.items() if time >= end}
    # Some originals came after their copies.
    assert truth.displaced > 0
    # Moved and mirrored pages are the same text, light copies nearly so; few of the heavy ones are.
    assert flagged["moved", None] > 30
    assert flagged["mirror", None] > 5
    assert flagged["copy", "light"] > 5
    assert flagged["own", None] < flagged["copy", "light"] > flagged["copy", "heavy"]


def test_clusters_of_the_month_hold_the_heavy_copies_too_and_equal_those_from_scratch(
    month: Any, days: list[Any], tmp_path: Path
) -> None:
    place = tmp_path / "crawl.db"
    Store.create(place).close()
    for day, file in days:
        month.run_day(place, file, day)
    with Store.open(place) as store:
        kept = sorted(
            (one.key, sorted(m.key for m in one.members)) for one in store.clusters.list(min_size=2)
        )
        found = store.clusters.once(ClusterOptions(min_resemblance=LIKE))
        assert kept == sorted((c.key, sorted(m.key for m in c.members)) for c in found.clusters)
        canonical_of = {key: canonical for canonical, members in kept for key in members}
        texts = {one.key: one.text for one in store.list(with_text=True)}
    copies = {
        page.url: page
        for day, _ in days
        for page in day.fetched
        if page.kind == "copy" and page.url in texts and page.original in texts
    }
    joined = Counter(
        (page.edit, canonical_of[page.url] == page.original)
        for page in copies.values()
        # One whose original is no canonical document may be like no canonical one itself.
        if canonical_of.get(page.original) == page.original
        and Truth.are_near(shingles(texts[page.url]), shingles(texts[page.original]), LIKE)
    )
    assert joined["heavy", True] > 1
    assert joined["light", True] > 5
    assert sum(joined.values()) - joined["heavy", True] - joined["light", True] < 3
