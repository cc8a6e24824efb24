"""Real fingerprints are not uniform: latency on skewed ones, and the classic methods side by side.

Usage: python benchmarks/plans.py [--quick] [--fingerprints N]

The texts are the modules of Python's standard library, cut into pieces of 700 characters: real
text, and the same for everyone with this version of Python.
"""

from __future__ import annotations

import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import numpy as np
from fingerprints import BITS, Answer, Words, best_of, brute_force, interleaved
from neighbours import PAGES, RESIDENT, bind_to_one_processor
from numpy.typing import NDArray
from ours import Simstore, filled
from peers import FLAT, MULTIHASH, Covering, Faiss, Index, NumpyScan
from results import Report, figure, parser

from simstore import compiled
from simstore.classic.hamming_plans import near_many_by
from simstore.fingerprint.web import WebScheme
from simstore.search.methods import CLASSIC_METHODS, check_method
from simstore.search.scan import scan_many
from simstore.search.sorted_tables import SortedTables
from simstore.text.recipes import FeatureRecipe

PIECE_CHARACTERS = 700
SCHEMES = {
    "web --weights tf (words, raw counts)": WebScheme(weights="tf"),
    "web (words, 1 + ln of the count)": WebScheme(),
    "web, 3-word shingles": WebScheme(recipe=FeatureRecipe(shingle=3)),
}
RANDOM = "random, as many"
DEFAULT = "web (words, 1 + ln of the count)"
# The most skewed, and the default.
ASKED = ("web --weights tf (words, raw counts)", DEFAULT)
RADII = (1, 3, 6)
BATCH = 1_000
# Less than this share of the first query says nothing of the further ones.
LEAST_SHARE = 0.1
# A first query that takes longer is measured twice, not five times.
SLOW_SECONDS = 1.0


class Asked(NamedTuple):
    """Matches, and the mean probes and candidates of a query."""

    rows: NDArray[np.int64]
    words: Words
    distances: NDArray[np.int64]
    probe_count: float
    candidate_count: float


def pieces(count: int) -> list[str]:
    """Return pieces of the standard library's modules, in the order of their names."""
    return [piece for _, piece in zip(range(count), _all_pieces(), strict=False)]


def _all_pieces() -> Iterator[str]:
    root = Path(sysconfig.get_paths()["stdlib"])
    for path in sorted(root.rglob("*.py")):
        if "site-packages" in path.parts:
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        for start in range(0, len(text), PIECE_CHARACTERS):
            yield text[start : start + PIECE_CHARACTERS]


def fingerprinted(scheme: WebScheme, texts: list[str]) -> Words:
    """Return the different fingerprints of texts, in random order."""
    parts = [
        scheme.fingerprints(scheme.count(texts[start : start + 1000]))[:, 0]
        for start in range(0, len(texts), 1000)
    ]
    return np.random.default_rng(6).permutation(np.unique(np.concatenate(parts)))


def skew(words: Words, samples: Words) -> tuple[float, int]:
    """Return candidates a sample that share a 16-bit segment, and the most under one value."""
    candidates, most = 0.0, 0
    for shift in (0, 16, 32, 48):
        lengths = np.bincount((words >> np.uint64(shift)).astype(np.uint16), minlength=1 << 16)
        candidates += float(lengths[(samples >> np.uint64(shift)).astype(np.uint16)].mean())
        most = max(most, int(lengths.max()))
    return candidates, most


def on_real_fingerprints(report: Report, kinds: dict[str, Words], folder: Path) -> None:
    """Show the skew of fingerprints, and the cost of queries on the most skewed and the default."""
    shape = report.table(
        "How skewed they are",
        (
            "fingerprints",
            "different",
            "candidates of four exact look-ups",
            "times those of random ones",
            "most under one value",
        ),
    )
    table = report.table(
        "One query, radius 3, on them",
        ("fingerprints", "method", "median, µs", "p95, µs", "p95, times FAISS MultiHash"),
        note="The samples are stored fingerprints, a crowded value met as often as it is crowded.",
    )
    for number, (name, words) in enumerate(kinds.items()):
        samples = words[:1_000]
        candidates, most = skew(words, samples)
        uniform = 4 * len(words) / 2**16 + 4
        shape.add(
            name, f"{len(words):,}", figure(candidates), figure(candidates / uniform), f"{most:,}"
        )
        if name not in ASKED:
            continue
        path = folder / f"{number}.db"
        filled(path, words)
        indexes: dict[str, Index] = {
            PAGES: Simstore(path),
            RESIDENT: Simstore(path, resident=True),
            MULTIHASH: Faiss(words, MULTIHASH),
            FLAT: Faiss(words, FLAT),
            Covering.name: Covering(words, folder / f"covering{number}.db"),
            NumpyScan.name: NumpyScan(words),
        }
        truth = brute_force(words, samples[:500])
        for label, index in indexes.items():
            assert [index.answer(sample) for sample in samples[:500].tolist()] == truth, label
        timings = interleaved({n: i.ask for n, i in indexes.items()}, samples.tolist())
        for label, timing in timings.items():
            table.add(
                name,
                label,
                figure(timing.median),
                figure(timing.p95),
                figure(timings[MULTIHASH].p95 / timing.p95),
            )
        for index in indexes.values():
            index.close()


