"""The commands that write, each with the folder that it begins with and what it must leave."""

from __future__ import annotations

import gzip
import json
import random
import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import second_migration

from simstore import Document, Store
from simstore.errors import NotFound, SimstoreError

_WORDS = [
    "the",
    "bridge",
    "over",
    "river",
    "stays",
    "shut",
    "for",
    "weeks",
    "while",
    "council",
    "waits",
    "report",
    "of",
    "engineers",
    "who",
    "found",
    "cracks",
    "in",
    "both",
    "piers",
    "and",
    "traffic",
    "is",
    "sent",
    "through",
    "old",
    "town",
    "where",
    "shops",
    "complain",
    "about",
    "noise",
]


@dataclass(frozen=True)
class Scenario:
    """A command, and what the same command may say when it is run again.

    Attributes:
        name: Its name.
        template: The folder that it begins with.
        words: Its words; they name files of that folder.
        again: The words that finish what it began; the same, unless they need to force it.
        code: Exit code of an undisturbed run.
        codes_again: Exit codes of those words besides that: of what was finished before.
    """

    name: str
    template: str
    words: Sequence[str]
    again: Sequence[str] = field(default=())
    code: int = 0
    codes_again: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not self.again:
            object.__setattr__(self, "again", self.words)


_DB = ("--db", "s.db")
SCENARIOS = (
    Scenario("ingest into nothing", "sources", ("ingest", *_DB, "pages.jsonl"), code=5),
    Scenario("ingest more", "store", ("ingest", *_DB, "pages.jsonl"), code=5),
    Scenario("ingest a folder", "store", ("ingest", *_DB, "folder")),
    Scenario("ingest compressed", "store", ("ingest", *_DB, "more.jsonl.gz")),
    Scenario("ingest an article file", "sources", ("ingest", *_DB, "article.txt")),
    Scenario("ingest with fields", "sources", ("ingest", *_DB, "--text-field", "text", "rows.csv")),
    Scenario(
        "skip duplicates", "store", ("ingest", *_DB, "--on-duplicate", "skip", "more.jsonl.gz")
    ),
    Scenario(
        "flag duplicates", "store", ("ingest", *_DB, "--on-duplicate", "flag", "more.jsonl.gz")
    ),
    Scenario("ingest into clusters and passages", "rich", ("ingest", *_DB, "more.jsonl.gz")),
    Scenario("build passages", "store", ("passages", "build", *_DB)),
    Scenario("drop passages", "rich", ("compact", "--drop-passages", *_DB)),
    Scenario("clusters", "store", ("clusters", *_DB)),
    Scenario("clusters anew", "rich", ("clusters", *_DB, "--rebuild")),
    Scenario("drop clusters", "rich", ("clusters", *_DB, "--drop", "--yes")),
    Scenario("compact", "store", ("compact", *_DB)),
    Scenario("compact plain", "rich", ("compact", "--plain", *_DB)),
    Scenario("reindex", "rich", ("reindex", *_DB, "--scheme", "web", "--bits", "100")),
    Scenario("remove", "rich", ("remove", *_DB, "page 3", "page 4"), codes_again=(3,)),
    Scenario("expire", "rich", ("expire", *_DB, "--not-seen-since", "2020-01-01")),
    Scenario("add values", "rich", ("fingerprints", "add", "--db", "f.db", "values.txt")),
    Scenario("backup", "rich", ("backup", *_DB, "copy.db"), codes_again=(4,)),
    Scenario("backup over another", "two", ("backup", "--force", *_DB, "copy.db")),
    Scenario(
        "export",
        "rich",
        ("export", *_DB, "-o", "all.jsonl"),
        ("export", *_DB, "-o", "all.jsonl", "--force"),
    ),
    Scenario(
        "export a filter",
        "rich",
        ("export", *_DB, "--known-keys", "known.filter"),
        ("export", *_DB, "--known-keys", "known.filter", "--force"),
    ),
    Scenario("upgrade", "store", ("upgrade", *_DB)),
    Scenario("refresh", "course", ("vocabulary", "refresh", *_DB)),
    Scenario("query with a run", "rich", ("query", *_DB, "sample.txt")),
    Scenario("clear rejects", "rich", ("rejects", "--clear", "--yes", *_DB)),
    Scenario("init", "sources", ("init", *_DB, "--on-duplicate", "skip"), codes_again=(4,)),
)


def make_templates(folder: Path) -> None:
    """Make the folders that the commands begin with.

    Args:
        folder: Where; each becomes a folder of this one.
    """
    sources = folder / "sources"
    sources.mkdir()
    _write_sources(sources)
    for name in ("store", "rich", "two", "course"):
        shutil.copytree(sources, folder / name)
    chance = random.Random(5)
    _fill(folder / "store" / "s.db", chance, rich=False)
    _fill(folder / "rich" / "s.db", chance, rich=True)
    shutil.copy(folder / "rich" / "s.db", folder / "two" / "s.db")
    shutil.copy(folder / "store" / "s.db", folder / "two" / "copy.db")
    with Store.create(folder / "rich" / "f.db", fingerprints_only=True) as store:
        store.fingerprints.add([chance.getrandbits(64) for _ in range(40)])
    with Store.create(folder / "course" / "s.db", scheme="simtool", policy="frozen") as store:
        store.add_many(_documents(random.Random(6), 60))


