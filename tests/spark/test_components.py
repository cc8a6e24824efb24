"""Components in few rounds, whatever the graph is."""

from __future__ import annotations

import math
import random
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (the extra spark)")

import pyarrow as pa

from simstore.spark.clusters import components
from simstore.spark.folders import Folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

LENGTH = 400


def edges_of(paths: int, seed: int) -> tuple[list[tuple[int, int]], dict[int, int]]:
    """Return a long path, short ones and a crowd, with numbers in no order; and the components."""
    random_one = random.Random(seed)
    numbers = random_one.sample(range(10**12), LENGTH + 60 + 2 * paths)
    long, crowd, rest = numbers[:LENGTH], numbers[LENGTH : LENGTH + 60], numbers[LENGTH + 60 :]
    edges = list(pairwise(long))
    edges += [(crowd[0], other) for other in crowd[1:]]
    edges += [(rest[2 * n], rest[2 * n + 1]) for n in range(paths)]
    groups = [long, crowd, *(rest[2 * n : 2 * n + 2] for n in range(paths))]
    random_one.shuffle(edges)
    return edges, {number: min(group) for group in groups for number in group}


@pytest.mark.parametrize("few_edges", [0, 10**6])
def test_a_long_path_is_one_component_after_few_rounds(
    spark: SparkSession, tmp_path: Path, few_edges: int
) -> None:
    edges, expected = edges_of(30, 5)
    table = pa.table({"first": [a for a, _ in edges], "second": [b for _, b in edges]})
    rounds, labels = components(
        spark.createDataFrame(table), Folder(spark, str(tmp_path)), few_edges
    )
    rows = labels.toArrow().to_pylist()
    assert {row["vertex"]: row["component"] for row in rows} == expected
    if few_edges:
        assert rounds == 0
    else:
        # Three quarters are left of each round, on the whole; labels that spread to neighbours
        # would need as many rounds as the path is long.
        assert 3 <= rounds <= math.log(2 * LENGTH) / math.log(4 / 3)
