"""Many processes write into one store on a PostgreSQL server at once."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from postgres_servers import PostgresServer

from simstore import Store

from .test_check_insert import COPIES, FAMILIES, copy_of

pytestmark = pytest.mark.postgres

# Adds documents, some at a time, all processes in step, and prints what became of them.
WRITER = """
import json, sys
from simstore import Store
from simstore.services.ingest.ingest import Observer

url, mode, batch = sys.argv[1], sys.argv[2], int(sys.argv[3])
fields = ("key", "text", "published_at")
documents = [dict(zip(fields, one)) for one in json.loads(sys.stdin.readline())]
told = []
with Store.open(url) as store:
    for first in range(0, len(documents), batch):
        print("ready", flush=True)
        sys.stdin.readline()
        found = {}
        store.add_many(
            documents[first : first + batch],
            on_duplicate=mode,
            observer=Observer(on_found=lambda one: found.update({one.key: one.original})),
        )
        keys = [one["key"] for one in documents[first : first + batch]]
        told += [[key, found.get(key)] for key in keys]
print(json.dumps(told), flush=True)
"""


@pytest.fixture
def url(postgres_server: PostgresServer) -> Iterator[str]:
    yield postgres_server.url(postgres_server.make_database())
    postgres_server.drop_databases()


def written(
    url: str, batches: Sequence[Sequence[tuple[Any, ...]]], mode: str, size: int
) -> list[list[tuple[str, str | None]]]:
    """Let a process write each of these, in step; return keys with what they were told to copy."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, url, mode, str(size)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in batches
    ]
    try:
        for process, documents in zip(processes, batches, strict=True):
            tell(process, json.dumps(documents))
        for _ in range(0, len(batches[0]), size):
            for process in processes:
                assert heard(process) == "ready"
            for process in processes:
                tell(process, "go")
        return [[tuple(pair) for pair in json.loads(heard(process))] for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def tell(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(f"{line}\n")
    process.stdin.flush()


def heard(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.parametrize(("mode", "size"), [("skip", 4), ("flag", 40), ("skip", 200)])
def test_one_of_each_family_is_stored_and_the_others_are_told(
    url: str, mode: str, size: int
) -> None:
    Store.create(url).close()
    families = FAMILIES
    batches = [
        [(f"{family}/{number}", copy_of(family, number)) for family in range(families)]
        for number in range(COPIES)
    ]
    told = dict(pair for process in written(url, batches, mode, size) for pair in process)
    with Store.open(url) as store:
        held = {one.key for one in store}
        found = {one.key: one for one in store.duplicates.list()}
        assert store.maintenance.fsck() == []
    originals = held - found.keys()
    assert Counter(key.split("/")[0] for key in originals) == {str(n): 1 for n in range(families)}
    assert held == originals | (found.keys() if mode == "flag" else set())
    assert len(found) == families * (COPIES - 1)
    for key, original in told.items():
        if key in originals:
            assert original is None
        else:
            assert original in originals
            assert original.split("/")[0] == key.split("/")[0]
            assert (found[key].original, found[key].basis) == (original, "text")


@pytest.mark.parametrize("mode", ["flag", "skip"])
def test_the_earliest_of_each_family_is_the_original_whoever_is_first(url: str, mode: str) -> None:
    Store.create(url).close()
    # Each process has the copies of one day, and what is found last was there first.
    batches = [
        [(f"{family}/{number}", copy_of(family, number), 86_400 * (COPIES - number))
         for family in range(12)]
        for number in range(COPIES)
    ]  # fmt: skip
    written(url, batches, mode, 4)
    with Store.open(url) as store:
        held = {one.key for one in store}
        found = {one.key: one for one in store.duplicates.list()}
        assert store.maintenance.fsck() == []
    earliest = {f"{family}/{COPIES - 1}" for family in range(12)}
    assert held - found.keys() == earliest
    assert held | found.keys() == {key for batch in batches for key, _, _ in batch}
    for key, one in found.items():
        assert one.original.split("/")[0] == key.split("/")[0]
        assert one.state == ("flagged" if key in held else "skipped")
        if mode == "flag":
            assert one.original in earliest


def test_one_document_of_eight_processes_is_stored_once(url: str) -> None:
    Store.create(url).close()
    batches = [[(str(number), copy_of(number, 0)) for number in range(200)]] * COPIES
    written(url, batches, "keep", 20)
    with Store.open(url) as store:
        assert sorted(one.key for one in store) == sorted(key for key, _ in batches[0])
        assert all(one.revision == 1 for one in store)
        runs = store.runs.ingest(1_000)
        assert sum(run.added for run in runs) == 200
        assert sum(run.unchanged for run in runs) == 200 * (COPIES - 1)
        assert store.maintenance.fsck() == []


def test_what_processes_write_beside_each_other_is_what_one_writes(
    url: str, tmp_path: Path
) -> None:
    batches: list[Any] = [
        [(f"{family}/{number}", copy_of(family, number)) for family in range(60)]
        for number in range(COPIES)
    ]
    Store.create(url).close()
    written(url, batches, "keep", 6)
    with Store.open(url) as store, Store.create(tmp_path / "one.db") as alone:
        for documents in batches:
            alone.add_many(documents)
        for tested in (store, alone):
            assert tested.maintenance.fsck() == []
        assert store.vocabulary.terms() == alone.vocabulary.terms()
        for key, text in batches[0][:20]:
            answers = [
                sorted((one.key, one.distance, one.resemblance) for one in tested.query(text))
                for tested in (store, alone)
            ]
            assert answers[0] == answers[1], key
        one, other = store.stats(), alone.stats()
        assert one.distinct_fingerprints == other.distinct_fingerprints
        store.maintenance.pack()
        store.maintenance.compact()
        assert store.maintenance.fsck() == []
