"""One run of ``simstore spark dedup`` on the benchmark's corpus, for benchmarks/scale.py.

Usage: python benchmarks/spark_job.py DOCUMENTS FOLDER
Prints the bytes that were shuffled, the seconds of the job, and the pairs that were compared.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from corpus import documents

from simstore.spark import dedup, make_session

SETTINGS = {"spark.driver.memory": "1200m", "spark.sql.shuffle.partitions": "8"}


def shuffled_bytes(folder: Path) -> int:
    """Return what all tasks have written for shuffles, compressed, by Spark's log of events."""
    total = 0
    for file in folder.rglob("events_*"):
        for line in file.read_text("utf-8").splitlines():
            event = json.loads(line)
            if event["Event"] == "SparkListenerTaskEnd":
                metrics = event.get("Task Metrics") or {}
                written = metrics.get("Shuffle Write Metrics", {})
                total += int(written.get("Shuffle Bytes Written", 0))
    return total


def main() -> None:
    count, folder = int(sys.argv[1]), Path(sys.argv[2])
    names = []
    held = documents(count)
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
    print(shuffled_bytes(events), seconds, found.candidate_count)


if __name__ == "__main__":
    main()
