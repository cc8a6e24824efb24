"""Each main path in processes with Numba and without it: results compared, processor time told.

Usage: python benchmarks/without_numba.py [--rows 6000] [--turns 3] [--only PATH ...] [--page]
       python benchmarks/without_numba.py --peer FOLDER [--rows 6000] [--turns 3] [--only PATH ...]

Processes take turns. Time is the processor's, of the process and its children, from its start to
its end, the import of Numba and the load of its kernels included; the least of the turns. Ends with
an error where the results differ, or a path takes more than 6 times as long without Numba.

With ``--peer`` the other one of the two is this program's path in another checkout of simstore,
each with Numba: to see what a change costs. ``--page`` writes the table into
docs/explanation/benchmarks.md.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from itertools import islice
from pathlib import Path

from corpus import documents

from simstore import Store

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PAGE = ROOT / "docs" / "explanation" / "benchmarks.md"
MARKS = ("<!-- without Numba -->", "<!-- end of without Numba -->")
# Times as long that a path may take without Numba.
MOST = 6.0
# Samples of a query, words of a paper, pages of the course, and their share of the rows.
SAMPLES, PAPERS, ADDED, NEAR = 0.25, 0.004, 0.1, 200_000


def main() -> None:
    """Measure, or run one path in this process."""
    if sys.argv[1:2] == ["--run"]:
        run(sys.argv[2], Path(sys.argv[3]), hide=sys.argv[4] == "hide")
        return
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=6000)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=list(PATHS))
    parser.add_argument("--peer", type=Path)
    parser.add_argument("--page", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder, options.rows)
        lines = measured(folder, options)
    if options.page:
        write_page("\n".join(lines), options)


def measured(folder: Path, options: Namespace) -> list[str]:
    """Return the table of all paths."""
    lines = [
        f"| path | with Numba, s | {'peer' if options.peer else 'without'}, s | ratio |",
        "|---|---|---|---|",
    ]
    print("\n".join(lines), flush=True)
    too_slow = []
    for path in options.only:
        taken: dict[str, list[float]] = {"use": [], "hide": []}
        results = set()
        for turn in range(options.turns + 1):
            for form in taken:
                seconds, result = timed(path, form, folder, options.peer)
                results.add(result)
                # The first processes compile kernels, and find no file in the cache.
                if turn:
                    taken[form].append(seconds)
        if len(results) > 1:
            sys.exit(f"{path}: results differ")
        used, hidden = min(taken["use"]), min(taken["hide"])
        lines.append(f"| {path} | {used:.2f} | {hidden:.2f} | {hidden / used:.2f} |")
        print(lines[-1], flush=True)
        if hidden > MOST * used:
            too_slow.append(path)
    if too_slow:
        sys.exit(f"more than {MOST:g} times slower without Numba: {', '.join(too_slow)}")
    return lines


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
        stderr=None if os.environ.get("SHOW") else subprocess.DEVNULL,
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


def write_page(table: str, options: Namespace) -> None:
    """Put the table between the marks of the page."""
    text = PAGE.read_text()
    begin, end = (text.index(mark) for mark in MARKS)
    program = f"`python benchmarks/without_numba.py --rows {options.rows} --turns {options.turns}`"
    note = f"Printed by {program}.\n\n{table}\n"
    PAGE.write_text(f"{text[:begin]}{MARKS[0]}\n\n{note}\n{text[end:]}")


if __name__ == "__main__":
    main()
