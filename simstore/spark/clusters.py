"""Build clusters on Spark: each canonical document with the documents similar enough to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from simstore.search.agreement import connected
from simstore.search.stars import star_clusters
from simstore.spark.candidates import column
from simstore.spark.folders import Folder
from simstore.spark.reading import arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


def components(edges: DataFrame, work: Folder, few_edges: int) -> tuple[int, DataFrame]:
    """Return the connected component of each vertex that has an edge.

    Args:
        edges: ``first`` and ``second``, integers; none is a loop.
        work: Where rounds are written, so that no loss of an executor begins them anew.
        few_edges: Up to so many edges are put together on the driver.

    Returns:
        The rounds of contraction; and ``vertex`` and ``component``, the least vertex of it.
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
        # The label of a vertex is where the vertex went; without one, the vertex itself.
        further = labels.select(f.col("vertex").alias("to"), f.col("label").alias("further"))
        labels = work.write(
            went[number]
            .join(further, "to", "left")
            .select("vertex", f.coalesce("further", "to").alias("label")),
            f"labels-{number}",
        )
    least_of = labels.groupBy("label").agg(f.min("vertex").alias("component"))
    named = labels.join(least_of, "label").select("vertex", "component")
    return len(went), work.write(named, "components")


def _put_together(edges: DataFrame) -> object:
    import pyarrow as pa

    table = edges.toArrow()
    first, second = (table.column(name).to_numpy() for name in ("first", "second"))
    vertices, places = np.unique(np.concatenate((first, second)), return_inverse=True)
    places = places.reshape(2, -1)
    labels = connected(places[0], places[1], len(vertices))
    return pa.table({"vertex": vertices, "label": vertices[labels]})


# Rows of the table of clusters, as ``simstore clusters`` tells them; ``duplicate_of`` and
# ``resemblance`` are what ``simstore dedup`` adds to a row.
CLUSTER_COLUMNS = (
    "cluster bigint, key string, key_base64 string, role string, distance int, "
    "resemblance double, reason string, duplicate_of string, duplicate_of_base64 string, "
    "place bigint"
)


def order_of_texts(documents: DataFrame, texts: DataFrame) -> DataFrame:
    """Return, for each text, the document that is first in the policy's order.

    Args:
        documents: With ``digest``, ``major``, ``first_seen``, ``place``.
        texts: With ``text_id``, ``digest``.
    """
    from pyspark.sql import functions as f

    least = documents.groupBy("digest").agg(
        f.min(f.struct("major", "first_seen", "place")).alias("least"),
        f.count(f.lit(1)).alias("copies"),
    )
    return least.join(texts.select("text_id", "digest"), "digest").select(
        "text_id", "digest", "least.*", "copies"
    )


