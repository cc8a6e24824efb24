"""How cost grows from 1e4 to 1e7: query latency, ingest rate, disk bytes, beside the peers.

Usage: python benchmarks/growth.py [--quick] [--fingerprints N ...] [--draw]

Draws docs/images/growth-latency.png, growth-ingest.png and growth-bytes.png; with ``--draw`` from
the figures of the last run. What concerns documents is read from the results of ``ingest``.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from fingerprints import brute_force, interleaved, planted, queries_for
from growth_plots import Lines, draw
from neighbours import RESIDENT, bind_to_one_processor, built, check
from neighbours import TAIL as SOME_IN_TAIL
from ours import Simstore, filled
from peers import SMALL_MULTIHASH, DuckDb, NumpyScan, PypiSimhash
from results import Report, figure, parser

from simstore import compiled

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
SIZES = [10_000, 100_000, 1_000_000, 10_000_000]
TAIL = "simstore, indexed columns (not packed)"
TAIL_LARGEST = 1_000_000
PICTURES = {
    "latency": ("growth-latency.png", "Latency of one query by the number of fingerprints"),
    "ingest": ("growth-ingest.png", "Rate of building by the number of fingerprints"),
    "bytes": ("growth-bytes.png", "Bytes of the file by the number of fingerprints"),
}


def measure(report: Report, count: int, folder: Path, lines: dict[str, Lines]) -> None:
    words = planted(count)
    samples = queries_for(words, 10_000)
    truth = brute_force(words, samples[:200])
    made = built(words, folder, with_pypi=count <= 100_000)
    indexes, seconds = made.indexes, made.seconds
    for name in (SMALL_MULTIHASH, SOME_IN_TAIL):
        indexes.pop(name).close()
    if count <= TAIL_LARGEST:
        tail = folder / "tail.db"
        filled(tail, words, packed=False)
        indexes[TAIL] = Simstore(tail, name=TAIL)
    check(indexes, samples[:200], truth)
    asks = {name: index.ask for name, index in indexes.items()}
    # One query of it takes as long as a thousand of others, and empties their caches.
    alone = {DuckDb.name: asks.pop(DuckDb.name)}
    timings = interleaved(asks, samples.tolist(), seconds=60)
    timings |= interleaved(alone, samples.tolist(), seconds=5)
    for name, index in indexes.items():
        latency = timings[name].median
        lines["latency"].setdefault(name, []).append((count, latency))
        no_build = name in (RESIDENT, TAIL) or name.startswith("NumPy")
        rate = None if no_build else count / seconds[name]
        unsized = (PypiSimhash.name, NumpyScan.name, RESIDENT)
        size = None if name in unsized else index.bytes_used()
        if rate is not None and not name.startswith("FAISS IndexBinaryFlat"):
            lines["ingest"].setdefault(name, []).append((count, rate))
        if size is not None:
            lines["bytes"].setdefault(name, []).append((count, size))
        index.close()
    if count == TAIL_LARGEST:
        (size,) = (size for n, size in lines["bytes"][TAIL] if n == count)
        report.target(
            f"file, not packed, all included, {count:,}",
            115,
            size / count,
            at_most=True,
            unit=" B a fingerprint",
        )


def of_documents(results: Path) -> dict[str, Lines]:
    """Return rates and bytes of documents, as the part ``ingest`` found them."""
    path = results / "ingest.json"
    if not path.is_file():
        return {}
    values = json.loads(path.read_text(encoding="utf-8"))["values"]
    return {
        "ingest": values.get("documents_per_second", {}),
        "bytes": values.get("bytes_per_document", {}),
    }


def main() -> None:
    made = parser(__doc__)
    made.add_argument("--fingerprints", type=int, nargs="+", default=SIZES)
    made.add_argument("--draw", action="store_true", help="draw the figures of the last run")
    options = made.parse_args()
    images = options.results if options.quick else IMAGES
    if options.draw:
        values: dict[str, Any] = json.loads((options.results / "growth.json").read_text())["values"]
        draw(values, of_documents(options.results), images)
        return
    bind_to_one_processor()
    # A process that asks so much has Numba imported; few fingerprints would not repay it.
    compiled.enable(0)
    intro = "The same data and methods as above; each size is built, checked and timed anew."
    report = Report("growth", "How cost grows", intro)
    lines: dict[str, Lines] = {name: {} for name in PICTURES}
    counts = [1_000, 10_000] if options.quick else options.fingerprints
    for count in counts:
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            measure(report, count, Path(folder), lines)
    table = report.table(
        "One query, median, µs, by the number of fingerprints",
        ("method", *(f"{count:,}" for count in counts)),
    )
    for method, line in lines["latency"].items():
        found = dict(line)
        table.add(method, *(figure(found[n]) if n in found else "" for n in counts))
    report.values |= lines
    options.results.mkdir(parents=True, exist_ok=True)
    images.mkdir(parents=True, exist_ok=True)
    draw(lines, of_documents(options.results), images)
    for file, caption in PICTURES.values():
        report.image(Path(file), caption)
    report.finish(options.results)


if __name__ == "__main__":
    main()
