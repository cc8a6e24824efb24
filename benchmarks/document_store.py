"""A store of documents as it is used: kinds of stores, queries by text, bytes, generations.

Usage: python benchmarks/document_store.py [--quick] [--documents N]
"""

from __future__ import annotations

import resource
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from backports import zstd
from corpus import documents
from fingerprints import Timing, best_of, brute_force, interleaved
from peers import PypiSimhash
from results import Report, figure, parser

from simstore import Match, Store
from simstore.model import QueryOptions
from simstore.services.maintenance.scheme_choice import SchemeChoice

Texts = list[tuple[str, str]]
QUERIES = 300
KINDS: dict[str, dict[str, Any]] = {
    "web": {},
    "web, --no-text": {"text": False},
    "web, --channels simhash": {"channels": ("simhash",)},
    "simtool, N = 1000, M = 64, before its refresh": {"scheme": SchemeChoice("simtool")},
}
SCAN = "NumPy scan in memory (fingerprint given)"


def place_of(folder: Path, kind: str) -> Path:
    return folder / f"store{list(KINDS).index(kind)}.db"


def plain_table(path: Path, texts: Texts) -> None:
    """The floor: compressed texts into one table, a transaction a thousand, synchronous full."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE d (id INTEGER PRIMARY KEY, key TEXT UNIQUE, text BLOB)")
        for start in range(0, len(texts), 1000):
            part = texts[start : start + 1000]
            rows = [(key, zstd.compress(text.encode(), 3)) for key, text in part]
            connection.executemany("INSERT INTO d (key, text) VALUES (?, ?)", rows)
            connection.commit()


def ingest(report: Report, folder: Path, texts: Texts) -> None:
    """Fill a store of each kind."""
    megabytes = sum(len(text) for _, text in texts) / 1e6
    table = report.table(
        f"Kinds of stores, {len(texts):,} documents",
        ("what", "documents/s", "MB/s", "of the plain table's rate"),
    )

    def add(name: str, seconds: float) -> None:
        cells = (len(texts) / seconds, megabytes / seconds, floor / seconds)
        table.add(name, *map(figure, cells))

    floor = best_of(lambda: plain_table(folder / "plain.db", texts), 1)
    add("a plain SQLite table (compressed texts, no index but the key)", floor)
    for kind, options in KINDS.items():
        with Store.create(place_of(folder, kind), **options) as store:
            seconds = best_of(lambda s=store: s.add_many(texts, refresh=False), 1)
            assert len(store) == len(texts)
        add(f"simstore, {kind}", seconds)
    with Store.open(place_of(folder, "web")) as store:
        seconds = best_of(lambda: store.add_many(texts), 1)
        assert len(store) == len(texts)
    add("simstore, web, the same once more (all unchanged)", seconds)


def query(report: Report, folder: Path, texts: Texts) -> None:
    """Ask by text, where the peers are given the fingerprint."""
    table = report.table(
        "One query by text, radius 3",
        ("what", "median, ms", "p95, ms", "times the scan"),
        note="A query by text tokenises, counts, hashes and sketches the sample first, and reads "
        "the documents that it names; the scan is given the fingerprint and names none.",
    )
    with Store.open(place_of(folder, "web")) as store:
        values = np.array([int(d.fingerprint or "0", 16) for d in store], np.uint64)
        chosen = list(range(0, len(texts), max(len(texts) // QUERIES, 1)))[:QUERIES]
        index = PypiSimhash(np.unique(values))
        truth = brute_force(np.unique(values), values[chosen])

        def ask(number: int, **options: Any) -> tuple[Match, ...]:
            found = store.query_many([texts[number]], QueryOptions(**options))
            return found[0].matches

        def scan(number: int) -> Any:
            return np.flatnonzero(np.bitwise_count(values ^ values[number]) <= 3)

        for number, near in zip(chosen, truth, strict=True):
            found = {match.key for match in ask(number, channels=("simhash",))}
            assert found == {texts[place][0] for place in scan(number)}, "all within the radius"
            assert index.answer(int(values[number])) == near
        works: dict[str, Callable[[int], object]] = {
            SCAN: scan,
            "PyPI SimhashIndex in memory (fingerprint given)": lambda n: index.ask(int(values[n])),
            "simstore from the file, simhash, not verified (text given)": lambda n: ask(
                n, channels=("simhash",), verify=False
            ),
            "simstore, both channels, not verified": lambda n: ask(n, verify=False),
            "simstore, both channels, every match verified": ask,
        }
        timings = interleaved(works, chosen, block=30)
        many = [(str(number), texts[number][1]) for number in chosen]
        together = best_of(lambda: store.query_many(many)) / len(many) * 1e6
    timings[f"simstore, {len(many)} samples in one call, each"] = Timing([[together]])
    floor = timings[SCAN].median
    for name, timing in timings.items():
        p95 = figure(timing.p95 / 1e3) if len(timing.blocks) > 1 else ""
        table.add(name, figure(timing.median / 1e3), p95, figure(timing.median / floor))


def sizes(report: Report, folder: Path, count: int) -> None:
    table = report.table(
        "Bytes a document, after `compact`",
        ("store", "all", "texts alone", "fingerprints", "sketches and bands"),
    )
    for kind in KINDS:
        with Store.open(place_of(folder, kind)) as store:
            after = store.maintenance.compact().bytes_after
            texts = store.stats(sizes=True).stored_text_bytes or 0
        cells = (after, texts, *channel_bytes(place_of(folder, kind)))
        table.add(kind, *(f"{cell / count:,.0f}" for cell in cells))


def channel_bytes(path: Path) -> tuple[int, int]:
    """Return the bytes of all pages of the file that fingerprints, and sketches, take."""
    with closing(sqlite3.connect(path)) as connection:
        found = dict(connection.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name"))
    sums = [
        sum(size for name, size in found.items() if any(part in name for part in parts))
        for parts in (("fingerprint_",), ("sketch", "band_"))
    ]
    return sums[0], sums[1]


def generations(report: Report, folder: Path, texts: Texts) -> None:
    table = report.table(
        "A generation of the scheme simtool (N = 1000, M = 64)",
        ("what", "seconds", "documents/s"),
    )
    with Store.open(place_of(folder, list(KINDS)[-1])) as store:
        first = best_of(store.vocabulary.refresh, 1)
        table.add("first generation", figure(first), figure(len(texts) / first))
        store.add_many([(f"more-{k}", t[::-1]) for k, t in texts[:100]], refresh=False)
        again = best_of(store.vocabulary.refresh, 1)
        table.add("after 100 more documents", figure(again), figure(len(texts) / again))
        assert store.vocabulary.status().fresh
        assert not store.maintenance.fsck()


def main() -> None:
    made = parser(__doc__)
    made.add_argument("--documents", type=int, default=20_000)
    options = made.parse_args()
    texts = list(documents(2_000 if options.quick else options.documents))
    size = sum(len(text) for _, text in texts) / len(texts)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    intro = (
        f"{len(texts):,} documents of {size:,.0f} bytes of invented words with a natural "
        "frequency curve; a tenth are light edits of an earlier one (`benchmarks/corpus.py`, "
        "seeded)."
    )
    report = Report("document_store", "A store of documents", intro)
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        ingest(report, folder, texts)
        query(report, folder, texts)
        sizes(report, folder, len(texts))
        generations(report, folder, texts)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    report.intro += (
        f" Memory: {before / 1e6:,.0f} MB held the corpus before the first store was made, "
        f"{peak / 1e6:,.0f} MB was the peak."
    )
    report.finish(options.results)


if __name__ == "__main__":
    main()
