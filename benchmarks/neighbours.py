"""Fingerprints to neighbours: one query, many, all pairs; building, adding to, and bytes.

Usage: python benchmarks/neighbours.py [--quick] [--fingerprints N ...]

64-bit fingerprints, a fifth of them planted near another (``fingerprints.py``), radius 3, all
matches. The process is bound to one processor. Every answer is checked before it is timed: samples
against brute force, the whole batch against the other methods, the self-join against brute force
on a sample of fingerprints.
"""

from __future__ import annotations

import gc
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from fingerprints import (
    Answer,
    Timing,
    Words,
    batches_in_turn,
    brute_force,
    check_pairs,
    interleaved,
    planted,
    queries_for,
)
from ours import Simstore, filled
from peers import (
    FLAT,
    MULTIHASH,
    SMALL_MULTIHASH,
    Covering,
    DuckDb,
    Faiss,
    Index,
    NumpyScan,
    PypiSimhash,
    by_distance,
)
from results import Report, figure, parser

from simstore import Store, compiled

BATCH = 10_000
INSERTED = 50_000
# The largest size of peers whose build takes minutes, or a gigabyte, beyond it.
PYPI_LARGEST = 1_000_000
COVERING_LARGEST = 1_000_000
PAGES, RESIDENT = "simstore, pages of the file", "simstore, resident index"
TAIL = "simstore, pages and a tail of 1,000"
TAIL_COUNT = 1_000
INTRO = """64-bit fingerprints, a fifth planted within 3 bits of another one, the rest random
(`benchmarks/fingerprints.py`, seeded); half of the samples lie within 3 bits of a stored one.
Radius 3, all matches, recall and precision 1.0 for every line, verified by brute force before
anything was timed. One thread: the process is bound to one processor. Methods are timed in turn,
fifty queries each; *times FAISS MultiHash* is the median over these rounds of the quotient of
medians, with two tables of 32 bits. FAISS and PyPI simhash hold everything in memory and nothing
durable."""


# What, unit, whether the figure is a most; then the bounds by number of fingerprints.
QUESTIONS = (
    ("one query, from the pages, vs FAISS MultiHash", "×", False),
    ("one query with a tail of 1,000, vs one without", "×", True),
    ("one query, resident index, vs FAISS MultiHash", "×", False),
    ("10,000 queries in one call, resident index, vs FAISS MultiHash", "×", False),
    ("10,000 queries in one call, from the pages, vs FAISS MultiHash", "×", False),
    ("build, durable", " rows/s", False),
    ("50,000 more, durable", " rows/s", False),
    ("file, packed, all included", " B a fingerprint", True),
    ("all pairs", " fingerprints/s", False),
)
ASKED = {
    1_000_000: (0.8, 1.2, 3, 8, 1, 300_000, 50_000, 28, 1_000_000),
    10_000_000: (1, 1.2, 4.5, 12, 1, 300_000, 50_000, 28, 1_000_000),
}


@dataclass(frozen=True)
class Built:
    """The indexes of one size, and the seconds that building each took."""

    indexes: dict[str, Index]
    seconds: dict[str, float]


