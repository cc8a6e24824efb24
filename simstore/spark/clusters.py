"""Clusters of documents: the stars of their texts, and the copies of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Rows of the table of clusters, as ``simstore clusters`` tells them.
CLUSTER_COLUMNS = (
    "cluster bigint, key string, key_base64 string, role string, distance int, "
    "resemblance double, reason string, canonical string, canonical_base64 string, place bigint"
)


def order_of_texts(documents: DataFrame, texts: DataFrame) -> DataFrame:
    """Return of each text the place of the document that is first in the policy's order.

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
