"""Each main path in processes with Numba and without it: results compared, processor time told.

Usage: python benchmarks/without_numba.py [--quick] [--results FOLDER] [--rows 6000] [--turns 3]
                                          [--only PATH ...]
       python benchmarks/without_numba.py --peer FOLDER [--rows 6000] [--turns 3] [--only PATH ...]

Ends with an error where the results differ, or a path takes more than 6 times as long without
Numba. With ``--peer`` each path runs in this checkout and in another one of simstore, both with
Numba, and no results are written: to see what a change costs.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import results
from corpus import documents

from simstore import Store

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
# Times as long that a path may take without Numba.
MOST = 6.0
# Samples of a query, words of a paper, pages of the course, and their share of the rows.
SAMPLES, PAPERS, ADDED, NEAR = 0.25, 0.004, 0.1, 200_000


def main() -> None:
    """Measure, or run one path in this process."""
    if sys.argv[1:2] == ["--run"]:
        run(sys.argv[2], Path(sys.argv[3]), hide=sys.argv[4] == "hide")
        return
    parser = results.parser(__doc__)
    parser.add_argument("--rows", type=int, default=6000)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=list(PATHS))
    parser.add_argument("--peer", type=Path)
    options = parser.parse_args()
    if options.quick:
        options.rows, options.turns = 1000, 1
    report = results.Report(
        "without_numba",
        "Without Numba",
        "Processor time of whole processes in turns, their start and the load of kernels "
        "included; the least of each. Results are compared first.",
    )
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        prepare(Path(name), options.rows)
        slowest = measured(report, Path(name), options)
    if not options.peer:
        report.target("the slowest path without Numba", MOST, slowest, at_most=True)
        report.finish(options.results)
    if slowest > MOST:
        sys.exit(f"a path takes {slowest:.1f} times as long")


def measured(report: results.Report, folder: Path, options: Namespace) -> float:
    """Fill the table of all paths; return the largest ratio."""
    other = "in the other checkout" if options.peer else "without"
    table = report.table(
        "Main paths with Numba and without it",
        ("path", "with Numba, s", f"{other}, s", "times as long"),
        f"{options.rows:,} texts of 600 words; half of them stored before, but for `ingest`. "
        "`query` looks for a quarter of them, `add` adds a tenth one by one, looking for "
        f"duplicates; `neighbours` joins {NEAR:,} fingerprints in memory and looks 25,000 up.",
    )
    slowest = 0.0
    for path in options.only:
        taken: dict[str, list[float]] = {"use": [], "hide": []}
        found = set()
        for turn in range(options.turns + 1):
            for form in taken:
                seconds, result = timed(path, form, folder, options.peer)
                found.add(result)
                # The first processes compile kernels, and find no file in the cache.
                if turn:
                    taken[form].append(seconds)
        if len(found) > 1:
            sys.exit(f"{path}: results differ")
        used, hidden = min(taken["use"]), min(taken["hide"])
        table.add(f"`{path}`", f"{used:.2f}", f"{hidden:.2f}", results.figure(hidden / used))
        slowest = max(slowest, hidden / used)
    return slowest


def timed(path: str, form: str, folder: Path, peer: Path | None) -> tuple[float, str]:
    """Return the processor seconds of a process that takes a path, and its result."""
    place = folder / "run"
    shutil.copytree(folder / "input", place)
    root = peer if peer and form == "hide" else ROOT
    hide = "use" if peer else form
    process = subprocess.Popen(
        [sys.executable, str(HERE / "without_numba.py"), "--run", path, str(place), hide],
        env={**os.environ, "PYTHONPATH": str(root), "SIMSTORE_DB": str(place / "store.db")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=place,
    )
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status):
        sys.exit(f"{path}: exit code {os.waitstatus_to_exitcode(status)}")
    result = place / "result"
    found = result.read_text() if result.exists() else stored(place)
    shutil.rmtree(place)
    return usage.ru_utime + usage.ru_stime, found


def stored(place: Path) -> str:
    """Return the documents of a store: their keys, fingerprints and originals."""
    with Store.open(place / "store.db") as store:
        return repr([(d.key, d.fingerprint, d.duplicate_of) for d in store.list()])


def prepare(folder: Path, rows: int) -> None:
    """Write what the paths read: rows, a store of half of them, samples, papers, the course."""
    place = folder / "input"
    place.mkdir()
    texts = list(documents(rows))
    half = rows // 2
    write_rows(place / "rows.jsonl", texts)
    write_rows(place / "stored.jsonl", texts[:half])
    write_rows(place / "samples.jsonl", texts[half : half + int(SAMPLES * rows)])
    write_rows(place / "added.jsonl", texts[-int(ADDED * rows) :])
    (place / "papers").mkdir()
    rng = random.Random(1)
    for number in range(int(PAPERS * rows)):
        parts = [rng.choice(texts)[1].split() for _ in range(6)]
        (place / "papers" / f"{number:04}.txt").write_text(
            "\n".join(" ".join(part[20:420]) + "." for part in parts)
        )
    pages = (f"{key}\n{text}\n" for key, text in texts)
    (place / "article.txt").write_text("\f".join(pages))
    (place / "sample.txt").write_text("\f".join(f"{k}\n{t}\n" for k, t in islice(texts, 50)))
    (place / "stopwords.txt").write_text("the\nof\n")
    (place / "hashvalue.txt").write_text(
        "".join(f"{rng.getrandbits(64):064b}\n" for _ in range(2000))
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "SIMSTORE_DB": str(place / "store.db")}
    for arguments in (
        ["ingest", "stored.jsonl", "--scheme", "web"],
        ["passages", "build"],
    ):
        subprocess.run(
            [sys.executable, str(ROOT / "cli.py"), *arguments],
            cwd=place, env=environment, check=True, capture_output=True,
        )  # fmt: skip


def write_rows(path: Path, texts: list[tuple[str, str]]) -> None:
    """Write documents as JSON Lines."""
    path.write_text("".join(json.dumps({"key": k, "text": t}) + "\n" for k, t in texts))


# Paths, each in a process of its own: they leave what they found in the file ``result``.


def command(place: Path, *arguments: str, kept: bool = True) -> None:
    """Run a command of simstore here; its output is the result."""
    from simstore.cli import main as simstore

    saved = os.dup(1)
    with (place / ("result" if kept else "other")).open("wb") as file:
        os.dup2(file.fileno(), 1)
        try:
            simstore(list(arguments), prog_name="simstore", standalone_mode=False)
        except SystemExit as exit_:
            if exit_.code:
                raise
        finally:
            sys.stdout.flush()
            os.dup2(saved, 1)


def ingest(place: Path) -> None:
    """Ingest rows, looking for duplicates."""
    (place / "store.db").unlink()
    command(place, "ingest", "rows.jsonl", "--scheme", "web", "--on-duplicate", "flag", kept=False)


def add(place: Path) -> None:
    """Add rows one by one, looking for duplicates."""
    with Store.open(place / "store.db") as store:
        for line in (place / "added.jsonl").read_text().splitlines():
            row = json.loads(line)
            store.add(row["key"], row["text"], on_duplicate="flag")


def query(place: Path) -> None:
    """Look for each sample in the store."""
    command(place, "query", "samples.jsonl", "--no-record", "--verify", "--format", "jsonl")


def dedup(place: Path) -> None:
    """Write rows without their near-duplicates."""
    command(place, "dedup", "rows.jsonl", "-o", "result", kept=False)


def check(place: Path) -> None:
    """Look which passages of papers are in the store."""
    command(place, "check", "papers", "--format", "jsonl")


def simtool(place: Path) -> None:
    """Do the course's assignment."""
    from simstore.cli.simtool import main as course

    try:
        course(["1000", "64"], standalone_mode=False)
    finally:
        shutil.copy(place / "result.txt", place / "result")


