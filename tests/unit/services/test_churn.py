"""A year of coming, changing and going leaves no more than what is there needs."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from simstore.model import Document
from simstore.sources.jsonl import HistoryFields
from simstore.sources.registry import ReadOptions
from simstore.store import Store

from .stores import create, rows

DOCUMENTS = 250
WEEKS = 52
EACH_WEEK = 5
READ = ReadOptions(history_fields=HistoryFields("seen"))


def texts(chance: random.Random) -> Iterator[str]:
    """Yield texts of 200 words, of which each has some that no other has."""
    words = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in ("n", "r", "st", "lin")]
    number = 0
    while True:
        own = [f"w{number}x{place}" for place in range(10)]
        number += 1
        yield " ".join(chance.choices(words, k=190) + own)


def take_in(store: Store, folder: Path, week: int, given: dict[str, str], dated: bool) -> None:
    """Ingest what was seen in a week from a file of its own."""
    path = folder / f"week-{week}.jsonl"
    seen = {"seen": week} if dated else {}
    lines = (json.dumps({"key": key, "text": text} | seen) for key, text in given.items())
    path.write_text("\n".join(lines))
    store.ingest([str(path)], read=READ)
    path.unlink()


@pytest.mark.parametrize("dated", [True, False])
def test_file_after_a_year_of_churn_is_little_larger_than_a_fresh_one(
    tmp_path: Path, dated: bool
) -> None:
    chance = random.Random(5)
    made = texts(chance)
    alive = {f"k{number}": next(made) for number in range(DOCUMENTS)}
    with create(tmp_path) as store:
        take_in(store, tmp_path, 0, alive, dated)
        store.pack()
        for week in range(1, WEEKS + 1):
            gone = chance.sample(sorted(alive), EACH_WEEK)
            for key in gone:
                del alive[key]
            changed = chance.sample(sorted(alive), EACH_WEEK)
            alive |= {key: next(made) for key in changed}
            alive |= {f"k{week}-{number}": next(made) for number in range(EACH_WEEK)}
            take_in(store, tmp_path, week, alive, dated)
            if dated:
                assert store.expire(not_seen_since=week).removed == EACH_WEEK
            else:
                store.remove(*gone)
        assert {one.key: one.text for one in store.documents(with_text=True)} == alive
        _, churned = store.compact()
        assert store.fsck() == []
        vocabulary = store.vocabulary()
    (folder := tmp_path / "fresh").mkdir()
    with create(folder) as fresh:
        fresh.add_many([Document(key, text, seen_at=WEEKS) for key, text in alive.items()])
        _, wanted = fresh.compact()
        assert {(one.term, one.total_count) for one in fresh.vocabulary()} == {
            (one.term, one.total_count) for one in vocabulary
        }
    assert churned <= 1.3 * wanted
    assert rows(tmp_path, "SELECT count(*) FROM feature WHERE document_count = 0") == [(0,)]
    ((most,),) = rows(
        tmp_path,
        "SELECT coalesce(max(n), 0) FROM (SELECT count(*) AS n FROM seen_record "
        "GROUP BY document_id)",
    )
    assert most <= 8


def test_sketches_that_are_gone_leave_the_pages(tmp_path: Path) -> None:
    made = texts(random.Random(6))
    with create(tmp_path) as store:
        store.add_many([(f"k{number}", next(made)) for number in range(200)])
        store.pack()
        packed = store.statistics(sizes=True).sketch_bytes
        assert packed is not None
        store.remove(*(f"k{number}" for number in range(5, 200)))
        store.compact()
        left = store.statistics(sizes=True).sketch_bytes
        assert left is not None
        assert left < packed / 20
        assert store.fsck() == []
        # A few that are gone are no reason to make them all anew.
        layouts = rows(tmp_path, "SELECT max(layout_id) FROM band_layout")
        store.compact()
    assert rows(tmp_path, "SELECT max(layout_id) FROM band_layout") == layouts


def test_latest_sources_can_be_read_again_after_a_compaction(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.jsonl" for number in range(12)]
    for number, path in enumerate(paths):
        path.write_text(json.dumps({"key": "k", "text": f"version {number}"}))
    with create(tmp_path) as store:
        for path in paths:
            store.ingest([str(path)])
        store.compact()
        for path in paths[-8:]:
            assert store.ingest([str(path)]).unchanged == 1