def classic_methods(report: Report, words: Words) -> None:
    """Show the methods of ``--plan`` on arrays: why ``auto`` chooses as it does."""
    table = report.table(
        "The methods of `--plan`, on arrays in memory",
        (
            "radius",
            "method",
            "probes",
            "candidates",
            "first query, ms",
            "each further, µs",
        ),
        note=f"{DEFAULT}. *First query*: making the tables, or the expanded set, and one answer; "
        f"*further*: of a batch of {BATCH:,}, blank where it is lost in the swing of the first. "
        "Probes and candidates are means a query. A method that cannot do a radius is left out. "
        "`auto` is the planner on sorted tables.",
    )
    samples = words[:BATCH]
    for radius in RADII:
        truth = brute_force(words, samples, radius)
        for method in ("auto", "scan", *CLASSIC_METHODS):
            try:
                check_method(method, BITS, radius, len(words))
            except ValueError:
                continue
            row = cost_of(method, words[:, None], samples[:, None], truth, radius)
            table.add(str(radius), method, *row)


def asked_by(method: str, words: Words, samples: Words, radius: int) -> Asked:
    """Ask an array of shape (n, 1) by a method, from nothing."""
    if method == "scan":
        rows, places, distances = scan_many(words, samples, radius)
        return Asked(rows, words[places], distances, 0.0, float(len(words)))
    if method == "auto":
        tables = SortedTables(words, BITS)
        found = tables.near_many(samples, radius)
        plans = tables.look_ups(samples[:20], radius)
        means = (fmean(plan[1] for plan in plans), fmean(plan[2] for plan in plans))
        return Asked(found.query_rows, found.words, found.distances, *means)
    answer = near_many_by(method, words, BITS, samples, radius)
    means = (float(answer.probe_counts.mean()), float(answer.candidate_counts.mean()))
    return Asked(answer.query_rows, answer.words, answer.distances, *means)


def cost_of(
    method: str, words: Words, samples: Words, truth: list[Answer], radius: int
) -> list[str]:
    """Return probes, candidates, ms of the first query and µs of each further one."""
    found = asked_by(method, words, samples, radius)
    columns = (found.rows, found.distances, found.words[:, 0])
    got = sorted(zip(*(column.tolist() for column in columns), strict=True))
    expected = [(row, d, value) for row, answer in enumerate(truth) for value, d in answer]
    assert got == expected, (method, radius)
    first = best_of(lambda: asked_by(method, words, samples[:1], radius), 1)
    repeats = 5 if first < SLOW_SECONDS else 1
    first = min(first, best_of(lambda: asked_by(method, words, samples[:1], radius), repeats))
    every = best_of(lambda: asked_by(method, words, samples, radius), repeats)
    cells = [figure(cell) for cell in (found.probe_count, found.candidate_count, first * 1e3)]
    if every - first < first * LEAST_SHARE:
        return [*cells, ""]
    return [*cells, figure((every - first) / (len(samples) - 1) * 1e6)]


def main() -> None:
    made = parser(__doc__)
    made.add_argument("--fingerprints", type=int, default=40_000)
    options = made.parse_args()
    bind_to_one_processor()
    # A process that asks so much has Numba imported; few fingerprints would not repay it.
    compiled.enable(0)
    texts = pieces(2_000 if options.quick else options.fingerprints)
    kinds = {name: fingerprinted(scheme, texts) for name, scheme in SCHEMES.items()}
    most = max(map(len, kinds.values()))
    kinds[RANDOM] = np.random.default_rng(7).integers(0, 1 << 64, most, dtype=np.uint64)
    intro = (
        f"{len(texts):,} pieces of {PIECE_CHARACTERS} characters of the modules of Python's "
        "standard library. Every answer is checked against brute force."
    )
    report = Report("plans", "Skewed fingerprints, and the classic methods", intro)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        on_real_fingerprints(report, kinds, Path(folder))
    classic_methods(report, kinds[DEFAULT])
    report.finish(options.results)


if __name__ == "__main__":
    main()
