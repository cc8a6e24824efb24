"""The simulated crawl is the same each time, and what it says of its pages is true."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def simulator(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Import the simulator, and forget it afterwards."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield __import__("crawl")
    for name in ("crawl", "crawl_web"):
        sys.modules.pop(name, None)


def small(simulator: Any, seed: int = 1) -> Any:
    return simulator.Settings(days=8, sites=10, pages=9, seed=seed)


def test_same_numbers_give_the_same_files_and_another_seed_others(
    simulator: Any, tmp_path: Path
) -> None:
    contents = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        days = list(simulator.write_days(tmp_path / name, small(simulator, seed)))
        files = [tmp_path / name / day.name for day in days]
        assert sorted(files) == sorted((tmp_path / name).iterdir())
        contents.append([file.read_bytes() for file in files])
    assert contents[0] == contents[1]
    assert contents[0][0] != contents[2][0]


def test_states_and_origins_of_pages_are_true(simulator: Any) -> None:
    texts: dict[str, str] = {}
    dates: list[Any] = []
    seen: set[tuple[str, str]] = set()
    same_as_former = other = linked = 0
    for day in simulator.crawl(small(simulator)):
        assert {page.url for page in day.fetched} <= day.live
        for page in day.fetched:
            before = texts.get(page.url)
            expected = (
                "new" if before is None else "unchanged" if before == page.text else "changed"
            )
            assert page.state == expected
            if page.state == "new" and page.kind in ("moved", "mirror"):
                # Of a page that was edited since the crawler last came, it has an older version.
                same_as_former += texts.get(page.original) == page.text
                other += page.original in texts and texts[page.original] != page.text
            linked += page.kind == "copy" and page.original in page.links
            texts[page.url] = page.text
            seen.add((page.kind, page.state))
        dates += [page.crawled for page in day.fetched[:1]]
    assert dates == sorted(dates)
    assert same_as_former > 5 * other > 0
    assert linked
    kinds = [(kind, state) for kind in ("own", "moved", "copy") for state in ("new", "unchanged")]
    assert seen >= {*kinds, ("own", "changed"), ("mirror", "new"), ("mirror", "unchanged")}
