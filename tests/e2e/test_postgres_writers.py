"""Many processes write into one store on a PostgreSQL server at once."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from postgres_servers import PostgresServer

from simstore import Store

from .test_check_insert import copy_of

pytestmark = pytest.mark.postgres

# Adds documents, some at a time, all processes in step, and prints what became of them.
WRITER = """
import json, sys
from simstore import Store
from simstore.services.ingest.ingest import Observer

url, mode, batch = sys.argv[1], sys.argv[2], int(sys.argv[3])
documents = json.loads(sys.stdin.readline())
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
        told += [[key, found.get(key)] for key, _ in documents[first : first + batch]]
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


def test_writers_at_once_lose_nothing_and_store_one_of_each_family(url: str) -> None:
    Store.create(url).close()
    families, copies = 30, 3
    batches = [
        [(f"{family}/{number}", copy_of(family, number)) for family in range(families)]
        for number in range(copies)
    ]
    told = dict(pair for process in written(url, batches, "skip", 5) for pair in process)
    with Store.open(url) as store:
        held = {one.key for one in store}
        found = {one.key: one.original for one in store.duplicates.list()}
        assert store.maintenance.fsck() == []
    assert held | found.keys() == told.keys()
    assert Counter(key.split("/")[0] for key in held) == {str(n): 1 for n in range(families)}
    assert len(found) == families * (copies - 1)
    assert {key: original for key, original in told.items() if original} == found
