"""A year of coming, changing and going leaves no more than what is there needs."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from stores import create, rows

from simstore.model import Document
from simstore.sources.reader import HistoryFields
from simstore.sources.registry import ReadOptions
from simstore.storage.tables import metadata
from simstore.store import Store

pytestmark = pytest.mark.slow

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


def take_in(store: Store, folder: Path, week: int, given: dict[str, str]) -> None:
    """Ingest what was seen in a week from a file of its own."""
    path = folder / f"week-{week}.jsonl"
    lines = (json.dumps({"key": key, "text": text, "seen": week}) for key, text in given.items())
    path.write_text("\n".join(lines))
    store.ingest([str(path)], read=READ)
    path.unlink()


def test_file_after_a_year_of_churn_is_little_larger_than_a_fresh_one(tmp_path: Path) -> None:
    chance = random.Random(5)
    made = texts(chance)
    alive = {f"k{number}": next(made) for number in range(DOCUMENTS)}
    with create(tmp_path) as store:
        take_in(store, tmp_path, 0, alive)
        store.maintenance.compact()
        for week in range(1, WEEKS + 1):
            gone = chance.sample(sorted(alive), EACH_WEEK)
            for key in gone:
                del alive[key]
            changed = chance.sample(sorted(alive), EACH_WEEK)
            alive |= {key: next(made) for key in changed}
            alive |= {f"k{week}-{number}": next(made) for number in range(EACH_WEEK)}
            take_in(store, tmp_path, week, alive)
            assert store.expire(not_seen_since=week).removed == EACH_WEEK
        assert {one.key: one.text for one in store.list(with_text=True)} == alive
        churned = store.maintenance.compact().bytes_after
        assert store.maintenance.fsck() == []
        vocabulary = store.vocabulary.terms()
    (folder := tmp_path / "fresh").mkdir()
    with create(folder) as fresh:
        fresh.add_many([Document(key, text, seen_at=WEEKS) for key, text in alive.items()])
        wanted = fresh.maintenance.compact().bytes_after
        assert {(one.term, one.total_count) for one in fresh.vocabulary.terms()} == {
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


def test_of_removed_documents_only_the_run_names_the_keys(tmp_path: Path) -> None:
    made = texts(random.Random(8))
    gone = {f"gone-{number}": next(made) for number in range(4)}
    with create(tmp_path) as store:
        store.add_many(gone.items())
        store.add_many([("copy", gone["gone-0"]), ("other", next(made))])
        store.clusters.build()
        store.add("gone-1", next(made))
        store.add("copy", next(made))
        digests = [
            hashlib.blake2b(text.encode(), digest_size=16).digest() for text in gone.values()
        ]
        store.remove("gone-0", "gone-1")
        # It comes back, and is another text for the clusters.
        store.add("again", gone["gone-0"])
        store.remove("again")
        assert store.expire("1h", dry_run=True).removed == 0
        store.remove("gone-2", "gone-3", "copy")
        assert store.maintenance.fsck() == []
        held = everything(store)
        assert all(
            digest not in held and key.encode() not in held
            for digest, key in zip(digests, gone, strict=True)
        )
        store.clusters.build()
        assert [one.key for one in store.clusters.list(1)] == ["other"]
        store.maintenance.compact()
        assert store.maintenance.fsck() == []


def everything(store: Store) -> bytes:
    """Return every value that the tables of a store hold, without the lists of removed keys."""
    held = []
    with store._opened.database.read() as connection:
        for table in (one for one in metadata.sorted_tables if one.name != "removed_key"):
            for row in connection.exec_driver_sql(f"SELECT * FROM {table.name}"):
                held += [one if isinstance(one, bytes) else str(one).encode() for one in row]
    return b"\0".join(held)


def test_sketches_that_are_gone_leave_the_pages(tmp_path: Path) -> None:
    made = texts(random.Random(6))
    with create(tmp_path) as store:
        store.add_many([(f"k{number}", next(made)) for number in range(200)])
        store.maintenance.compact()
        packed = store.stats(sizes=True).sketch_bytes
        assert packed is not None
        store.remove(*(f"k{number}" for number in range(5, 200)))
        store.maintenance.compact()
        left = store.stats(sizes=True).sketch_bytes
        assert left is not None
        assert left < packed / 20
        assert store.maintenance.fsck() == []
        # A few that are gone are no reason to make them all anew.
        runs = rows(tmp_path, "SELECT max(run_id) FROM index_run")
        store.maintenance.compact()
    assert rows(tmp_path, "SELECT max(run_id) FROM index_run") == runs
