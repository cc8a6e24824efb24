"""Find connected components on Spark by randomised contraction, in expected O(log n) rounds.

Each round contracts the graph: every vertex goes to the neighbour, or stays with itself, that has
the least random number, and edges lead on between where their ends went. At most three quarters of
the vertices are expected to be left of each round, whatever the graph: a path is no worse than
a crowd.

References:
    Bögeholz, Brand, Todor: In-database connected component analysis, ICDE 2020, sections V and VI
    (randomised contraction).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from simstore.search.agreement import connected

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from simstore.spark.folders import Folder


@dataclass(frozen=True, slots=True)
class Components:
    """The component of each vertex that has an edge.

    Attributes:
        labels: ``vertex`` and ``component``, the least vertex of it.
        rounds: Contractions that it took.
    """

    labels: DataFrame
    rounds: int


def components(edges: DataFrame, work: Folder, few_edges: int) -> Components:
    """Return the connected component of each vertex that has an edge.

    Args:
        edges: ``first`` and ``second``, integers; none is a loop.
        work: Where rounds are written, so that no loss of an executor begins them anew.
        few_edges: Up to so many edges are put together on the driver.
    """
    from pyspark.sql import functions as f

    spark = edges.sparkSession
    left, count = work.write_counted(edges.select("first", "second"), "edges-0")
    went: list[DataFrame] = []
    while count > few_edges:
        number = len(went)
        both = left.unionByName(
            left.select(f.col("second").alias("first"), f.col("first").alias("second"))
        )
        order = f.xxhash64("second", f.lit(number))
        own = f.xxhash64(f.col("vertex"), f.lit(number))
        least = both.groupBy(f.col("first").alias("vertex")).agg(
            f.min(f.struct(order.alias("drawn"), f.col("second").alias("to"))).alias("least")
        )
        moved = work.write(
            least.select(
                "vertex",
                f.when(
                    f.struct(own.alias("drawn"), f.col("vertex").alias("to")) < f.col("least"),
                    f.col("vertex"),
                )
                .otherwise(f.col("least.to"))
                .alias("to"),
            ),
            f"moved-{number}",
        )
        went.append(moved)
        one = moved.select(f.col("vertex").alias("first"), f.col("to").alias("one"))
        other = moved.select(f.col("vertex").alias("second"), f.col("to").alias("other"))
        left, count = work.write_counted(
            left.join(one, "first")
            .join(other, "second")
            .where(f.col("one") != f.col("other"))
            .select(
                f.least("one", "other").alias("first"), f.greatest("one", "other").alias("second")
            )
            .distinct(),
            f"edges-{number + 1}",
        )
    labels = spark.createDataFrame([], "vertex bigint, label bigint")
    if count:
        labels = spark.createDataFrame(_put_together(left))
    for number in range(len(went) - 1, -1, -1):
        # Where a vertex went is where its label is; without one, it is the label itself.
        further = labels.select(f.col("vertex").alias("to"), f.col("label").alias("further"))
        labels = work.write(
            went[number]
            .join(further, "to", "left")
            .select("vertex", f.coalesce("further", "to").alias("label")),
            f"labels-{number}",
        )
    least_of = labels.groupBy("label").agg(f.min("vertex").alias("component"))
    named = labels.join(least_of, "label").select("vertex", "component")
    return Components(work.write(named, "components"), len(went))


def _put_together(edges: DataFrame) -> object:
    import pyarrow as pa

    table = edges.toArrow()
    first, second = (table.column(name).to_numpy() for name in ("first", "second"))
    vertices, places = np.unique(np.concatenate((first, second)), return_inverse=True)
    places = places.reshape(2, -1)
    labels = connected(places[0], places[1], len(vertices))
    return pa.table({"vertex": vertices, "label": vertices[labels]})
