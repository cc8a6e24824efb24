"""What a run of ``simstore spark dedup`` shuffles, by Spark's own counters and step by step.

Usage: python benchmarks/spark_job.py [--texts FOLDER | --corpus | --template] [--documents N]
                                      [--shared FIGURE] [--memory SIZE] [--json]

Texts are files below a folder (by default the packages of this Python), the corpus of the other
benchmarks, or pages of one template with other figures. The clusters are compared with those that
a store makes of the same documents, and a difference fails, before a figure is printed. Bytes,
jobs and stages are those of Spark's log of events; a step is the table that its jobs write.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy
from corpus import documents

from simstore import Store
from simstore.spark import dedup, make_session, read_output

FILES = 4
SUFFIXES = {".py", ".pyi", ".md", ".rst", ".txt", ".html"}
SHORTEST, LONGEST = 400, 20_000
SETTINGS = {"spark.sql.shuffle.partitions": "4"}


@dataclass
class Step:
    """What the jobs of one step did."""

    jobs: int = 0
    stages: int = 0
    shuffled: int = 0
    seconds: float = 0.0


@dataclass
class Counters:
    """Spark's counters of a run."""

    steps: dict[str, Step] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> Counters:
        """Read the log of events below a folder."""
        counters = cls()
        step_of: dict[int, Step] = {}
        begun: dict[int, tuple[Step, int]] = {}
        ran: set[int] = set()
        for event in _events(folder):
            kind = event["Event"]
            if kind == "SparkListenerJobStart":
                name = event.get("Properties", {}).get("spark.job.description") or "other"
                step = counters.steps.setdefault(name, Step())
                step.jobs += 1
                begun[event["Job ID"]] = step, event["Submission Time"]
                for stage in event["Stage IDs"]:
                    step_of.setdefault(stage, step)
            elif kind == "SparkListenerJobEnd":
                step, at = begun[event["Job ID"]]
                step.seconds += (event["Completion Time"] - at) / 1000
            elif kind == "SparkListenerTaskEnd":
                step = step_of[event["Stage ID"]]
                if event["Stage ID"] not in ran:
                    ran.add(event["Stage ID"])
                    step.stages += 1
                written = (event.get("Task Metrics") or {}).get("Shuffle Write Metrics", {})
                step.shuffled += int(written.get("Shuffle Bytes Written", 0))
        return counters

    def total(self) -> Step:
        """Return the sum of all steps."""
        every = self.steps.values()
        return Step(
            sum(step.jobs for step in every),
            sum(step.stages for step in every),
            sum(step.shuffled for step in every),
            sum(step.seconds for step in every),
        )


def _events(folder: Path) -> Iterator[dict[str, Any]]:
    for file in sorted(folder.rglob("events_*")):
        with file.open() as lines:
            for line in lines:
                if line.startswith(
                    ('{"Event":"SparkListenerJob', '{"Event":"SparkListenerTaskEnd')
                ):
                    yield json.loads(line)


