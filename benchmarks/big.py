"""5e7 and 1e8 fingerprints, built and queried for real; needs some 6 GB of disk.

Usage: python benchmarks/big.py [--quick] [--fingerprints N ...]

Four rotated sorted tables are the method of Manku, Jain, Das Sarma (WWW 2007, section 3.1); the
figures often quoted for 5e7 fingerprints of 64 bits are 382 MB raw and 1.5 GB for its tables.
"""

from __future__ import annotations

import resource
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
from fingerprints import Words, brute_force, check_pairs, interleaved, queries_for
from ours import Simstore
from results import Report, Table, figure, parser

from simstore import Store

SIZES = [50_000_000, 100_000_000]
MEBIBYTE = 1 << 20


def different(count: int) -> Words:
    """Return random fingerprints, none twice."""
    rng = np.random.default_rng(5)
    made = np.unique(rng.integers(0, 1 << 64, count + 100, dtype=np.uint64))[:count]
    rng.shuffle(made)
    return made


def peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measure(report: Report, sizes: Table, times: Table, count: int, folder: Path) -> None:
    words = different(count)
    samples = queries_for(words, 2_000)
    truth = brute_force(words, samples[:40])
    path = folder / "big.db"
    started = time.perf_counter()
    with Store.create(path, fingerprints_only=True) as store:
        added = store.fingerprints.add(words)
        store.maintenance.compact()
    seconds = time.perf_counter() - started
    assert added == count
    index = Simstore(path)
    size = index.bytes_used()
    assert [index.answer(sample) for sample in samples[:40].tolist()] == truth
    assert index.answers(samples[:40]) == truth
    timing = interleaved({"pages": index.ask}, samples.tolist())["pages"]
    started = time.perf_counter()
    index.ask_many(samples)
    together = len(samples) / (time.perf_counter() - started)
    started = time.perf_counter()
    left, right = index.pairs()
    joined = time.perf_counter() - started
    check_pairs(words, left, right, sample_count=20)
    index.close()
    raw, tables = 8 * count, 32 * count
    sizes.add(
        f"{count:,}",
        f"{raw / MEBIBYTE:,.0f} MiB",
        f"{tables / MEBIBYTE:,.0f} MiB",
        f"{size / MEBIBYTE:,.0f} MiB",
        figure(size / count),
        figure(size / tables),
    )
    times.add(
        f"{count:,}",
        figure(seconds),
        figure(count / seconds),
        figure(timing.median),
        figure(timing.p95),
        figure(together),
        f"{joined:,.0f} ({len(left):,} pairs)",
        f"{peak_bytes() / 1e9:.1f} GB",
    )
    report.values[str(count)] = {
        "bytes": size,
        "build_seconds": seconds,
        "latency_us": [timing.median, timing.p95],
        "batch_per_second": together,
        "self_join_seconds": joined,
    }


def main() -> None:
    made = parser(__doc__)
    made.add_argument("--fingerprints", type=int, nargs="+", default=SIZES)
    options = made.parse_args()
    chosen = [200_000] if options.quick else options.fingerprints
    place = options.folder or Path(tempfile.gettempdir())
    needed = 60 * max(chosen) * 2
    if shutil.disk_usage(place).free < needed:
        raise SystemExit(f"{place}: {needed / 1e9:.0f} GB of disk are needed; name --folder")
    intro = (
        "Different random fingerprints; answers checked against brute force over all of them "
        "before they are timed. *Raw* is 8 bytes each; *four tables* are four rotated sorted "
        "copies, 32 bytes each, before any index or file around them (at 5e7 these are the often "
        "quoted 382 MB and 1.5 GB). Everything is in one SQLite file, durable."
    )
    report = Report("big", "Large stores, for real", intro)
    sizes = report.table(
        "Bytes",
        ("fingerprints", "raw", "four tables", "simstore's file", "bytes each", "of four tables"),
    )
    times = report.table(
        "Time",
        (
            "fingerprints",
            "build, s",
            "rows/s",
            "one query, median, µs",
            "p95, µs",
            "2,000 in one call, queries/s",
            "all pairs, s",
            "peak memory so far",
        ),
    )
    for count in chosen:
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            measure(report, sizes, times, count, Path(folder))
    report.finish(options.results)


if __name__ == "__main__":
    main()
