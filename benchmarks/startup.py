"""Whole processes: what a command costs from the shell, interpreter and imports included.

Usage: python benchmarks/startup.py [--quick]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from corpus import documents
from fingerprints import batches_in_turn
from results import Report, figure, parser

from simstore import Store

PAGES = 10
QUERY = f"simstore query, {PAGES} pages"


def main() -> None:
    options = parser(__doc__).parse_args()
    count = 500 if options.quick else 10_000
    texts = list(documents(count))
    report = Report(
        "startup",
        "Whole processes",
        "The least of several runs in turn, of processes started from nothing; warm caches, and "
        "all modules compiled to byte code, as an installer leaves them.",
    )
    table = report.table("From the shell", ("command", "seconds", "times the bare interpreter"))
    program = [str(Path(sys.executable).parent / "simstore")]
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        with Store.create(folder / "simstore.db") as store:
            store.add_many(texts)
        (folder / "one.txt").write_text(f"{texts[0][0]}\n{texts[0][1]}\n", encoding="utf-8")
        pages = "\f".join(f"{key}\n{text}\n" for key, text in texts[:PAGES])
        (folder / "sample.txt").write_text(pages, encoding="utf-8")
        query = [*program, "query", "sample.txt", "--no-record", "--format", "jsonl"]
        # Byte code is kept, whatever the shell says of it, and beside no one's sources.
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(folder / "byte code")}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        answered = subprocess.run(
            query, cwd=folder, env=environment, check=True, capture_output=True, text=True
        )
        assert all(f'"{key}"' in answered.stdout for key, _ in texts[:PAGES])
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "import numpy": [sys.executable, "-c", "import numpy"],
            "import sqlalchemy": [sys.executable, "-c", "import sqlalchemy"],
            "from simstore import Store": [sys.executable, "-c", "from simstore import Store"],
            "simstore --help": [*program, "--help"],
            f"simstore query, one text in a store of {count:,}": [
                *program,
                "query",
                "one.txt",
                "--no-record",
                "--format",
                "jsonl",
            ],
            f"{QUERY} in a store of {count:,}": query,
        }

        def run(command: list[str]) -> None:
            subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)

        seconds = batches_in_turn(
            {label: lambda c=command: run(c) for label, command in commands.items()},  # type: ignore[misc]
            5 if options.quick else 15,
        )
    least = {label: min(runs) for label, runs in seconds.items()}
    bare = least["python -c pass"]
    for label, value in least.items():
        table.add(label, figure(value), figure(value / bare))
    asked = {"simstore --help": 0.15, f"{QUERY} in a store of 10,000": 0.6}
    for label, most in asked.items():
        report.target(label, most, least.get(label), at_most=True, unit=" s")
    report.finish(options.results)


if __name__ == "__main__":
    main()
