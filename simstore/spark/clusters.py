"""Build clusters on Spark: each canonical document with the documents similar enough to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from simstore.search.stars import star_clusters
from simstore.spark.groups import column
from simstore.spark.reading import arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


# Rows of the table of clusters, as ``simstore clusters`` tells them.
CLUSTER_COLUMNS = (
    "cluster bigint, key string, key_base64 string, role string, distance int, "
    "resemblance double, reason string, canonical string, canonical_base64 string, place bigint"
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


def clusters(
    documents: DataFrame, orders: DataFrame, starred: DataFrame, edges: DataFrame
) -> DataFrame:
    """Return a row of each document of a cluster of two or more, ``CLUSTER_COLUMNS``.

    Args:
        documents: With ``key``, ``key_base64``, ``digest``, ``place``, ``fingerprint``.
        orders: Of :func:`order_of_texts`.
        starred: Of :func:`~.gathering.stars`.
        edges: Verified edges.
    """
    from pyspark.sql import functions as f

    # A text without an edge is a cluster where several documents have it.
    alone = (
        orders.where("copies > 1")
        .join(starred, "text_id", "left_anti")
        .select("text_id", f.col("text_id").alias("centre"))
    )
    sizes = orders.select("text_id", "copies")
    every = starred.unionByName(alone)
    several = (
        every.join(sizes, "text_id")
        .groupBy("centre")
        .agg(f.sum("copies").alias("size"))
        .where("size > 1")
        .select("centre")
    )
    held = every.join(several, "centre", "left_semi")
    shares = edges.select("first", "second", "resemblance", "distance")
    spokes = held.withColumn("first", f.least("text_id", "centre")).withColumn(
        "second", f.greatest("text_id", "centre")
    )
    judged = spokes.join(shares, ["first", "second"], "left").drop("first", "second")
    firsts = orders.select(f.col("text_id").alias("centre"), f.col("place").alias("cluster"))
    of_text = judged.join(firsts, "centre").join(orders.select("text_id", "digest"), "text_id")
    canonical = documents.select(
        f.col("place").alias("cluster"),
        f.col("key").alias("canonical"),
        f.col("key_base64").alias("canonical_base64"),
    )
    is_centre = f.col("text_id") == f.col("centre")
    is_canonical = f.col("place") == f.col("cluster")
    return (
        of_text.join(
            documents.select("key", "key_base64", "digest", "place", "fingerprint"), "digest"
        )
        .join(canonical, "cluster")
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
            "canonical",
            "canonical_base64",
            "place",
        )
    )


# A text, and the canonical text of its star; a canonical text is its own.
STAR_COLUMNS = "text_id bigint, centre bigint"
_PLACE = ("major", "first_seen", "place")


def stars(edges: DataFrame, orders: DataFrame, labels: DataFrame) -> DataFrame:
    """Return the star of each text that has an edge, ``STAR_COLUMNS``.

    Components divide the work: whole ones stand in a partition.

    Args:
        edges: ``first``, ``second`` and ``resemblance``.
        orders: ``text_id`` with its place in the policy's order: ``major``, ``first_seen``,
            ``place``, compared in this order.
        labels: ``vertex`` and ``component``.
    """
    from pyspark.sql import functions as f

    placed = edges.join(labels.withColumnRenamed("vertex", "first"), "first").select(
        "component", "first", "second", "resemblance"
    )
    for side in ("first", "second"):
        of_side = orders.select(
            f.col("text_id").alias(side), *(f.col(name).alias(f"{side}_{name}") for name in _PLACE)
        )
        placed = placed.join(of_side, side)
    return placed.repartition("component").mapInArrow(_stars, STAR_COLUMNS)


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
    yield pa.RecordBatch.from_pydict(
        {"text_id": vertices, "centre": vertices[centres]}, schema=arrow_schema(STAR_COLUMNS)
    )


def _names(side: str) -> list[str]:
    return [f"{side}_{name}" for name in _PLACE]