def clusters(place: Path) -> None:
    """Group the documents of the store."""
    command(place, "clusters", "--once", "--format", "jsonl")


def neighbours(place: Path) -> None:
    """Look up fingerprints in memory, and join all with all."""
    import numpy as np

    from simstore.search.sorted_tables import SortedTables

    rng = np.random.default_rng(1)
    words = rng.integers(0, 1 << 64, (NEAR, 1), np.uint64)
    tables = SortedTables(words, 64)
    asked = words[:20_000] ^ (np.uint64(1) << rng.integers(0, 64, (20_000, 1), np.uint64))
    found = [tables.near(int(value), 3) for value in asked[:5_000, 0]]
    many = tables.near_many(asked, 3)
    pairs = sum(len(left) for left, *_ in tables.near_pairs(3))
    (place / "result").write_text(repr((found, many.distances.tolist(), pairs)))


PATHS: dict[str, Callable[[Path], None]] = {
    path.__name__: path
    for path in (add, ingest, query, dedup, check, simtool, clusters, neighbours)
}


def run(path: str, place: Path, *, hide: bool) -> None:
    """Take one path in this process.

    Args:
        path: Its name.
        place: A folder with the input.
        hide: Let Numba not be found.
    """
    if hide:
        sys.modules["numba"] = None  # type: ignore[assignment]
    PATHS[path](place)


if __name__ == "__main__":
    main()
