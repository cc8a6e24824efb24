"""Eight processes write in turns into one store on a PostgreSQL server, and some are killed."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator

import pytest
from postgres_servers import PostgresServer

from simstore import Store

from .test_check_insert import copy_of

pytestmark = pytest.mark.postgres

WRITERS, FAMILIES, BATCH, KILLED_AT_ONCE = 8, 12, 4, 2
# Adds documents, some at a time, each time when it is told to.
WRITER = """
import json, sys
from simstore import Store

url, batch = sys.argv[1], int(sys.argv[2])
documents = json.loads(sys.stdin.readline())
with Store.open(url) as store:
    print("ready", flush=True)
    for first in range(0, len(documents), batch):
        sys.stdin.readline()
        store.add_many(documents[first : first + batch], on_duplicate="skip")
        print("done", flush=True)
"""


@pytest.fixture
def url(postgres_server: PostgresServer) -> Iterator[str]:
    yield postgres_server.url(postgres_server.make_database())
    postgres_server.drop_databases()


class Writer:
    """A process that adds documents, and its successor where it is killed.

    Attributes:
        left: The documents that are not acknowledged.
    """

    def __init__(self, url: str, documents: list[tuple[str, str]]) -> None:
        self._url = url
        self.left = documents
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", WRITER, self._url, str(BATCH)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.tell(json.dumps(self.left))

    def tell(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def heard(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()


def write_under_kills(writers: list[Writer], chance: random.Random) -> int:
    """Let the writers add batch after batch, all at the same time; return how many were killed."""
    kills = 0
    for writer in writers:
        assert writer.heard() == "ready"
    while active := [writer for writer in writers if writer.left]:
        for writer in active:
            writer.tell("go")
        victims = chance.sample(active, KILLED_AT_ONCE) if len(active) == WRITERS else []
        for writer in chance.sample(active, len(active)):
            if writer not in victims:
                assert writer.heard() == "done"
                writer.left = writer.left[BATCH:]
                continue
            # Its batch waits for its turn, is being written, or is committed.
            writer.kill()
            kills += 1
        for writer in victims:
            writer.start()
            assert writer.heard() == "ready"
    return kills


def test_writers_take_turns_and_lose_nothing_when_some_are_killed(url: str) -> None:
    Store.create(url).close()
    shares = [
        [(f"{family}/{number}", copy_of(family, number)) for family in range(FAMILIES)]
        for number in range(WRITERS)
    ]
    writers = [Writer(url, share) for share in shares]
    try:
        kills = write_under_kills(writers, random.Random(4))
    finally:
        for writer in writers:
            writer.kill()
    assert kills == KILLED_AT_ONCE * (FAMILIES // BATCH)
    with Store.open(url) as store:
        stored = {one.key for one in store}
        skipped = {one.key: one.original for one in store.duplicates.list()}
        assert store.maintenance.fsck() == []
        added = sum(run.added for run in store.runs.ingest(1_000))
    assert stored | skipped.keys() == {key for share in shares for key, _ in share}
    # Each writer saw what the others had committed: one of each family is stored.
    assert Counter(key.split("/")[0] for key in stored) == {str(n): 1 for n in range(FAMILIES)}
    assert set(skipped.values()) == stored
    assert added == len(stored)
