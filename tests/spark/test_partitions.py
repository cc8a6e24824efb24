"""What a job reports depends on the documents, not on cores, partitions or the order of inputs."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (the extra spark)")

from simstore.sources.reader import HistoryFields, ReadOptions
from simstore.spark import DedupOptions, dedup, read_output

from . import corpus

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
OPTIONS = DedupOptions(read=ReadOptions(history_fields=HistoryFields(seen="seen")), cell_rows=16)


def dated(count: int) -> list[dict[str, Any]]:
    """Return records each of which has a date of its own, so that these alone order them."""
    return [
        record | {"seen": 1_600_000_000 + number}
        for number, record in enumerate(corpus.documents(count, 5))
    ]


@contextmanager
def partitions(spark: SparkSession, count: int) -> Iterator[None]:
    name = "spark.sql.shuffle.partitions"
    before = spark.conf.get(name)
    spark.conf.set(name, str(count))
    try:
        yield
    finally:
        spark.conf.set(name, before)


def jobs(spark: SparkSession) -> int:
    """Return how many jobs the session has begun."""
    return max(spark.sparkContext.statusTracker().getJobIdsForGroup(None), default=-1) + 1


def test_dated_documents_in_another_order_give_the_same_clusters_and_printed_counts(
    spark: SparkSession, tmp_path: Path
) -> None:
    records = dated(150)
    printed, stars = [], []
    for name, shuffle_partitions, files in (("one", 1, 1), ("other", 7, 4)):
        (tmp_path / name).mkdir()
        inputs = corpus.write(tmp_path / name, records, files)
        before = jobs(spark)
        with partitions(spark, shuffle_partitions):
            found = dedup(spark, inputs, str(tmp_path / name / "out"), OPTIONS)
        # A count takes no job of its own: there were 30 more.
        assert jobs(spark) - before < 80
        printed.append(
            (
                found.read_count,
                found.rejected_count,
                found.document_count,
                found.text_count,
                found.cluster_count,
                found.dropped_count,
            )
        )
        rows = read_output(spark, str(tmp_path / name / "out")).table("clusters")
        stars.append(corpus.stars_of_rows(rows.toArrow().to_pylist()))
        random.Random(9).shuffle(records)
    assert len(stars[0]) > 10
    assert stars[0] == stars[1]
    assert printed[0] == printed[1]