def _documents(chance: random.Random, count: int, start: int = 0) -> list[Document]:
    """Make documents of which many are near-duplicates of another."""
    made: list[Document] = []
    for number in range(start, start + count):
        if made and chance.random() < 0.4:
            words = (chance.choice(made).text or "").split()
            words[chance.randrange(len(words))] = chance.choice(_WORDS)
        else:
            words = chance.choices(_WORDS, k=chance.randint(30, 90))
        seen = int(datetime(2019 + number % 3, 1 + number % 12, 3, tzinfo=UTC).timestamp())
        made.append(Document(f"page {number}", " ".join(words), seen_at=seen))
    return made


def _write_sources(folder: Path) -> None:
    chance = random.Random(4)
    lines = [
        json.dumps({"key": one.key, "text": one.text}) for one in _documents(chance, 40, start=20)
    ]
    (folder / "pages.jsonl").write_text("\n".join([*lines, "{not json"]) + "\n")
    more = [json.dumps({"key": f"more {n}", "text": one.text})
            for n, one in enumerate(_documents(random.Random(5), 40))]  # fmt: skip
    with gzip.open(folder / "more.jsonl.gz", "wt", compresslevel=1) as file:
        file.write("\n".join(more) + "\n")
    (folder / "folder").mkdir()
    for number, one in enumerate(_documents(chance, 9, start=100)):
        (folder / "folder" / f"{number}.txt").write_text(one.text or "")
    articles = "".join(f"{n}\n{one.text}\n\f" for n, one in enumerate(_documents(chance, 12)))
    (folder / "article.txt").write_text(articles)
    rows = "".join(f"{n},{one.text}\n" for n, one in enumerate(_documents(chance, 30)))
    (folder / "rows.csv").write_text("key,text\n" + rows)
    (folder / "sample.txt").write_text(_documents(random.Random(5), 3)[2].text or "")
    (folder / "values.txt").write_text(
        "".join(f"{chance.getrandbits(64):016x}\n" for _ in range(60))
    )


def _fill(path: Path, chance: random.Random, *, rich: bool) -> None:
    with Store.create(path) as store:
        store.add_many(_documents(chance, 60))
        store.remove(*(f"page {n}" for n in range(50, 60)))
        if rich:
            store.passages.build()
            store.clusters.build()
            store.maintenance.compact()
            store.add_many(_documents(chance, 20, start=200), on_duplicate="flag")
            broken = path.with_name("broken.jsonl")
            broken.write_text('{"key": 1}\n')
            store.ingest([broken])


def state(folder: Path, *, partly: bool = False) -> dict[str, Any]:
    """Return what the stores and files of a folder hold, but for numbers and times.

    Args:
        folder: The folder; each store in it is checked as a whole.
        partly: A store that was just begun may be refused with an error that says so.
    """
    documents: dict[str, dict[str, Any]] = {}
    others: dict[str, Any] = {}
    for path in sorted(folder.glob("*.db")):
        try:
            documents[path.name], others[path.name] = _held(path)
        except SimstoreError:
            if not partly:
                raise
            # What was begun and is no store yet.
            assert path.name == "copy.db" or not documents, path
    files = {
        path.name: path.read_bytes()
        for path in folder.iterdir()
        if path.is_file() and path.suffix in (".jsonl", ".filter")
    }
    # The log of a store may be there; what was begun under another name may not.
    names = [
        path.name for path in folder.iterdir() if not path.name.endswith(("-wal", "-shm"))
    ] if not partly else []  # fmt: skip
    return {"documents": documents, "others": others, "files": files, "names": sorted(names)}


def _held(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    with second_migration.opened(path) as store:
        assert store.maintenance.fsck() == []
        figures = store.stats()
        documents = {one.key: one.text for one in store.list(with_text=True)}
        status = store.passages.status()
        duplicates = sorted(
            (one.key, one.original or "", str(one.state)) for one in store.duplicates.list()
        )
        try:
            clusters = sorted(
                sorted(member.key for member in cluster.members)
                for cluster in store.clusters.list(1)
            )
        except NotFound:
            clusters = None
        others = {
            "duplicates": duplicates,
            "clusters": clusters,
            "rejects": sorted(
                (one.rejection.source, one.rejection.position) for one in store.rejects.list()
            ),
            "passages": status and (status.complete, status.document_count, status.anchor_count),
            "documents": len(store),
            "fingerprints": figures.distinct_fingerprints,
            "bits": figures.bits,
            "packed": bool(figures.packed_fingerprints),
            "is_upgraded": second_migration.is_upgraded(path),
        }
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    return documents, others
