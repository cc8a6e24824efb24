"""What a part of the benchmarks hands over: tables and targets, as Markdown and as JSON.

A part is a script of its own: it makes a :class:`Report`, fills it, and calls
:meth:`Report.finish`, which prints Markdown on standard output and writes ``PART.json`` into the
folder of results. ``docs/explanation/benchmarks.md`` is assembled from these files, so that a
part can be run again alone. Nothing here needs more than the standard library.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import resource
import sqlite3
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent / "results"
# Options that say where files lie.
PLACES = ("--results", "--folder", "--work", "--corpus", "--yardstick")
PEERS = (
    "copydetect",
    "datasketch",
    "duckdb",
    "faiss-cpu",
    "gaoya",
    "numba",
    "numpy",
    "rapidfuzz",
    "redis",
    "rensa",
    "sentence-plagiarism",
    "simhash",
)


@dataclass
class Table:
    """A table; a cell is what stands in it, already formatted."""

    title: str
    columns: Sequence[str]
    rows: list[Sequence[str]] = field(default_factory=list)
    note: str = ""

    def add(self, *cells: object) -> None:
        """Add a row, and tell of it on standard error."""
        self.rows.append([str(cell) for cell in cells])
        print("  ", " | ".join(self.rows[-1]), file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Target:
    """A figure that was asked for beforehand.

    Attributes:
        asked: The bound; ``reached`` is to be at least it, or with ``at_most`` at most.
        reached: What was measured; None: it was not, and ``note`` says why.
        unit: What stands after the figures, such as ``×`` or `` rows/s``.
    """

    what: str
    asked: float
    reached: float | None
    at_most: bool = False
    unit: str = ""
    note: str = ""

    @property
    def met(self) -> bool | None:
        if self.reached is None:
            return None
        return self.reached <= self.asked if self.at_most else self.reached >= self.asked


def figure(value: float) -> str:
    """Return a number with three digits that count, or whole with separators."""
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if size >= 10 else f"{value:.2f}" if size >= 1 else f"{value:.3g}"


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(columns) + " |", "|---" + "|---:" * (len(columns) - 1) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def target_rows(targets: Iterable[Target]) -> list[list[str]]:
    """Return rows for the columns what, asked, reached, met."""
    rows = []
    for target in targets:
        sign = "≤" if target.at_most else "≥"
        reached = "not measured" if target.reached is None else figure(target.reached) + target.unit
        met = {None: "", True: "yes", False: "**no**"}[target.met]
        met += f" ({target.note})" if target.note else ""
        rows.append([target.what, f"{sign} {figure(target.asked)}{target.unit}", reached, met])
    return rows


def parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser with the options that every part has."""
    made = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--quick", action="store_true", help="small sizes: minutes become seconds")
    made.add_argument("--results", type=Path, default=RESULTS, help="folder of the JSON files")
    made.add_argument("--folder", type=Path, help="where stores are made; default: temporary")
    return made


class Report:
    """The tables, targets and values of one part.

    Args:
        part: Its name, that of its results.
        title: Heading in ``docs/explanation/benchmarks.md``.
        intro: What was measured and how; Markdown.
        script: Name of the script, without ``.py``; empty: that of the part.
    """

    def __init__(self, part: str, title: str, intro: str = "", script: str = "") -> None:
        self.part = part
        self.script = script or part
        self.title = title
        self.intro = intro
        self.tables: list[Table] = []
        self.targets: list[Target] = []
        self.images: list[tuple[str, str]] = []
        self.values: dict[str, Any] = {}
        self._started = time.time()

    def table(self, title: str, columns: Sequence[str], note: str = "") -> Table:
        """Return a new table; add the rows to it."""
        print(f"{self.part}: {title}", file=sys.stderr, flush=True)
        made = Table(title, columns, note=note)
        self.tables.append(made)
        return made

    def target(
        self,
        what: str,
        asked: float,
        reached: float | None,
        *,
        at_most: bool = False,
        unit: str = "×",
        note: str = "",
    ) -> None:
        """Record a figure that was asked for; the default unit is times a peer's."""
        self.targets.append(Target(what, asked, reached, at_most, unit, note))

    def image(self, file: Path, caption: str) -> None:
        """Record a picture in ``docs/images``."""
        self.images.append((file.name, caption))

    def markdown(self, level: int = 2) -> str:
        """Return all of it."""
        return markdown_of(self.record(), level)

    def record(self) -> dict[str, Any]:
        """Return all of it as what JSON can hold."""
        return {
            "part": self.part,
            "title": self.title,
            "command": " ".join(
                ["python", f"benchmarks/{self.script}.py", *_options(sys.argv[1:])]
            ),
            "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
            "seconds": round(time.time() - self._started),
            "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            "machine": machine(),
            "versions": versions(),
            "intro": self.intro,
            "tables": [asdict(table) for table in self.tables],
            "targets": [asdict(target) for target in self.targets],
            "images": self.images,
            "values": self.values,
        }

    def finish(self, folder: Path) -> None:
        """Write ``PART.json`` into a folder and print the Markdown."""
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(self.record(), indent=1, ensure_ascii=False) + "\n"
        (folder / f"{self.part}.json").write_text(text, encoding="utf-8")
        print(self.markdown())


def markdown_of(record: dict[str, Any], level: int = 2) -> str:
    """Return the Markdown of what :meth:`Report.record` made."""
    marks = "#" * level
    parts = [f"{marks} {record['title']}"]
    if record["intro"]:
        parts.append(record["intro"].strip())
    for table in record["tables"]:
        parts.append(f"{marks}# {table['title']}")
        parts.append(markdown_table(table["columns"], table["rows"]))
        if table["note"]:
            parts.append(table["note"].strip())
    parts += [f"![{caption}](../images/{name})" for name, caption in record["images"]]
    return "\n\n".join(parts)


def machine() -> dict[str, Any]:
    """Return what the figures hold for: processor, cores, memory, load."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": platform.system(),
        "load_15_minutes": round(os.getloadavg()[2], 2),
    }


def versions() -> dict[str, str]:
    """Return the versions of everything that was measured."""
    found = {"Python": platform.python_version(), "SQLite": sqlite3.sqlite_version}
    for name in ("simstore", *PEERS):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _options(arguments: Sequence[str]) -> list[str]:
    """Return the options that change what is measured, not where files lie."""
    kept: list[str] = []
    is_place = is_peer = False
    for argument in arguments:
        if argument.startswith("--"):
            is_place = argument in PLACES
            is_peer = argument == "--peer"
        if not is_place:
            # NAME=PYTHON: where the environment of a peer lies is of one machine.
            kept.append(
                f"{argument.partition('=')[0]}=PYTHON" if "=" in argument and is_peer else argument
            )
    return kept


def _processor() -> str:
    """Return the processor's name as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
