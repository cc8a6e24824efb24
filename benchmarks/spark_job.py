"""One run of ``simstore spark dedup`` on the benchmark's corpus, for benchmarks/scale.py.

Usage: python benchmarks/spark_job.py DOCUMENTS FOLDER
Prints the bytes that were shuffled, the seconds of the job, and the pairs that were compared.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from corpus import documents

from simstore.spark import dedup, make_session

SETTINGS = {"spark.driver.memory": "1200m", "spark.sql.shuffle.partitions": "8"}


def shuffled_bytes(spark: Any) -> int:
    """Return what all stages have written for shuffles, compressed."""
    store = spark.sparkContext._jsc.sc().statusStore()
    stages = store.stageList(None)
    return sum(stages.apply(n).shuffleWriteBytes() for n in range(stages.size()))


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
    with make_session("local[2]", SETTINGS) as spark:
        started = time.perf_counter()
        found = dedup(spark, names, str(folder / "out"))
        seconds = time.perf_counter() - started
        shuffled = shuffled_bytes(spark)
    print(shuffled, seconds, found.candidate_count)


if __name__ == "__main__":
    main()