def clusters(documents: DataFrame, orders: DataFrame, starred: DataFrame) -> DataFrame:
    """Return the documents of clusters of two or more, a row each, ``CLUSTER_COLUMNS``.

    Args:
        documents: With ``key``, ``key_base64``, ``digest``, ``place``, ``fingerprint``.
        orders: Of :func:`order_of_texts`.
        starred: Of :func:`stars`.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    of_centre, of_cluster = Window.partitionBy("centre"), Window.partitionBy("cluster")
    is_centre = f.col("text_id") == f.col("centre")
    is_canonical = f.col("place") == f.col("cluster")
    texts = (
        # A text without an edge is a cluster where several documents have it.
        orders.join(starred, "text_id", "left")
        .where("centre is not null or copies > 1")
        .withColumn("centre", f.coalesce("centre", "text_id"))
        .withColumns(
            {
                "size": f.sum("copies").over(of_centre),
                "cluster": f.max(f.when(is_centre, f.col("place"))).over(of_centre),
            }
        )
        .where("size > 1")
        .drop("place")
    )
    keys = f.struct("key", "key_base64")
    return (
        texts.join(
            documents.select("key", "key_base64", "digest", "place", "fingerprint"), "digest"
        )
        .withColumn("told", f.max(f.when(is_canonical, keys)).over(of_cluster))
        .select(
            "cluster",
            "key",
            "key_base64",
            f.when(is_canonical, "canonical").otherwise("member").alias("role"),
            f.when(is_centre & f.col("fingerprint").isNotNull(), f.lit(0))
            .otherwise(f.col("distance"))
            .alias("distance"),
            f.when(is_centre, f.lit(1.0)).otherwise(f.col("resemblance")).alias("resemblance"),
            f.when(is_canonical, "canonical")
            .when(is_centre, "same text")
            .otherwise("resemblance")
            .alias("reason"),
            f.when(~is_canonical, f.col("told.key")).alias("duplicate_of"),
            f.when(~is_canonical, f.col("told.key_base64")).alias("duplicate_of_base64"),
            "place",
        )
    )


# A text, and the canonical text of its star, with the edge to it. A canonical text is its own, at
# a resemblance of 1 and without a distance.
STAR_COLUMNS = "text_id bigint, centre bigint, resemblance double, distance int"
_PLACE = ("major", "first_seen", "place")


def stars(
    edges: DataFrame, count: int, orders: DataFrame, work: Folder, few_edges: int
) -> tuple[int, DataFrame]:
    """Return the canonical text that each text with an edge joins, ``STAR_COLUMNS``.

    The driver builds the stars of few edges. Many edges are first divided into connected
    components by rounds of contraction; each component is then built in one partition.

    Args:
        edges: ``first``, ``second``, ``resemblance`` and ``distance``, written; each pair once.
        count: How many edges there are.
        orders: ``text_id`` with its place in the policy's order: ``major``, ``first_seen``,
            ``place``, compared in this order.
        work: Where rounds are written.
        few_edges: So many are few.

    Returns:
        The rounds of contraction, 0 on the driver; and the stars.
    """
    import pyarrow as pa
    from pyspark.sql import functions as f

    placed = edges.select("first", "second", "resemblance", "distance")
    for side in ("first", "second"):
        of_side = orders.select(
            f.col("text_id").alias(side), *(f.col(name).alias(f"{side}_{name}") for name in _PLACE)
        )
        placed = placed.join(of_side, side)
    if count <= few_edges:
        found = _stars(placed.toArrow().to_batches())
        table = pa.Table.from_batches(list(found), arrow_schema(STAR_COLUMNS))
        return 0, edges.sparkSession.createDataFrame(table)
    rounds, labels = components(edges, work, few_edges)
    placed = placed.join(labels.withColumnRenamed("vertex", "first"), "first")
    return rounds, placed.repartition("component").mapInArrow(_stars, STAR_COLUMNS)


def _stars(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    # The components of a partition, all at once: an edge takes 72 bytes.
    held = [batch for batch in batches if batch.num_rows]
    if not held:
        return
    sides = [
        np.concatenate(
            [
                np.stack([column(batch, name) for name in (side, *_names(side))], axis=1)
                for batch in held
            ]
        )
        for side in ("first", "second")
    ]
    vertices, places = np.unique(
        np.concatenate([side[:, 0] for side in sides]), return_inverse=True
    )
    order = np.empty((len(vertices), len(_PLACE)), np.int64)
    order[places] = np.concatenate([side[:, 1:] for side in sides])
    first, second = places[: len(sides[0])], places[len(sides[0]) :]
    earliest = np.lexsort(order.T[::-1])
    shares = np.concatenate([column(batch, "resemblance") for batch in held])
    centres = star_clusters(first, second, earliest, shares)
    # The edge of each member to its canonical text.
    edges = np.minimum(first, second) * len(vertices) + np.maximum(first, second)
    sorting = np.argsort(edges)
    rows = np.arange(len(vertices))
    own = np.minimum(rows, centres) * len(vertices) + np.maximum(rows, centres)
    at = np.minimum(np.searchsorted(edges[sorting], own), len(edges) - 1)
    chosen, is_centre = sorting[at], centres == rows
    distances = pa.concat_arrays(
        [batch.column(batch.schema.names.index("distance")) for batch in held]
    )
    yield pa.RecordBatch.from_pydict(
        {
            "text_id": vertices,
            "centre": vertices[centres],
            "resemblance": np.where(is_centre, 1.0, shares[chosen]),
            "distance": distances.take(pa.array(chosen, mask=is_centre)),
        },
        schema=arrow_schema(STAR_COLUMNS),
    )


def _names(side: str) -> list[str]:
    return [f"{side}_{name}" for name in _PLACE]
