"""Measure a store beside what a user could take instead, and write docs/benchmarks.md.

Usage: python benchmarks/run.py [--documents N] [--output FILE]

Every figure is a ratio inside one run on one machine; answers are checked before they are timed.
Peers: PyPI ``simhash`` (installed with ``pip install simhash``), a plain SQLite table, NumPy.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import sqlite3
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import xxhash
from backports import zstd
from corpus import documents

import simstore
from simstore import Match, Store
from simstore.model import QueryOptions
from simstore.services.choose import SchemeChoice

QUERIES = 300
PEER_DOCUMENTS = 3_000


def timed(work: Callable[[], object]) -> float:
    """Return the seconds that a piece of work takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def file_bytes(path: Path) -> int:
    return sum(f.stat().st_size for f in path.parent.glob(path.name + "*"))


def plain_table(path: Path, texts: list[tuple[str, str]]) -> None:
    """The floor: compressed texts into one table, a transaction a thousand, synchronous full."""
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE d (id INTEGER PRIMARY KEY, key TEXT UNIQUE, text BLOB)")
        for start in range(0, len(texts), 1000):
            part = texts[start : start + 1000]
            rows = [(key, zstd.compress(text.encode(), 3)) for key, text in part]
            connection.executemany("INSERT INTO d (key, text) VALUES (?, ?)", rows)
            connection.commit()
    connection.close()


def ingest_rows(folder: Path, texts: list[tuple[str, str]]) -> Iterator[tuple[str, ...]]:
    """Yield table rows: what, documents/s, MB/s, share of the plain table's rate."""
    megabytes = sum(len(text) for _, text in texts) / 1e6
    floor = timed(lambda: plain_table(folder / "plain.db", texts))
    yield (
        "a plain SQLite table (compressed texts, no index but the key)",
        f"{len(texts) / floor:,.0f}",
        f"{megabytes / floor:.1f}",
        "1.00",
    )
    cases = {
        "web": SchemeChoice("web"),
        "web, --no-text": SchemeChoice("web"),
        "web, --channels simhash": SchemeChoice("web"),
        "simtool, N = 1000, M = 64 (before its refresh)": SchemeChoice("simtool"),
    }
    for number, (name, choice) in enumerate(cases.items()):
        place = folder / f"store{number}.db"
        channels = ("simhash",) if "--channels" in name else ("simhash", "minhash")
        text = "no-text" not in name
        with Store.create(place, scheme=choice, channels=channels, text=text) as store:
            seconds = timed(lambda s=store: s.add_many(texts, refresh=False))
            assert len(store) == len(texts)
        yield (
            f"simstore, {name}",
            f"{len(texts) / seconds:,.0f}",
            f"{megabytes / seconds:.1f}",
            f"{floor / seconds:.2f}",
        )
    with Store.open(folder / "store0.db") as store:
        seconds = timed(lambda: store.add_many(texts))
        yield (
            "simstore, web, the same once more (all unchanged)",
            f"{len(texts) / seconds:,.0f}",
            f"{megabytes / seconds:.1f}",
            f"{floor / seconds:.2f}",
        )


def fingerprint_rows(texts: list[tuple[str, str]]) -> Iterator[tuple[str, ...]]:
    """Yield rows: text to fingerprint, beside PyPI simhash on the same features."""
    from simhash import Simhash

    from simstore.fingerprint.web import WebScheme

    sample = [text for _, text in texts[:PEER_DOCUMENTS]]
    megabytes = sum(map(len, sample)) / 1e6

    def xxh(data: bytes) -> bytes:
        return xxhash.xxh3_64_digest(data)

    def peer() -> list[int]:
        return [Simhash(dict(Counter(t.split())), hashfunc=xxh).value for t in sample]

    scheme = WebScheme(weights="tf")

    def ours() -> list[int]:
        values: list[int] = []
        for start in range(0, len(sample), 1000):
            counts = scheme.count(sample[start : start + 1000])
            values += scheme.fingerprints(counts)[:, 0].tolist()
        return values

    assert peer() == ours(), "both compute the same fingerprints"
    theirs, own = timed(peer), timed(ours)
    yield ("PyPI simhash (words, counts, XXH3)", f"{megabytes / theirs:.1f}", "1.00")
    yield (
        "simstore, scheme web --weights tf (NumPy)",
        f"{megabytes / own:.1f}",
        f"{theirs / own:.1f}",
    )