def texts_below(folder: Path, most: int) -> Iterator[tuple[str, str]]:
    """Yield (key, text) of files below a folder: every so many of all, in the order of names."""
    found = sorted(path for path in folder.rglob("*") if path.suffix in SUFFIXES)
    found = [path for path in found if path.is_file() and path.stat().st_size >= SHORTEST]
    every = max(1, len(found) // most)
    for path in found[::every][:most]:
        yield (
            str(path.relative_to(folder)),
            path.read_bytes()[:LONGEST].decode("utf-8", "replace"),
        )


def template_pages(count: int, shared: int) -> Iterator[tuple[str, str]]:
    """Yield pages of one template of 300 words; other figures stand for some of them."""
    rng = random.Random(5)
    held = next(documents(1, 3))[1].split()[:300]
    for number in range(count):
        words = [
            word if rng.random() * 1_000 < shared else str(rng.randrange(10**6)) for word in held
        ]
        yield f"page-{number:06}", " ".join(words)


def written(folder: Path, rows: Iterator[tuple[str, str]]) -> tuple[list[str], int]:
    """Write documents to files of JSON Lines; return their names, and how many documents."""
    held = list(rows)
    names = []
    for number in range(FILES):
        path = folder / f"part-{number}.jsonl"
        part = held[number * len(held) // FILES : (number + 1) * len(held) // FILES]
        path.write_text("".join(json.dumps({"key": k, "text": t}) + "\n" for k, t in part))
        names.append(str(path))
    return names, len(held)


def star(canonical: str, key: str, resemblance: float) -> tuple[str, str, float]:
    return canonical, key, round(resemblance, 12)


def stars_of_store(folder: Path, names: list[str]) -> tuple[set[tuple[str, str, float]], float]:
    """Return who is in whose cluster in a store of the documents, and the seconds it took."""
    started = time.perf_counter()
    with Store.create(folder / "store.db") as store:
        store.ingest(names)
        store.clusters.build()
        found = {
            star(cluster.key, member.key, member.resemblance)
            for cluster in store.clusters.list()
            if len(cluster.members) > 1
            for member in cluster.members
        }
    return found, time.perf_counter() - started


def main() -> None:
    given = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    kinds = given.add_mutually_exclusive_group()
    kinds.add_argument("--texts", type=Path, default=Path(numpy.__file__).parents[1])
    kinds.add_argument("--corpus", action="store_true")
    kinds.add_argument("--template", action="store_true")
    given.add_argument("--documents", type=int, default=15_000)
    given.add_argument("--shared", type=int, default=970, help="of 1,000 words of a template")
    given.add_argument("--memory", help="of the driver; by default Spark's own")
    given.add_argument("--json", action="store_true", help="one line for benchmarks/scale.py")
    options = given.parse_args()
    if options.corpus:
        rows = documents(options.documents)
    elif options.template:
        rows = template_pages(options.documents, options.shared)
    else:
        rows = texts_below(options.texts, options.documents)
    with tempfile.TemporaryDirectory() as name:
        report(options, Path(name), itertools.islice(rows, options.documents))


def report(options: argparse.Namespace, folder: Path, rows: Iterator[tuple[str, str]]) -> None:
    names, count = written(folder, rows)
    if not count:
        raise SystemExit("no texts: name a folder with --texts")
    (events := folder / "events").mkdir()
    settings = SETTINGS | {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(),
        "spark.eventLog.compress": "false",
    }
    if options.memory:
        settings["spark.driver.memory"] = options.memory
    with make_session("local[2]", settings) as spark:
        started = time.perf_counter()
        found = dedup(spark, names, str(folder / "out"))
        seconds = time.perf_counter() - started
        table: Any = read_output(spark, str(folder / "out")).table("clusters").toArrow()
    stars = {
        star(r["duplicate_of"] or r["key"], r["key"], r["resemblance"]) for r in table.to_pylist()
    }
    expected, of_store = stars_of_store(folder, names)
    if stars != expected:
        raise SystemExit(f"the clusters differ from a store's: {sorted(stars ^ expected)[:5]}")
    counters = Counters.read(events)
    total = counters.total()
    output = sum(file.stat().st_size for file in (folder / "out").rglob("*.parquet"))
    if options.json:
        facts = {
            "documents": count,
            "shuffled": total.shuffled,
            "seconds": seconds,
            "compared": found.compared_count,
            "output": output,
            "jobs": total.jobs,
        }
        print(json.dumps(facts))
        return
    size = sum(Path(name).stat().st_size for name in names)
    print(f"{count:,} documents, {size:,} bytes; {len(stars):,} in clusters, as in a store")
    print(f"{found.candidate_count:,} candidates, {found.compared_count:,} compared "
          f"({found.compared_count / count:.2f} a document), {found.edge_count:,} edges; "
          f"{seconds:.0f} s, the store {of_store:.0f} s")  # fmt: skip
    print(f"{'step':34} {'jobs':>5} {'stages':>6} {'bytes shuffled':>15} {'a document':>10}")
    for step, one in [*counters.steps.items(), ("all", total)]:
        print(f"{step:34} {one.jobs:5} {one.stages:6} {one.shuffled:15,} "
              f"{one.shuffled / count:10,.0f}")  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
