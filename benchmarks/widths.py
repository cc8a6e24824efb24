"""How wide should a segment be? 4, 8, 16 and 32 bits: candidates, bytes, latency; and threads.

Usage: python benchmarks/widths.py [--quick] [--fingerprints N ...]

By the same compiled look-up for every width. With radius 3, four segments of 4, 8 or 16 bits are
looked up exactly, or two of 32 bits with one bit flipped: each is the cheapest plan of its width.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

import numpy as np
from fingerprints import BITS, RADIUS, Words, brute_force, planted, queries_for
from matplotlib.figure import Figure
from numpy.typing import NDArray
from results import Report, figure, parser

from simstore import compiled
from simstore.index.segments import probe_values, rotated
from simstore.search.table_lookup import NEAR_VALUES, bounds, near_places, offsets_of

WIDTHS = (4, 8, 16, 32)
IMAGE = Path(__file__).resolve().parent.parent / "docs" / "images" / "segment-widths.png"
SINGLE = 2_000
BATCH = 10_000
CHECKED = 100
COLOURS = ("#56B4E9", "#0072B2", "#D55E00")
CANDIDATES, BYTES, LATENCY = (
    "candidates of a query", "bytes a fingerprint", "microseconds a query",
)  # fmt: skip
NO_LIMIT = 1 << 62


class Tables:
    """Sorted copies of fingerprints for the segments of one width that a plan looks at.

    Args:
        words: Fingerprints of 64 bits, distinct.
        width: Bits of a segment, from 4 to 32.
    """

    def __init__(self, words: Words, width: int) -> None:
        self.width = width
        segment_count = min(BITS // width, RADIUS + 1)
        # sum(t + 1) = RADIUS + 1 over the segments that are looked at.
        threshold = (RADIUS + 1) // segment_count - 1
        starts = [width * segment for segment in range(segment_count)]
        shift = np.uint64(64 - width)
        self.masks = np.array(probe_values(0, width, threshold), np.uint64) << shift
        column = words.reshape(-1, 1)
        self.tables = np.stack([np.sort(rotated(column, BITS, start)[0]) for start in starts])
        self.offsets = np.stack([offsets_of(table) for table in self.tables])
        count = len(self.masks)
        self.parts = np.array(
            [
                (number, start, width, number * count, (number + 1) * count)
                for number, start in enumerate(starts)
            ],
            np.int64,
        )
        self.all_masks = np.tile(self.masks, segment_count)
        self.starts = starts

    @property
    def probe_count(self) -> int:
        """Look-ups of a query."""
        return len(self.all_masks)

    @property
    def index_bytes(self) -> int:
        """Bytes of the copies and of what is needed to look into them."""
        return self.tables.nbytes + self.offsets.nbytes

    def near(self, value: int) -> list[int]:
        """Return the fingerprints within the radius of one, ascending."""
        room = 1 << 12
        found = np.empty(room, np.uint64)
        held, asked = (self.tables, self.offsets), (self.parts, self.all_masks)
        count = NEAR_VALUES(held, asked, BITS, value, RADIUS, NO_LIMIT, found)
        if count > room:
            raise OverflowError(f"{count} matches")
        return sorted(set(found[:count].tolist()))

    def candidate_count(self, samples: Words) -> float:
        """Return how many fingerprints a query is compared with, the mean."""
        total = 0
        for table, offsets, start in zip(self.tables, self.offsets, self.starts, strict=True):
            asked = rotated(samples.reshape(-1, 1), BITS, start)[0]
            for mask in self.masks:
                prefixes = (asked ^ mask) >> np.uint64(64 - self.width)
                begins, ends = bounds(table, offsets, prefixes, self.width)
                total += int((ends - begins).sum())
        return total / len(samples)

    def jobs(self, samples: Words, parts: int) -> Iterator[tuple[int, NDArray[np.uint64]]]:
        """Yield the table and the turned samples of each piece of a batch."""
        for number, start in enumerate(self.starts):
            for piece in np.array_split(samples, parts):
                yield number, np.sort(rotated(piece.reshape(-1, 1), BITS, start)[0])

    def look_up(self, job: tuple[int, NDArray[np.uint64]]) -> int:
        """Look a piece up in one table; return how many were found."""
        number, asked = job
        rows, _, _ = near_places(
            self.tables[number],
            self.offsets[number],
            asked,
            np.arange(len(asked)),
            self.masks,
            self.width,
            RADIUS,
        )
        return len(rows)


def check(tables: Tables, words: Words, samples: Words) -> None:
    """Raise ValueError unless the answers are those of a look at everything."""
    for sample, right in zip(samples.tolist(), brute_force(words, samples), strict=True):
        if tables.near(sample) != sorted(value for value, _ in right):
            raise ValueError(f"width {tables.width}: wrong answer for {sample:016x}")


def single_microseconds(tables: Tables, samples: Words) -> float:
    """Return the median time of one query from Python."""
    taken = []
    for value in samples.tolist():
        started = time.perf_counter()
        tables.near(value)
        taken.append(time.perf_counter() - started)
    return 1e6 * median(taken)


def batch_rate(tables: Tables, samples: Words, workers: int) -> float:
    """Return queries a second, best of five, with tables searched by so many threads."""
    jobs = list(tables.jobs(samples, 4))
    best = float("inf")
    with ThreadPoolExecutor(workers) as threads:
        for _ in range(5):
            started = time.perf_counter()
            if workers == 1:
                for job in jobs:
                    tables.look_up(job)
            else:
                list(threads.map(tables.look_up, jobs))
            best = min(best, time.perf_counter() - started)
    return len(samples) / best


def draw(lines: dict[int, list[tuple[int, float, float, float]]], path: Path) -> None:
    """Draw candidates, bytes and latency over the width, a line for each count.

    Args:
        lines: (width, candidates, bytes a fingerprint, microseconds) by count of fingerprints.
        path: The picture.
    """
    picture = Figure(figsize=(10, 3.8), layout="constrained")
    for number, title in enumerate((CANDIDATES, BYTES, LATENCY), start=1):
        axes = picture.add_subplot(1, 3, number)
        for (count, line), colour in zip(lines.items(), COLOURS, strict=False):
            widths = [row[0] for row in line]
            # Nothing to compare is drawn at the foot.
            values = [max(row[number], 0.1) for row in line]
            axes.plot(
                widths, values, "o-", color=colour, linewidth=1.8, markersize=4,
                label=f"{count:,} fingerprints",
            )  # fmt: skip
        if title == LATENCY:
            axes.legend(frameon=False, fontsize=9, labelcolor="linecolor")
        axes.set(xscale="log", xlabel="bits of a segment")
        if title == BYTES:
            axes.set_ylim(0)
        else:
            axes.set_yscale("log")
        axes.set_xticks(WIDTHS, [str(width) for width in WIDTHS])
        axes.minorticks_off()
        axes.set_title(title, loc="left", fontsize=10)
        axes.grid(color="#e4e4e4", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_xlim(3.5, 37)
    picture.savefig(path, dpi=130, metadata={"Software": None})


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--fingerprints", type=int, nargs="+", default=None, metavar="N")
    given = arguments.parse_args()
    counts = given.fingerprints or ([10_000, 100_000] if given.quick else [10**5, 10**6, 10**7])
    compiled.enable(0)
    report = Report(
        "widths",
        "Segments of 4, 8, 16 and 32 bits",
        f"{BITS} bits, radius {RADIUS}, random fingerprints of which a fifth is planted; the same "
        "compiled look-up, in memory, for each width. Every index is checked against a look at "
        "everything first. Bytes are those of the copies that the plan needs.",
    )
    table = report.table(
        "One query",
        ("fingerprints", "bits", "probes", "candidates", "bytes each", "µs a query, median"),
    )
    threads = report.table(
        "A batch of 10,000, queries a second",
        ("fingerprints", "bits", "1 thread", "2 threads", "×"),
        note="Each thread takes one table with a quarter of the batch at a time; the look-up holds "
        "no lock.",
    )
    lines: dict[int, list[tuple[int, float, float, float]]] = {}
    for count in counts:
        words = planted(count)
        samples = queries_for(words, BATCH)
        for width in WIDTHS:
            tables = Tables(words, width)
            check(tables, words, samples[:CHECKED])
            # Narrow segments leave nearly everything to compare: a few samples tell the median.
            single = samples[: SINGLE if width > 8 else 100]
            candidates = tables.candidate_count(single)
            size = tables.index_bytes / count
            latency = single_microseconds(tables, single)
            lines.setdefault(count, []).append((width, candidates, size, latency))
            table.add(
                f"{count:,}",
                width,
                tables.probe_count,
                figure(candidates),
                figure(size),
                figure(latency),
            )
            if width >= 16:
                one, two = (batch_rate(tables, samples, workers) for workers in (1, 2))
                threads.add(f"{count:,}", width, figure(one), figure(two), figure(two / one))
    if not given.quick:
        draw(lines, IMAGE)
        report.image(IMAGE, "Candidates, bytes and latency over the width of a segment")
    report.values["lines"] = {str(count): line for count, line in lines.items()}
    report.finish(given.results)


if __name__ == "__main__":
    main()