def query_rows(folder: Path, texts: list[tuple[str, str]]) -> Iterator[tuple[str, ...]]:
    """Yield rows: median and 95th percentile of a query by fingerprint and by text, recall."""
    from simhash import Simhash, SimhashIndex

    with Store.open(folder / "store0.db") as store:
        values = [int(d.fingerprint or "0", 16) for d in store]
        step = max(len(texts) // QUERIES, 1)
        chosen = list(range(0, len(texts), step))[:QUERIES]
        array = np.array(values, np.uint64)

        def brute(value: int) -> np.ndarray:
            return np.flatnonzero(np.bitwise_count(array ^ np.uint64(value)) <= 3)

        index = SimhashIndex([(str(i), Simhash(v)) for i, v in enumerate(values)], k=3)

        def times(work: Callable[[int], object]) -> list[float]:
            return [timed(lambda n=n: work(n)) * 1e3 for n in chosen]

        def ask(number: int, **options: Any) -> tuple[Match, ...]:
            sample = texts[number]
            return store.query_many([sample], QueryOptions(**options))[0].matches

        for number in chosen:
            found = {match.key for match in ask(number, channels=("simhash",))}
            expected = {texts[i][0] for i in brute(values[number])}
            assert found == expected, "every fingerprint within the radius, and no other"
        cases = {
            "NumPy scan in memory (fingerprint given)": lambda n: brute(values[n]),
            "PyPI SimhashIndex in memory (fingerprint given)": lambda n: index.get_near_dups(
                Simhash(values[n])
            ),
            "simstore from the file, simhash, not verified (text given)": lambda n: ask(
                n, channels=("simhash",), verify=False
            ),
            "simstore, both channels, not verified": lambda n: ask(n, verify=False),
            "simstore, both channels, every match verified": ask,
        }
        first = None
        for name, work in cases.items():
            measured = times(work)
            median = statistics.median(measured)
            first = first or median
            p95 = sorted(measured)[int(len(measured) * 0.95)]
            yield (name, f"{median:.2f}", f"{p95:.2f}", f"{median / first:.1f}")
        many = [(str(n), texts[n][1]) for n in chosen]
        batch = timed(lambda: store.query_many(many)) / len(many) * 1e3
        yield (
            f"simstore, {len(many)} samples in one call, each",
            f"{batch:.2f}",
            "",
            f"{batch / (first or 1):.1f}",
        )


def size_rows(folder: Path, count: int) -> Iterator[tuple[str, ...]]:
    """Yield rows: bytes a document, after compact."""
    for name, file in (
        ("web", "store0.db"),
        ("web, --no-text", "store1.db"),
        ("web, --channels simhash", "store2.db"),
        ("simtool, before its refresh", "store3.db"),
    ):
        with Store.open(folder / file) as store:
            _, after = store.compact()
            texts = store.statistics().stored_text_bytes
        fingerprints, sketches = channel_bytes(folder / file)
        yield (
            name,
            f"{after / count:,.0f}",
            f"{texts / count:,.0f}",
            f"{fingerprints / count:,.0f}",
            f"{sketches / count:,.0f}",
        )


def channel_bytes(path: Path) -> tuple[int, int]:
    """Return the bytes of all pages of the file that fingerprints, and sketches, take."""
    with closing(sqlite3.connect(path)) as connection:
        sizes = dict(connection.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name"))
    sums = [
        sum(size for name, size in sizes.items() if any(part in name for part in parts))
        for parts in (("fingerprint_64",), ("sketch", "band_"))
    ]
    return sums[0], sums[1]


def refresh_rows(folder: Path, texts: list[tuple[str, str]]) -> Iterator[tuple[str, ...]]:
    """Yield rows: the first generation, and one after a hundred more documents."""
    with Store.open(folder / "store3.db") as store:
        first = timed(store.refresh)
        yield ("first generation", f"{first:.1f}", f"{len(texts) / first:,.0f}")
        store.add_many([(f"more-{k}", t[::-1]) for k, t in texts[:100]], refresh=False)
        again = timed(store.refresh)
        yield ("after 100 more documents", f"{again:.1f}", f"{len(texts) / again:,.0f}")
        assert store.vocabulary_status().fresh
        assert not store.fsck()


def table(columns: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(columns) + " |", "|---" + "|---:" * (len(columns) - 1) + "|"]
    for row in rows:
        print("  ", " | ".join(row), file=sys.stderr, flush=True)
        lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--output", type=Path, default=Path("docs/benchmarks.md"))
    arguments = parser.parse_args()
    texts = list(documents(arguments.documents))
    megabytes = sum(len(text) for _, text in texts) / 1e6
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        parts = [
            "## Ingest\n",
            table(
                ("what", "documents/s", "MB/s", "of the plain table's rate"),
                ingest_rows(folder, texts),
            ),
            "\n## Text to fingerprint, one thread\n",
            table(("what", "MB/s", "times the peer"), fingerprint_rows(texts)),
            "\n## One query, radius 3\n",
            table(
                ("what", "median, ms", "95th percentile, ms", "times the scan"),
                query_rows(folder, texts),
            ),
            "\n## Bytes a document, after `compact`\n",
            table(
                ("store", "all", "texts alone", "fingerprints", "sketches and bands"),
                size_rows(folder, len(texts)),
            ),
            "\n## A generation of the scheme simtool (N = 1000, M = 64)\n",
            table(("what", "seconds", "documents/s"), refresh_rows(folder, texts)),
        ]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    head = f"""# Benchmarks

Made by `python benchmarks/run.py --documents {len(texts)}` (needs `pip install simhash` beside
simstore). Trust the ratios inside a table: all of it is one run, on one machine, and every answer
was checked before it was timed. Absolute figures are this machine's.

{len(texts):,} documents of {megabytes * 1e6 / len(texts):,.0f} bytes ({megabytes:,.0f} MB) of
invented words with a natural frequency curve; a tenth are light edits of an earlier one
(`benchmarks/corpus.py`, seeded). Memory: {before / 1024:,.0f} MB held the corpus before the first
store was made, {peak / 1024:,.0f} MB was the peak of the whole run.

simstore {simstore.__version__}, Python {platform.python_version()}, SQLite
{sqlite3.sqlite_version}, NumPy {np.__version__}; {os.cpu_count()} processors
({platform.machine()}), {platform.system()}; load average {os.getloadavg()[2]:.1f} over the last
15 minutes: above the number of processors, other work took part of them.

"""
    arguments.output.write_text(head + "\n".join(parts) + "\n")
    print(f"wrote {arguments.output}", file=sys.stderr)


if __name__ == "__main__":
    main()
