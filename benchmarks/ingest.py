"""Documents in bulk from a file of JSON Lines, beside plain tables of the same texts.

Usage: python benchmarks/ingest.py [--quick] [--documents N [N ...]]

Each filling is a process of its own, so that its memory can be told, and its time goes from the
opened file to the closed store: reading, the load of compiled kernels and the last checkpoint are
in it. Its answers are checked before its rate is written down.
"""

from __future__ import annotations

import json
import multiprocessing
import resource
import sqlite3
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from backports import zstd
from corpus import documents
from results import Report, figure, parser

from simstore import Store
from simstore.compiled import leave_out_blas

TRANSACTION = 1_000
# Documents from which on a store is filled without texts.
LARGE = 1_000_000
KINDS: dict[str, dict[str, Any]] = {
    "simstore, web, both channels, texts kept": {},
    "simstore, web, fingerprints only, texts kept": {"channels": ("simhash",)},
    "simstore, web, both channels, neither texts nor vocabulary": {
        "text": False,
        "vocabulary": False,
    },
}
DEFAULT = next(iter(KINDS))
WITHOUT_TEXTS = list(KINDS)[-1]


@dataclass(frozen=True)
class Filled:
    """A filling: what it took."""

    seconds: float
    processor_seconds: float
    peak_bytes: int
    file_bytes: int


def write_corpus(path: Path, count: int) -> int:
    """Write a corpus as JSON Lines; return the bytes of its texts."""
    size = 0
    with path.open("w", encoding="utf-8") as file:
        for key, text in documents(count):
            file.write(json.dumps({"key": key, "text": text}) + "\n")
            size += len(text)
    return size


def fill_simstore(source: Path, place: Path, kind: str) -> None:
    # As the command line does: of SciPy, which peers need, nothing is used here.
    leave_out_blas()
    with Store.create(place, **KINDS[kind]) as store:
        store.ingest([str(source)])


def fill_sqlite(source: Path, place: Path, _kind: str) -> None:
    """The floor: compressed texts into one table, durable as in a store."""
    with closing(sqlite3.connect(place)) as connection, source.open("rb") as lines:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE d (id INTEGER PRIMARY KEY, key TEXT UNIQUE, text BLOB)")
        while part := [json.loads(line) for line in islice(lines, TRANSACTION)]:
            rows = [(one["key"], zstd.compress(one["text"].encode(), 3)) for one in part]
            connection.executemany("INSERT INTO d (key, text) VALUES (?, ?)", rows)
            connection.commit()


def fill_duckdb(source: Path, place: Path, _kind: str) -> None:
    """DuckDB reads the file itself, on all processors, and compresses columns."""
    import duckdb

    with closing(duckdb.connect(str(place))) as connection:
        connection.execute("CREATE TABLE d (key VARCHAR PRIMARY KEY, text VARCHAR)")
        connection.execute(
            "INSERT INTO d SELECT key, text FROM read_json(?, format = 'newline_delimited', "
            "columns = {key: 'VARCHAR', text: 'VARCHAR'})",
            [str(source)],
        )


FILLERS: dict[str, Callable[[Path, Path, str], None]] = {
    "a plain SQLite table: key and compressed text": fill_sqlite,
    "a plain DuckDB table: key and text": fill_duckdb,
    **dict.fromkeys(KINDS, fill_simstore),
}
FLOOR = next(iter(FILLERS))
# Large stores are filled without texts alone.
LARGE_KINDS = (FLOOR, WITHOUT_TEXTS)
SMALL_KINDS = [name for name in FILLERS if name != WITHOUT_TEXTS]


def filled(name: str, source: Path, place: Path) -> Filled:
    """Fill a store in this process, which has done nothing else."""
    started, processor = time.perf_counter(), time.process_time()
    FILLERS[name](source, place, name)
    seconds, processor = time.perf_counter() - started, time.process_time() - processor
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    size = sum(file.stat().st_size for file in place.parent.glob(place.name + "*"))
    return Filled(seconds, processor, peak, size)


def alone(work: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a process of its own."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        return pool.submit(work, *arguments).result()


def check(name: str, place: Path, count: int) -> None:
    """Raise unless everything is there and can be found."""
    if FILLERS[name] is fill_simstore:
        with Store.open(place, read_only=True) as store:
            assert len(store) == count
            for key, text in islice(documents(count), 0, count, max(count // 20, 1)):
                assert key in {match.key for match in store.query(text)}
    elif FILLERS[name] is fill_sqlite:
        with closing(sqlite3.connect(place)) as connection:
            assert connection.execute("SELECT count(*) FROM d").fetchone() == (count,)


def bulk(report: Report, folder: Path, counts: list[int]) -> None:
    """Fill stores of each kind with corpora of each size."""
    rates: dict[str, list[tuple[int, float]]] = {}
    sizes: dict[str, list[tuple[int, float]]] = {}
    table = report.table(
        "Bulk ingest of JSON Lines, durable",
        (
            "what", "documents", "documents/s", "MB/s", "of the plain table's rate",
            "µs of processor a document", "peak memory, MB", "bytes a document",
        ),
        note="A transaction of the plain table holds a thousand texts, one of DuckDB all of them. "
        "Peak memory is that of the whole process: interpreter, NumPy and the compiled kernels "
        "take some 200 MB of it.",
    )  # fmt: skip
    for count in counts:
        source = folder / f"corpus-{count}.jsonl"
        size = write_corpus(source, count)
        floor = 0.0
        for name in FILLERS:
            if name not in (LARGE_KINDS if count >= LARGE else SMALL_KINDS):
                continue
            place = folder / f"store-{len(table.rows)}.db"
            took: Filled = alone(filled, name, source, place)
            check(name, place, count)
            for file in folder.glob(place.name + "*"):
                file.unlink()
            rate = count / took.seconds
            floor = floor or rate
            rates.setdefault(name, []).append((count, rate))
            sizes.setdefault(name, []).append((count, took.file_bytes / count))
            table.add(
                name,
                f"{count:,}",
                figure(rate),
                figure(size / took.seconds / 1e6),
                figure(rate / floor),
                figure(took.processor_seconds / count * 1e6),
                figure(took.peak_bytes / 1e6),
                figure(took.file_bytes / count),
            )
        source.unlink()
    report.values |= {"documents_per_second": rates, "bytes_per_document": sizes}
    for count, asked, name in (
        (100_000, 6_000, DEFAULT),
        (LARGE, 4_000, WITHOUT_TEXTS),
    ):
        reached = dict(rates.get(name, [])).get(count)
        report.target(
            f"{name}: bulk ingest at {count:,}",
            asked,
            reached,
            unit=" documents/s",
            note="" if reached else "not in this run",
        )


def main() -> None:
    made = parser(__doc__)
    made.add_argument("--documents", type=int, nargs="+", default=[10_000, 100_000])
    options = made.parse_args()
    intro = (
        "Texts of 600 invented words, 3.5 kB, with a natural frequency curve; a tenth are light "
        "edits of an earlier one (`benchmarks/corpus.py`, seeded). Every commit is synced."
    )
    report = Report("ingest", "Documents in", intro)
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        bulk(report, Path(name), [2_000] if options.quick else options.documents)
    report.finish(options.results)


if __name__ == "__main__":
    main()
