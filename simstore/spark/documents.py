"""Merge the records that were read into documents, one for each key, and into distinct texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simstore.spark.folders import Folder
from simstore.spark.options import SKETCH_COLUMNS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Who says when a document was first seen, the strongest first.
_BASES = ("published", "crawl", "ingest")
_SIGNATURE = ("w0", "w1", "feature_count", "shingle_count", "byte_count", *SKETCH_COLUMNS.values())


def merged_documents(read: DataFrame, work: Folder) -> DataFrame:
    """Return the document of each key, with the number of its record as ``record``.

    Of the records of a key that one counts which was seen last, of several the last; a document
    keeps the place of its first record, and the earliest time that one of them tells.

    Args:
        read: Records, ``READ_COLUMNS``.
        work: Where the keys of several records are written.
    """
    from pyspark.sql import functions as f

    documents = read.where("text_digest is not null").withColumn("record", f.col("place"))
    bases = f.array(*(f.lit(name) for name in _BASES))
    weakness = f.array_position(bases, f.col("first_seen_basis"))
    # Texts do not travel for it.
    repeated, count = work.write_counted(
        documents.select(
            "key_bytes", "record", "last_seen", "first_seen", weakness.alias("weakness")
        )
        .groupBy("key_bytes")
        .agg(
            f.count(f.lit(1)).alias("records"),
            f.max(f.struct("last_seen", "record")).alias("winner"),
            f.min("record").alias("seat"),
            f.min(f.struct("first_seen", "weakness")).alias("claim"),
        )
        .where("records > 1"),
        "repeated-keys",
    )
    if not count:
        return documents
    changes = repeated.select(
        f.col("winner.record").alias("record"),
        "seat",
        f.col("claim.first_seen").alias("now_first"),
        f.element_at(bases, f.col("claim.weakness").cast("int")).alias("now_basis"),
    )
    won = documents.join(changes, "record").withColumns(
        {
            "place": f.col("seat"),
            "first_seen": f.col("now_first"),
            "first_seen_basis": f.col("now_basis"),
        }
    )
    single = documents.join(repeated.select("key_bytes"), "key_bytes", "left_anti")
    return single.unionByName(won.select(*single.columns))


def distinct_texts(read: DataFrame, documents: DataFrame) -> DataFrame:
    """Return the texts that documents have, each once, with the least ``record`` of one.

    Args:
        read: Records, with the signatures of their texts.
        documents: The documents.
    """
    from pyspark.sql import functions as f

    held = documents.groupBy("digest").agg(f.min("record").alias("text_id"))
    signed = read.where("text_digest is not null").select("digest", *_SIGNATURE)
    # All signatures of a digest are equal.
    return (
        signed.join(held, "digest")
        .groupBy("digest", "text_id")
        .agg(*(f.first(name).alias(name) for name in _SIGNATURE))
    )
