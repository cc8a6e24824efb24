"""One run of ``simstore spark dedup`` on the benchmark's corpus, for benchmarks/scale.py.

Usage: python benchmarks/spark_job.py DOCUMENTS FOLDER [--pages]

Prints jobs, stages, bytes shuffled a document, and in the last line, for programs, the bytes that
were shuffled, the seconds of the job, and the candidate pairs. All are of Spark's own log of
events. ``--pages``: pages of one template instead, the family that is hardest.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from pathlib import Path

from clustering import template_pages
from corpus import documents

from simstore.spark import dedup, make_session

SETTINGS = {"spark.driver.memory": "1200m", "spark.sql.shuffle.partitions": "8"}


def counted(folder: Path) -> Counter[str]:
    """Return jobs, completed stages, and the compressed bytes that tasks have shuffled."""
    found: Counter[str] = Counter()
    for file in folder.rglob("events_*"):
        for line in file.read_text("utf-8").splitlines():
            event = json.loads(line)
            found[event["Event"]] += 1
            if event["Event"] == "SparkListenerTaskEnd":
                metrics = event.get("Task Metrics") or {}
                written = metrics.get("Shuffle Write Metrics", {})
                found["shuffled"] += int(written.get("Shuffle Bytes Written", 0))
    return found


def main() -> None:
    count, folder = int(sys.argv[1]), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    names = []
    held = template_pages(count) if "--pages" in sys.argv[3:] else documents(count)
    for number in range(8):
        path = folder / f"part-{number}.jsonl"
        with path.open("w") as file:
            for _ in range(count // 8 + (number < count % 8)):
                key, text = next(held)
                file.write(json.dumps({"key": key, "text": text}) + "\n")
        names.append(str(path))
    events = folder / "events"
    events.mkdir()
    log = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(),
        "spark.eventLog.compress": "false",
    }
    with make_session("local[2]", SETTINGS | log) as spark:
        started = time.perf_counter()
        found = dedup(spark, names, str(folder / "out"))
        seconds = time.perf_counter() - started
    told = counted(events)
    print(f"{told['SparkListenerJobStart']} jobs, {told['SparkListenerStageCompleted']} stages")
    print(f"{told['shuffled'] / count:,.0f} bytes shuffled a document")
    print(f"{found.edge_count:,} edges, {found.cluster_count:,} clusters, {found.rounds} rounds")
    print(told["shuffled"], seconds, found.candidate_count)


if __name__ == "__main__":
    main()
