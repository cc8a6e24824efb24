"""Bytes of the file for each packed fingerprint, in a store that grows from size to size.

Usage: python benchmarks/packed.py [--quick] [--sizes N ...] [--kinds random clustered]
       [--bits 64 128] [--compact]

One store of fingerprints alone is filled up to each size in turn, so its pages are rewritten as
they are in a store that grows. Answers are checked against a scan of all fingerprints. Needs about
40 bytes of disk for each fingerprint of the largest size, 80 with ``--compact``.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from fingerprints import Words, brute_force
from ours import Simstore
from results import Report, figure, parser

from simstore import Store

SIZES = [1_000_000, 2_000_000, 5_000_000, 10_000_000, 20_000_000, 50_000_000]
KINDS = ("random", "clustered")
BITS = (64, 128)
# The most bytes asked for.
ASKED = 30
SAMPLES = 20
INTRO = """A store of fingerprints alone that grows from size to size; bytes are those of the whole
file, by fingerprints, after the addition (*grown*) and after `simstore compact` (*compacted*). Of
these the records are 24 for 64 bits and 112 for 128. *Clustered*: groups of sixteen within 6 bits
of a centre, whose segments have small values far more often than large ones. Samples are checked
against a scan of all fingerprints."""


def drawn(kind: str, bits: int, count: int, rng: np.random.Generator) -> Words:
    """Return fingerprints, shape (count, bits / 64)."""
    words = bits // 64
    if kind == "random":
        return rng.integers(0, 1 << 64, (count, words), dtype=np.uint64)
    groups = -(-count // 16)
    # The square of a uniform number: small segment values are more frequent than large ones.
    segments = (65_536 * rng.random((groups, words, 4)) ** 2).astype("<u2")
    centres = segments.view("<u8")[:, :, 0].astype(np.uint64)
    made = np.repeat(centres, 16, axis=0)[:count]
    for _ in range(6):
        places = rng.integers(0, words, count)
        flips = np.uint64(1) << rng.integers(0, 64, count, dtype=np.uint64)
        made[np.arange(count), places] ^= flips
    return made


def checked(path: Path, held: Words, rng: np.random.Generator) -> None:
    """Compare the answers to samples with those of a scan; of 64 bits."""
    samples = held[rng.integers(0, len(held), SAMPLES)] ^ (
        np.uint64(1) << rng.integers(0, 64, SAMPLES, dtype=np.uint64)
    )
    truth = brute_force(np.unique(held), samples)
    index = Simstore(path)
    assert [index.answer(sample) for sample in samples.tolist()] == truth
    assert index.answers(samples) == truth
    index.close()


def measure(
    report: Report, kind: str, bits: int, sizes: list[int], place: Path | None, *, compact: bool
) -> None:
    rng = np.random.default_rng(bits)
    table = report.table(
        f"Bytes a packed fingerprint, {kind}, {bits} bits",
        ("fingerprints", "file, MB", "bytes each, grown", *(["compacted"] if compact else [])),
    )
    held: list[Words] = []
    with tempfile.TemporaryDirectory(dir=place) as folder:
        path = Path(folder) / "packed.db"
        Store.create(path, fingerprints_only=True, bits=bits).close()
        count = 0
        for size in sizes:
            more = drawn(kind, bits, size - count, rng)
            with Store.open(path) as store:
                store.fingerprints.add(more[:, 0] if bits == 64 else more)
                store.maintenance.compact()
                count = store.stats().distinct_fingerprints
                assert store.stats().packed_fingerprints == count
            grown = path.stat().st_size / count
            cells = [f"{count:,}", f"{path.stat().st_size / 1e6:,.0f}", figure(grown)]
            if bits == 64:
                held.append(more[:, 0])
                checked(path, np.concatenate(held), rng)
            if compact:
                with Store.open(path) as store:
                    store.maintenance.compact()
                cells.append(figure(path.stat().st_size / count))
            table.add(*cells)
            report.values[f"{kind} {bits} {size}"] = grown
            if bits == 64:
                report.target(
                    f"bytes a packed fingerprint, {kind}, {size:,}",
                    ASKED,
                    grown,
                    unit=" B",
                    at_most=True,
                )


def main() -> None:
    made = parser(__doc__)
    made.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    made.add_argument("--kinds", choices=KINDS, nargs="+", default=list(KINDS))
    made.add_argument("--bits", type=int, choices=BITS, nargs="+", default=[64])
    made.add_argument("--compact", action="store_true", help="measure a compacted file too")
    options = made.parse_args()
    sizes = [20_000, 150_000] if options.quick else sorted(options.sizes)
    report = Report("packed", "Bytes a packed fingerprint", INTRO)
    for bits in options.bits:
        for kind in options.kinds:
            measure(report, kind, bits, sizes, options.folder, compact=options.compact)
    report.finish(options.results)


if __name__ == "__main__":
    main()
