"""How fast texts become fingerprints and sketches, beside other libraries; and the course tool.

Usage: python benchmarks/fingerprinting.py [--quick] [--results FOLDER]
                                           [--yardstick PROGRAM.c --corpus FOLDER ...]

The course tool is measured beside a C program of the same output where one is given: its source
(also SIMSTORE_YARDSTICK) is built by ``gcc -O3 -march=native``; each FOLDER (also
SIMSTORE_YARDSTICK_CORPUS, separated by colons) holds article.txt, sample.txt, stopwords.txt and
hashvalue.txt.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import results
from corpus import documents

from simstore import compiled
from simstore.fingerprint.simhash import to_integers
from simstore.fingerprint.sketching import Sketching
from simstore.fingerprint.web import WebScheme

BATCH_CHARACTERS = 1 << 18
ROUNDS = 7
# Course tool: N and M, and the bounds beside the yardstick by megabytes of article.txt.
SIMTOOL = ("10000", "64")
SMALL, ONE, TEN = 10_000_000, 30_000_000, 300_000_000


def chinese(count: int, seed: int = 2) -> list[str]:
    """Return texts of 1,000 Han characters: words of two of 3,000 by a Zipf law, with marks."""
    rng = np.random.default_rng(seed)
    weights = np.array(list(accumulate(1 / (rank + 3) for rank in range(20_000))))
    words = rng.integers(0x4E00, 0x4E00 + 3000, (20_000, 2))
    made = []
    for _ in range(count):
        drawn = np.searchsorted(weights / weights[-1], rng.random(480))
        text = "".join(map(chr, words[drawn].ravel().tolist()))
        made.append("，".join(text[start : start + 24] for start in range(0, len(text), 24)))
    return made


def batches(texts: Sequence[str]) -> list[list[str]]:
    """Return the texts in lists of about 260,000 characters."""
    made: list[list[str]] = [[]]
    size = 0
    for text in texts:
        if size > BATCH_CHARACTERS:
            made.append([])
            size = 0
        made[-1].append(text)
        size += len(text)
    return made


def fingerprinted(scheme: WebScheme, texts: Sequence[str], *, counted: bool = False) -> list[int]:
    """Return the fingerprint of each text.

    Args:
        scheme: How to make them.
        texts: The texts.
        counted: Make feature counts too, as a store that records its vocabulary wants them.
    """
    made: list[int] = []
    for batch in batches(texts):
        if counted:
            made += to_integers(scheme.fingerprints(scheme.count(batch)))
        else:
            made += to_integers(scheme.fingerprinted(batch)[0])
    return made


def interleaved(methods: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the least seconds of this thread that each method takes, taken in turns."""
    least: dict[str, float] = {}
    for _ in range(rounds):
        for name, run in methods.items():
            started = time.thread_time()
            run()
            taken = time.thread_time() - started
            least[name] = min(taken, least.get(name, taken))
    return least


def switched(run: Callable[[], object], *, fast: bool) -> Callable[[], object]:
    """Return a function that runs another with the compiled forms, or without them."""

    def made() -> object:
        if fast:
            compiled.enable(0)
        else:
            compiled.disable()
        return run()

    return made


def terms(text: str, *, han: bool) -> list[str]:
    """Return lower-cased words of ASCII, or 2-grams of Han runs: what all methods count."""
    if not han:
        return re.findall("[a-z0-9]+", text.lower())
    return [a + b for run in re.findall("[\u4e00-\u9fff]+", text) for a, b in pairwise(run)]


