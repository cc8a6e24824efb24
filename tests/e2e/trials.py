"""Corpora for tests that kill: what is ingested, what is to be found, and when to kill."""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from forked import Child

from simstore import Store
from simstore.services.maintenance.scheme_choice import SchemeChoice

from . import corpora
from .states import State, assert_sound, state_of

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

BATCH = 5
PAGES = 110
# More than 1: a longer trial than is run each time.
ROUNDS = int(os.environ.get("SIMSTORE_CRASH_ROUNDS", "1"))
Records = list[tuple[str, str] | None]


def seeds(count: int) -> pytest.MarkDecorator:
    """Run a test so often, each time with kills at other places."""
    return pytest.mark.parametrize("seed", range(count * ROUNDS))


@dataclass
class Trial:
    """A corpus on disk, its records in order (None: to be rejected), and questions."""

    folder: Path
    source: Path
    records: Records
    samples: list[tuple[str, str]]
    make: Callable[[Path], Store]

    def clean(self, name: str = "clean.db") -> Path:
        """Return a store that took the source in without any disturbance, in one batch."""
        path = self.folder / name
        with self.make(path) as store:
            store.ingest([str(self.source)])
        assert_sound(path)
        return path

    def state(self, path: Path) -> State:
        return state_of(path, self.samples, folder=self.folder)


def simtool_trial(folder: Path, seed: int, count: int = PAGES) -> Trial:
    made = corpora.pages(seed, count)
    course = corpora.course_folder(folder / "course", features=120)
    choice = SchemeChoice(
        "simtool",
        features=120,
        hash_table=str(course / "hashvalue.txt"),
        stopwords=str(course / "stopwords.txt"),
    )
    source = corpora.article_file(folder / "article.txt", made)
    return Trial(
        folder,
        source,
        list(made),
        corpora.samples(seed, made),
        lambda path: Store.create(path, scheme=choice),
    )


def web_trial(folder: Path, seed: int, count: int = PAGES) -> Trial:
    made = corpora.pages(seed, count)
    source = corpora.json_lines_file(folder / "crawl.jsonl", made)
    records: Records = []
    for line in source.read_text("utf-8").splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            records.append(None)
            continue
        usable = isinstance(record["text"], str)
        records.append((record["key"], record["text"]) if usable else None)
    return Trial(folder, source, records, corpora.samples(seed, made), Store.create)


def packed_trial(folder: Path, seed: int, count: int = PAGES) -> Trial:
    trial = web_trial(folder, seed, count)
    packed = folder / "crawl.jsonl.zst"
    packed.write_bytes(zstd.compress(trial.source.read_bytes()))
    return replace(trial, source=packed)


TRIALS = {"simtool": simtool_trial, "web": web_trial, "packed": packed_trial}


def kill_at_random(child: Child, chance: random.Random, most_messages: int) -> list[str]:
    """Kill a process a random instant after a random number of messages; return all of them."""
    said = []
    for _ in range(chance.randint(1, most_messages)):
        line = child.message()
        if line is None:
            break
        said.append(line)
    # Not to wait for anything: to hit any place between two messages.
    time.sleep(chance.random() * 0.012)
    return said + child.kill()


def assert_holds(path: Path, records: Records) -> None:
    """The store holds these records and no others, the last of each key."""
    expected = dict(record for record in records if record is not None)
    with Store.open(path) as store:
        assert {one.key: one.text for one in store.list(with_text=True)} == expected


def acknowledged(said: list[str]) -> int:
    return max((int(line) for line in said if line.isdigit()), default=0)
