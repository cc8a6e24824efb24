"""Single adds, groups of 500 and preparation, beside a plain table of the same texts.

Usage: python benchmarks/writes.py [--quick] [--documents N] [--before N] [--blocks N]

The plain table is SQLite: the key a TEXT PRIMARY KEY, the text compressed by zstd at the store's
level, WAL, ``synchronous=FULL``, one row a transaction (a group of 500 in one). All ways write in
turns, one process and one thread, and a way's time is the median of its blocks. Processor time does
not tell of other work on the machine; the clock does, and counts the syncs.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

from backports import zstd
from corpus import documents
from results import Report, figure, parser

from simstore import Document, Store, compiled
from simstore.model import WriteRequest
from simstore.services.features.prepare import prepare

Texts = list[tuple[str, str]]
GROUP = 500
# The level of a store's texts.
LEVEL = 3
# Duplicates are looked for in this share of the store's last texts.
SINGLES = 50


class Timer:
    """The time of some works, in turns: processor seconds and seconds by the clock, by block."""

    def __init__(self) -> None:
        self.blocks: dict[str, list[tuple[float, float]]] = {}

    def time(self, name: str, work: Callable[[], object], count: int) -> None:
        clock, processor = time.perf_counter(), time.process_time()
        work()
        spent = time.process_time() - processor, time.perf_counter() - clock
        self.blocks.setdefault(name, []).append((spent[0] / count, spent[1] / count))

    def of(self, name: str) -> tuple[float, float]:
        """Return the median processor time and time by the clock of one document, seconds."""
        blocks = self.blocks[name]
        return median(one[0] for one in blocks), median(one[1] for one in blocks)


def plain_table(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE IF NOT EXISTS d (key TEXT PRIMARY KEY, text BLOB)")
    return connection


def insert(connection: sqlite3.Connection, texts: Texts) -> None:
    """Write texts in one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    for key, text in texts:
        row = key, zstd.compress(text.encode(), LEVEL)
        connection.execute("INSERT INTO d (key, text) VALUES (?, ?)", row)
    connection.execute("COMMIT")


def fill(folder: Path, count: int) -> None:
    """Make a plain table and stores of the corpus's first texts, which are made again for each."""
    with closing(plain_table(folder / "plain.db")) as connection:
        texts = documents(count)
        while some := list(islice(texts, 1_000)):
            insert(connection, some)
    with Store.create(folder / "kept.db") as store:
        store.add_many(documents(count))
    for name in ("flagged", "writer", "group"):
        shutil.copy(folder / "kept.db", folder / f"{name}.db")


def known_duplicates(store: Store) -> dict[str, str]:
    """Return each key that a check has flagged, and its original."""
    return {one.key: one.original for one in store.duplicates.list() if one.original}


def parts(texts: Texts, size: int) -> Iterator[Texts]:
    for start in range(0, len(texts), size):
        yield texts[start : start + size]


def measure(folder: Path, before: Texts, singles: Texts, groups: Texts, timer: Timer) -> None:
    """Write the same texts in all ways, in turns, and check that all find the same duplicates.

    ``before`` are written first and not timed: a process that goes on for long holds in memory what
    it looks up often.
    """
    with (
        closing(plain_table(folder / "plain.db")) as plain,
        Store.open(folder / "kept.db") as kept,
        Store.open(folder / "flagged.db") as flagged,
        Store.open(folder / "writer.db") as written,
        Store.open(folder / "group.db") as grouped,
        written.runs.writer() as writer,
    ):
        insert(plain, before)
        for store in (kept, flagged, written, grouped):
            for part in parts(before, GROUP):
                store.add_many(part, on_duplicate="keep" if store is kept else "flag", threads=1)

        def through_writer(text: tuple[str, str]) -> None:
            (reply,) = writer.write([WriteRequest((Document(*text),), on_duplicate="flag")])
            assert not isinstance(reply, Exception), reply

        ways: dict[str, Callable[[tuple[str, str]], Any]] = {
            "a plain table": lambda text: insert(plain, [text]),
            "Store.add, kept": lambda text: kept.add(*text),
            "Store.add, duplicates flagged": lambda text: flagged.add(*text, on_duplicate="flag"),
            "store.runs.writer(), duplicates flagged": through_writer,
        }
        for number, part in enumerate(parts(singles, SINGLES)):
            for name, way in ways.items():
                if number:
                    timer.time(name, lambda w=way, p=part: [w(text) for text in p], len(part))
                else:
                    # What a process does once.
                    for text in part:
                        way(text)
        of_groups: dict[str, Callable[[Texts], Any]] = {
            "a plain table, groups of 500": lambda group: insert(plain, group),
            "Store.add_many, groups of 500, duplicates flagged": lambda group: grouped.add_many(
                group, on_duplicate="flag", threads=1
            ),
        }
        grouped.add_many(singles, on_duplicate="flag")
        for group in parts(groups, GROUP):
            for name, way in of_groups.items():
                timer.time(name, lambda w=way, g=group: w(g), len(group))
        found = known_duplicates(flagged)
        assert found
        assert found == known_duplicates(written)
        single_keys = {key for key, _ in (*before, *singles)}
        together = known_duplicates(grouped)
        assert found == {key: one for key, one in together.items() if key in single_keys}
        assert len(kept) == len(flagged) == len(written)
        assert not flagged.maintenance.fsck(), "a damaged store"