def check_fingerprints(texts: Sequence[str], *, han: bool) -> None:
    """End unless compiled and plain forms agree, and both with the package simhash."""
    from simhash import Simhash

    sample = list(texts[:: max(1, len(texts) // 200)])
    scheme = WebScheme(64)
    # The recipe of the package: counts as weights, the low 64 bits of MD5.
    same = WebScheme(64, weights="tf", feature_hash="md5")
    compiled.disable()
    plain = fingerprinted(scheme, sample), fingerprinted(same, sample)
    compiled.enable(0)
    fast = fingerprinted(scheme, sample), fingerprinted(same, sample)
    theirs = [Simhash(dict(Counter(terms(text, han=han)))).value for text in sample]
    counted = fingerprinted(scheme, sample, counted=True)
    if plain != fast or plain[1] != theirs or counted != plain[0]:
        sys.exit("fingerprints differ: nothing is timed")


def fingerprint_methods(
    texts: Sequence[str], *, han: bool
) -> dict[str, tuple[Callable[[], object], str]]:
    """Return what makes fingerprints of texts, and how it reads them."""
    from gaoya.simhash import SimHashStringIndex
    from simhash import Simhash

    scheme = WebScheme(64)

    def by_simhash() -> None:
        for text in texts:
            _ = Simhash(dict(Counter(terms(text, han=han)))).value

    def by_simhash_default() -> None:
        for text in texts[: len(texts) // 10]:
            _ = Simhash(text).value

    def by_gaoya() -> None:
        kind = {"analyzer": "char", "ngram_range": (2, 2)} if han else {"ngram_range": (1, 1)}
        index = SimHashStringIndex(64, 6, 3, lowercase=True, **kind)
        for place, text in enumerate(texts):
            index.insert_document(place, text)

    units = "2-grams" if han else "words"
    ours = lambda: fingerprinted(scheme, texts)  # noqa: E731
    counted = lambda: fingerprinted(scheme, texts, counted=True)  # noqa: E731
    return {
        "simstore, compiled": (switched(ours, fast=True), f"{units}, scheme web"),
        "simstore, compiled, with counts": (
            switched(counted, fast=True),
            f"{units}, counted for the vocabulary too",
        ),
        "simstore, without Numba": (switched(ours, fast=False), f"{units}, scheme web"),
        "gaoya": (by_gaoya, f"{units}, and puts them into its index"),
        "simhash, of counted features": (by_simhash, f"{units}, counted"),
        "simhash, as it is": (by_simhash_default, "its own 4-grams; a tenth of the texts"),
    }


def fingerprints_part(report: results.Report, texts: Sequence[str], *, han: bool) -> None:
    """Time fingerprints of texts in one language."""
    check_fingerprints(texts, han=han)
    language = "Chinese" if han else "English"
    unit = "M characters/s" if han else "MB/s"
    size = sum(map(len, texts)) / 1e6
    methods = fingerprint_methods(texts, han=han)
    least = interleaved({name: run for name, (run, _) in methods.items()}, 2 if size > 5 else 1)
    again = interleaved({"simstore, compiled": methods["simstore, compiled"][0]}, ROUNDS)
    least["simstore, compiled"] = min(least["simstore, compiled"], again["simstore, compiled"])
    least["simhash, as it is"] *= 10
    table = report.table(
        f"Fingerprints of {language}, one thread",
        ("method", "features", unit, "texts/s", "× slower than simstore"),
        f"{len(texts):,} texts of {size:.1f} million characters, in batches of 260,000. "
        "Checked first: compiled and plain forms give the same, and the same as the package "
        "simhash with its recipe (counts, MD5).",
    )
    base = least["simstore, compiled"]
    for name, (_, features) in methods.items():
        seconds = least[name]
        table.add(
            name,
            features,
            results.figure(size / seconds),
            results.figure(len(texts) / seconds),
            results.figure(seconds / base),
        )
    report.values[f"{language.lower()}_per_second"] = {n: size / s for n, s in least.items()}
    report.target(
        f"{language} to fingerprints, one core", 40 if han else 150, size / base, unit=f" {unit}"
    )
    report.target(f"{language}: beside gaoya", 1, least["gaoya"] / base)


def sketches_part(report: results.Report, texts: Sequence[str]) -> None:
    """Time sketches of 128 values of 3-word shingles."""
    from datasketch import MinHash
    from rensa import RMinHash

    sketching = Sketching()
    compiled.disable()
    sizes, plain = sketching.sketched(texts[:100])
    compiled.enable(0)
    fast_sizes, fast = sketching.sketched(texts[:100])
    if (plain != fast).any() or sizes.tolist() != fast_sizes.tolist():
        sys.exit("sketches differ: nothing is timed")

    def shingles(text: str) -> list[str]:
        words = text.lower().split()
        return [" ".join(words[start : start + 3]) for start in range(len(words) - 2)]

    def ours() -> None:
        for batch in batches(texts):
            sketching.sketched(batch)

    def by_datasketch() -> None:
        for text in texts[: len(texts) // 10]:
            MinHash(128).update_batch([part.encode() for part in shingles(text)])

    def by_rensa() -> None:
        for text in texts:
            made = RMinHash(num_perm=128, seed=42)
            made.update(shingles(text))
            made.digest()

    size = sum(map(len, texts)) / 1e6
    methods: dict[str, Callable[[], object]] = {
        "simstore, compiled": switched(ours, fast=True),
        "simstore, without Numba": switched(ours, fast=False),
        "rensa RMinHash": by_rensa,
        "datasketch MinHash": by_datasketch,
    }
    least = interleaved(methods, 2)
    least["datasketch MinHash"] *= 10
    table = report.table(
        "Sketches of English, one thread",
        ("method", "MB/s", "texts/s", "× slower than simstore"),
        "128 values of 3-word shingles, from the text on; of datasketch a tenth of the texts. "
        "simstore normalizes the text, hashes with 64 bits, and counts the distinct shingles too.",
    )
    for name, seconds in least.items():
        table.add(
            name,
            results.figure(size / seconds),
            results.figure(len(texts) / seconds),
            results.figure(seconds / least["simstore, compiled"]),
        )


def built(source: Path, folder: Path) -> Path:
    """Return the yardstick as a program."""
    program = folder / "yardstick"
    command = ["gcc", "-O3", "-march=native", "-o", str(program), str(source)]
    subprocess.run(command, check=True)
    return program


def simtool_part(report: results.Report, source: Path, folders: Sequence[Path]) -> None:
    """Time whole processes of the course tool and of the yardstick, in turns."""
    table = report.table(
        f"The course tool, `simtool {' '.join(SIMTOOL)}`, whole processes",
        ("article.txt", "pages", "yardstick", "simtool", "of the yardstick"),
        "Medians of runs in turns, both with the files in memory. simtool compiles nothing. "
        "The yardstick is a C program of one thread for this one task; each output is "
        "compared byte by byte.",
    )
    with tempfile.TemporaryDirectory() as name:
        program = built(source, Path(name))
        simtool = Path(sys.executable).parent / "simtool"
        for folder in folders:
            size = (folder / "article.txt").stat().st_size
            taken: dict[str, list[float]] = {"yardstick": [], "simtool": []}
            outputs = set()
            for turn in range(6):
                for who, command in (("yardstick", program), ("simtool", simtool)):
                    started = time.perf_counter()
                    done = subprocess.run(
                        [str(command), *SIMTOOL], cwd=folder, check=True, capture_output=True
                    )
                    if turn:
                        taken[who].append(time.perf_counter() - started)
                    outputs.add((done.stdout, (folder / "result.txt").read_bytes()))
            if len(outputs) > 1:
                sys.exit(f"{folder}: the course tool and the yardstick differ")
            theirs, ours = (statistics.median(taken[who]) for who in ("yardstick", "simtool"))
            pages = (folder / "article.txt").read_bytes().count(b"\f") + 1
            table.add(
                f"{size / 1e6:.1f} MB", f"{pages:,}", f"{theirs:.2f} s", f"{ours:.2f} s",
                results.figure(ours / theirs) + " ×",
            )  # fmt: skip
            said = f"simtool on {size / 1e6:.0f} MB"
            if size < SMALL:
                report.target(f"{said}, whole process", 0.5, ours, at_most=True, unit=" s")
            elif size < TEN:
                report.target(f"{said}: of the yardstick", 2.5, ours / theirs, at_most=True)
            else:
                report.target(f"{said}: of the yardstick", 1.0, ours / theirs, at_most=True)


def main() -> None:
    """Measure all of it."""
    parser = results.parser(__doc__)
    parser.add_argument("--yardstick", type=Path, default=os.environ.get("SIMSTORE_YARDSTICK"))
    given = os.environ.get("SIMSTORE_YARDSTICK_CORPUS", "").split(":")
    parser.add_argument("--corpus", type=Path, nargs="*", default=[Path(p) for p in given if p])
    options: Any = parser.parse_args()
    report = results.Report(
        "fingerprinting",
        "Texts to fingerprints",
        "From decoded texts in memory to fingerprints and sketches; the least time of one thread, "
        "methods in turns.",
    )
    english = [text for _, text in documents(600 if options.quick else 6000)]
    fingerprints_part(report, english, han=False)
    fingerprints_part(report, chinese(600 if options.quick else 4000), han=True)
    sketches_part(report, english)
    if options.yardstick and options.corpus:
        simtool_part(report, Path(options.yardstick), options.corpus)
    else:
        report.target("simtool beside the yardstick", 2.5, None, note="no C program was given")
    report.finish(options.results)


if __name__ == "__main__":
    main()
