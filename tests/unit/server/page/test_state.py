"""Reports are kept for an hour, for whoever asked for them, in bounded memory."""

from __future__ import annotations

from checked_papers import checked

from simstore.server.page.state import KEPT_SECONDS, CachedReport, ReportCache


def report(letters: int = 10) -> CachedReport:
    return CachedReport((checked("p", None, "a" * letters, {}, {}),), (), 0)


def test_a_report_is_found_by_its_owner_only() -> None:
    kept = ReportCache()
    made = report()
    name = kept.keep(made, "token:1")
    assert kept.find(name, "token:1") is made
    assert kept.find(name, "token:2") is None
    assert kept.find("another", "token:1") is None


def test_names_cannot_be_guessed() -> None:
    kept = ReportCache()
    names = {kept.keep(report(), "open") for _ in range(100)}
    assert len(names) == 100
    assert all(len(name) >= 24 for name in names)


def test_a_report_ends_after_an_hour() -> None:
    now = [0.0]
    kept = ReportCache(clock=lambda: now[0])
    first = kept.keep(report(), "open")
    now[0] = KEPT_SECONDS - 1
    assert kept.find(first, "open") is not None
    second = kept.keep(report(), "open")
    now[0] = KEPT_SECONDS
    assert kept.find(first, "open") is None
    assert kept.find(second, "open") is not None
    now[0] = 3 * KEPT_SECONDS
    kept.keep(report(), "open")
    # Those that nobody asks for again do not stay either.
    assert len(kept) == 1


def test_the_oldest_go_where_memory_ends_and_the_latest_stays() -> None:
    kept = ReportCache(most_bytes=10_000)
    names = [kept.keep(report(2_000), "open") for _ in range(5)]
    assert [kept.find(name, "open") is not None for name in names] == [False] * 3 + [True] * 2
    large = kept.keep(report(1_000_000), "open")
    assert kept.find(large, "open") is not None
    assert len(kept) == 1


def test_only_the_owner_makes_a_report_forgotten() -> None:
    kept = ReportCache()
    name = kept.keep(report(), "token:1")
    kept.forget(name, "token:2")
    assert kept.find(name, "token:1") is not None
    kept.forget(name, "token:1")
    kept.forget(name, "token:1")
    assert kept.find(name, "token:1") is None