def bind_to_one_processor() -> None:
    """Keep this process to one processor, where the system can."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def leave_alone() -> None:
    """Spare what is timed next the millions of objects that other indexes hold."""
    gc.collect()
    gc.freeze()


def built(words: Words, folder: Path, *, with_pypi: bool) -> Built:
    """Build every index; those of a file are durable when the clock stops."""
    store = folder / "simstore.db"
    makers: dict[str, Callable[[], Index]] = {
        **{
            name: lambda name=name: Faiss(words, name)  # type: ignore[misc]
            for name in (MULTIHASH, SMALL_MULTIHASH, FLAT)
        },
        NumpyScan.name: lambda: NumpyScan(words),
        DuckDb.name: lambda: DuckDb(words, folder / "duck.db"),
    }
    if len(words) <= COVERING_LARGEST:
        makers[Covering.name] = lambda: Covering(words, folder / "covering.db")
    if with_pypi and len(words) <= PYPI_LARGEST:
        makers[PypiSimhash.name] = lambda: PypiSimhash(words)
    indexes: dict[str, Index] = {}
    seconds: dict[str, float] = {}
    for name, make in makers.items():
        leave_alone()
        started = time.perf_counter()
        indexes[name] = make()
        seconds[name] = time.perf_counter() - started
    leave_alone()
    started = time.perf_counter()
    filled(store, words)
    seconds[PAGES] = time.perf_counter() - started
    indexes[PAGES] = Simstore(store)
    tail = folder / "with_tail.db"
    filled(tail, words[:-TAIL_COUNT])
    with Store.open(tail) as opened:
        opened.fingerprints.add(words[-TAIL_COUNT:])
    indexes[TAIL] = Simstore(tail, name=TAIL)
    started = time.perf_counter()
    indexes[RESIDENT] = Simstore(store, resident=True)
    indexes[RESIDENT].ask(0)
    seconds[RESIDENT] = time.perf_counter() - started
    return Built(indexes, seconds)


def check(indexes: dict[str, Index], samples: Words, truth: list[Answer]) -> None:
    """Check single answers by brute force, and those of the batch by each other too."""
    agreed: list[Answer] | None = None
    for name, index in indexes.items():
        few = 20 if name == DuckDb.name else len(truth)
        alone = [index.answer(sample) for sample in samples[:few].tolist()]
        assert alone == truth[:few], f"{name}: a single answer"
        if name in (FLAT, NumpyScan.name):
            continue
        batch = index.answers(samples)
        assert batch[: len(truth)] == truth, f"{name}: the batch"
        assert agreed is None or batch == agreed, f"{name}: the batch, beside the others"
        agreed = batch


def singles(
    report: Report, indexes: dict[str, Index], samples: Words, count: int
) -> dict[str, Timing]:
    table = report.table(
        f"One query, {count:,} fingerprints",
        ("method", "median, µs", "p95, µs", "times FAISS MultiHash", "times FAISS Flat"),
    )
    works = {name: index.ask for name, index in indexes.items() if name != DuckDb.name}
    timings = interleaved(works, samples.tolist(), seconds=60)
    for name, timing in timings.items():
        table.add(
            name,
            figure(timing.median),
            figure(timing.p95),
            figure(timing.times_faster_than(timings[MULTIHASH])),
            figure(timing.times_faster_than(timings[FLAT])),
        )
    return timings


def batches(
    report: Report, indexes: dict[str, Index], samples: Words, count: int
) -> dict[str, float]:
    """Return queries a second, the best of the runs in turn."""
    table = report.table(
        f"{len(samples):,} queries in one call, {count:,} fingerprints",
        ("method", "queries/s", "times FAISS MultiHash"),
    )
    chosen = (MULTIHASH, SMALL_MULTIHASH, PAGES, TAIL, RESIDENT, DuckDb.name)
    works = {name: lambda i=indexes[name]: i.ask_many(samples) for name in chosen}  # type: ignore[misc]
    seconds = batches_in_turn(works)
    few = samples[: max(len(samples) // 50, 50)]
    slow = {FLAT: lambda: indexes[FLAT].ask_many(few)}
    if PypiSimhash.name in indexes:
        slow[PypiSimhash.name] = lambda: indexes[PypiSimhash.name].ask_many(few)
    scale = len(samples) / len(few)
    seconds |= {n: [s * scale for s in each] for n, each in batches_in_turn(slow).items()}
    ratios = {name: min(seconds[MULTIHASH]) / min(each) for name, each in seconds.items()}
    for name, each in seconds.items():
        table.add(name, figure(len(samples) / min(each)), figure(ratios[name]))
    return ratios


def building(
    report: Report, made: Built, more: Words, samples: Words, truth: list[Answer], count: int
) -> dict[str, tuple[float, float, float]]:
    """Return rows/s of the build, rows/s of adding more, bytes a fingerprint."""
    table = report.table(
        f"Building, adding {len(more):,} more, and bytes, {count:,} fingerprints",
        ("method", "build, rows/s", "adding, rows/s", "bytes a fingerprint", "where"),
        note="simstore and the SQLite table are durable (`synchronous=FULL`) when the clock stops; "
        "bytes are of the file, or of the serialised index, before the addition. "
        f"Opening the store with a resident index took {made.seconds[RESIDENT]:.2f} s.",
    )
    found = {}
    for name, index in made.indexes.items():
        if name in (RESIDENT, TAIL, FLAT, NumpyScan.name):
            continue
        size = None if name == PypiSimhash.name else index.bytes_used() / count
        started = time.perf_counter()
        index.insert(more)
        added = len(more) / (time.perf_counter() - started)
        # The answers with the additions: brute force over these, and what was there before.
        for sample, before in zip(samples.tolist(), truth, strict=False):
            near = np.flatnonzero(np.bitwise_count(more ^ np.uint64(sample)) <= 3)
            new = [(int(more[p]), (int(more[p]) ^ sample).bit_count()) for p in near.tolist()]
            assert index.answer(sample) == by_distance(before + new), f"{name}: after adding"
        table.add(
            name,
            figure(count / made.seconds[name]),
            figure(added),
            "" if size is None else figure(size),
            "file" if index.on_disk else "memory",
        )
        found[name] = (count / made.seconds[name], added, size or 0.0)
    return found


def self_join(report: Report, made: Built, words: Words) -> float:
    """Return fingerprints a second of finding all pairs, of the resident index."""
    table = report.table(
        f"All pairs within 3 bits, {len(words):,} fingerprints",
        ("method", "pairs", "seconds", "fingerprints/s"),
    )
    rates = {}
    for name in (PAGES, RESIDENT):
        index = made.indexes[name]
        assert isinstance(index, Simstore)
        left, right = index.pairs()
        check_pairs(words, left, right)
        seconds = min(batches_in_turn({name: index.pairs}, 2)[name])
        rates[name] = len(words) / seconds
        table.add(name, f"{len(left):,}", figure(seconds), figure(rates[name]))
    if len(words) <= 1_000_000:
        multihash = made.indexes[MULTIHASH]
        seconds = batches_in_turn({MULTIHASH: lambda: multihash.ask_many(words)}, 1)[MULTIHASH][0]
        name = f"{MULTIHASH}, asked for every one"
        table.add(name, "", figure(seconds), figure(len(words) / seconds))
    return rates[PAGES]


def set_beside_targets(report: Report, count: int, reached: Sequence[float]) -> None:
    """Record what was asked for at this size, in the order of ``QUESTIONS``."""
    if count not in ASKED:
        return
    for (what, unit, at_most), asked, value in zip(QUESTIONS, ASKED[count], reached, strict=True):
        report.target(f"{what}, {count:,}", asked, value, unit=unit, at_most=at_most)


def measure(report: Report, count: int, folder: Path, *, quick: bool) -> None:
    words = planted(count)
    samples = queries_for(words, 1_000 if quick else BATCH)
    truth = brute_force(words, samples[: 500 if count > 1_000_000 or quick else 1_000])
    made = built(words, folder, with_pypi=not quick)
    check(made.indexes, samples, truth)
    timings = singles(report, made.indexes, samples, count)
    ratios = batches(report, made.indexes, samples, count)
    rate = self_join(report, made, words)
    more = np.setdiff1d(planted(INSERTED, seed=4), words)
    costs = building(report, made, more, samples, truth[:100], count)
    report.values[str(count)] = {
        "latency_us": {name: [t.median, t.p95] for name, t in timings.items()},
        "batch_times_multihash": ratios,
        "costs": costs,
        "load_seconds": made.seconds[RESIDENT],
        "self_join_per_second": rate,
    }
    pages, resident = timings[PAGES], timings[RESIDENT]
    reached = (
        pages.times_faster_than(timings[MULTIHASH]),
        pages.times_faster_than(timings[TAIL]),
        resident.times_faster_than(timings[MULTIHASH]),
        ratios[RESIDENT],
        ratios[PAGES],
        *costs[PAGES],
        rate,
    )
    set_beside_targets(report, count, reached)
    for index in made.indexes.values():
        index.close()


def main() -> None:
    made = parser(__doc__)
    made.add_argument("--fingerprints", type=int, nargs="+", default=[1_000_000, 10_000_000])
    options = made.parse_args()
    sizes = [20_000] if options.quick else options.fingerprints
    bind_to_one_processor()
    # A process that asks so much has Numba imported; few fingerprints would not repay it.
    compiled.enable(0)
    report = Report("neighbours", "Fingerprints to neighbours", INTRO)
    for count in sizes:
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            measure(report, count, Path(folder), quick=options.quick)
    report.finish(options.results)


if __name__ == "__main__":
    main()