def prepared(texts: Texts, folder: Path, timer: Timer, rounds: int) -> None:
    """Prepare texts one by one, and together."""
    given = [Document(*text) for text in texts]
    with Store.open(folder / "kept.db") as store, store._opened.database.read() as connection:
        state = store._opened.state(connection)
    prepare(given, state)
    prepare(given[:1], state)
    for _ in range(rounds):
        timer.time("prepared in a batch", lambda: prepare(given, state), len(given))
        some = given[:200]
        timer.time("prepared alone", lambda s=some: [prepare([one], state) for one in s], len(some))


def main() -> None:
    made = parser(__doc__)
    made.add_argument("--documents", type=int, default=100_000)
    made.add_argument("--before", type=int, default=0, help="texts that are written untimed first")
    made.add_argument("--blocks", type=int, default=12)
    options = made.parse_args()
    count = 5_000 if options.quick else options.documents
    compiled.enable(0)
    new = SINGLES * (options.blocks + 1), GROUP * options.blocks
    # Millions of texts would not leave the files room in memory.
    texts = list(islice(documents(count + options.before + sum(new)), count, None))
    some = list(documents(1_000))
    words = sum(text.count(" ") + 1 for _, text in some) / len(some)
    timer = Timer()
    report = Report("writes", "Writing one document, and few")
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        fill(folder, count)
        before, singles, groups = (
            texts[: options.before],
            texts[options.before : options.before + new[0]],
            texts[options.before + new[0] :],
        )
        measure(folder, before, singles, groups, timer)
        prepared(some, folder, timer, options.blocks)
    intro = (
        f"{count:,} texts of {words:,.0f} invented words with a natural frequency curve are stored "
        "(`benchmarks/corpus.py`, seeded; a tenth are light edits of an earlier one); "
        f"{f'{options.before:,} more are written first; ' if options.before else ''}"
        f"{options.blocks} blocks of {SINGLES} are added singly, and as many groups of {GROUP}."
    )
    report.intro = intro
    table = report.table(
        "One process, one thread, in turns",
        ("what", "µs of processor a document", "µs by the clock", "of the plain table's rate"),
        note="The rate is by the clock; in brackets that of processor time, by which the targets "
        "are told: a busy disk makes all ways alike. All ways found the "
        "same duplicates, and a check of the file found no errors, before anything was printed.",
    )
    for one in timer.blocks:
        if one.startswith("prepared"):
            continue
        floor = "a plain table, groups of 500" if "500" in one else "a plain table"
        processor, clock = timer.of(one)
        of_processor, of_clock = (timer.of(floor)[0] / processor, timer.of(floor)[1] / clock)
        table.add(
            one,
            figure(processor * 1e6),
            figure(clock * 1e6),
            "1" if one == floor else f"{figure(of_clock)} ({figure(of_processor)})",
        )
        report.values[one] = [processor, clock, of_processor, of_clock]
    alone, share = timer.of("prepared alone")[0], timer.of("prepared in a batch")[0]
    table = report.table(
        "Preparing a text", ("what", "µs of processor a document", "of its share in a batch")
    )
    table.add("in a batch of 1,000", figure(share * 1e6), "1")
    table.add("alone", figure(alone * 1e6), figure(alone / share))
    values = report.values
    # Processor time: by the clock a busy disk makes all of them alike.
    report.target("one add, kept", 0.5, values["Store.add, kept"][2])
    report.target("one add, duplicates flagged", 0.35, values["Store.add, duplicates flagged"][2])
    report.target(
        "check and insert in groups of 500",
        0.5,
        values["Store.add_many, groups of 500, duplicates flagged"][2],
    )
    report.target("preparing one text, of its share in a batch", 2, alone / share, at_most=True)
    report.finish(options.results)


if __name__ == "__main__":
    main()
