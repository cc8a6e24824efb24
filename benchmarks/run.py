"""Measure simstore beside what a user could take instead, and write docs/explanation/benchmarks.md.

Usage: python benchmarks/run.py [--quick] [--documents N ...] [--fingerprints N ...]
                                [--only PART ...] [--big] [--page-only] [--here] [--work FOLDER]

One command for all of it. It needs Python 3.11 and a package index: it makes an environment of its
own, with simstore and the peers (the extra ``benchmark``), and runs each part in a process of its
own. A part prints Markdown, and writes its figures to ``benchmarks/results/PART.json``; the page is
assembled from these files, so ``--only PART`` renews one of them. Every answer is checked before it
is timed: a wrong one ends the part, and this command with exit code 1.

``--quick`` takes minutes, its figures mean little, and it leaves the page alone.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from document import page
from results import RESULTS

BENCHMARKS = Path(__file__).resolve().parent
REPOSITORY = BENCHMARKS.parent
PAGE = REPOSITORY / "docs" / "explanation" / "benchmarks.md"
# In the order of the page; growth reads what ingest measured.
PARTS = (
    "fingerprinting",
    "without_numba",
    "ingest",
    "shares",
    "writes",
    "living",
    "passages",
    "graded",
    "clean_flags",
    "service",
    "postgres",
    "startup",
    "neighbours",
    "plans",
    "threads",
    "growth",
    "clustering",
    "dedup",
    "dedup_memory",
    "dedup_filter",
    "big",
    "spark_equality",
    "short_sentences",
    "noise_peers",
)
# Minutes of the machine, gigabytes of disk, data of others, or environments of peers: only when
# asked for.
BY_OPTION = (
    "big", "dedup", "dedup_memory", "dedup_filter", "spark_equality", "short_sentences",
    "noise_peers",
)  # fmt: skip
# Parts of a file with another name.
OPTIONS = {
    "dedup_memory": ("dedup", "--memory", "2000000"),
    "dedup_filter": ("dedup", "--filter", "1000000"),
}
TAKES_DOCUMENTS = ("ingest",)
# These keep what takes long to make.
TAKES_WORK = ("service",)
TAKES_FINGERPRINTS = ("neighbours", "growth")
# One thread for the peers too, whatever they are built with.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def environment(folder: Path) -> Path:
    """Return the Python of the benchmarks' environment; make it, or renew it, where needed."""
    place = folder / "environment"
    python = place / "bin" / "python"
    stamp = place / "made-for"
    wanted = hashlib.sha256((REPOSITORY / "pyproject.toml").read_bytes()).hexdigest()
    if stamp.is_file() and stamp.read_text() == wanted:
        return python
    print(f"making the environment in {place}", file=sys.stderr, flush=True)
    if not python.exists():
        venv.create(place, with_pip=True, symlinks=True)
    command = [python, "-m", "pip", "install", "--quiet", "--editable", f"{REPOSITORY}[benchmark]"]
    subprocess.run(command, check=True)
    stamp.write_text(wanted)
    return python


def command_of(part: str, python: Path, given: argparse.Namespace, results: Path) -> list[str]:
    """Return the command that runs a part."""
    name, *more = OPTIONS.get(part, (part,))
    made = [str(python), str(BENCHMARKS / f"{name}.py"), *more, "--results", str(results)]
    if given.quick:
        made.append("--quick")
    if part in TAKES_WORK:
        made += ["--work", str(given.work.resolve())]
    if given.documents is not None and part in TAKES_DOCUMENTS:
        made += ["--documents", *map(str, given.documents)]
    if given.fingerprints is not None and part in TAKES_FINGERPRINTS:
        made += ["--fingerprints", *map(str, given.fingerprints)]
    return made


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, to try it")
    parser.add_argument("--documents", type=int, nargs="+", help="sizes of ingest")
    parser.add_argument(
        "--fingerprints", type=int, nargs="+", help="sizes of neighbours and growth"
    )
    parser.add_argument("--only", nargs="+", choices=PARTS, metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--big", action="store_true", help="also 1e8 fingerprints: 6 GB of disk")
    parser.add_argument("--page-only", action="store_true", help="assemble the page, run nothing")
    parser.add_argument("--here", action="store_true", help="use this Python, with the peers in it")
    parser.add_argument("--work", type=Path, default=REPOSITORY / ".benchmarks")
    given = parser.parse_args()

    chosen = given.only or [part for part in PARTS if given.big or part not in BY_OPTION]
    failed = []
    with tempfile.TemporaryDirectory() as scratch:
        results = Path(scratch) if given.quick else RESULTS
        if not given.page_only:
            given.work.mkdir(parents=True, exist_ok=True)
            python = Path(sys.executable) if given.here else environment(given.work)
            for part in chosen:
                command = command_of(part, python, given, results)
                print(f"== {part}", file=sys.stderr, flush=True)
                if subprocess.run(command, env={**os.environ, **ONE_THREAD}).returncode:
                    failed.append(part)
    if not given.quick:
        PAGE.write_text(page(RESULTS, PARTS), encoding="utf-8")
        print(f"wrote {PAGE.relative_to(REPOSITORY)}", file=sys.stderr)
    for part in failed:
        print(f"{part} failed; its earlier figures stand", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
