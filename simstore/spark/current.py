"""Merge new records into the documents of earlier runs: one for each key, each text once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simstore.spark.options import SKETCH_COLUMNS
from simstore.spark.output import COLUMNS, WORK, Output

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Who says when a document was first seen, the strongest last.
_BASES = ("ingest", "crawl", "published")
_SIGNATURE = ("w0", "w1", "feature_count", "shingle_count", "byte_count", *SKETCH_COLUMNS.values())


def add_documents(output: Output, read: DataFrame) -> DataFrame:
    """Merge new records into the documents, write the new ones, and return them.

    Of the records of a key that one counts which was seen last, of several the last; a document
    keeps the place of its first record, and the earliest time that one of them tells.

    Args:
        output: Documents of earlier runs; rows that are replaced are superseded.
        read: Records, ``READ_COLUMNS``.
    """
    from pyspark.sql import functions as f

    new = read.where("text_digest is not null").withColumn("record", f.col("place"))
    earlier = output.documents()
    slim = _outlines(new, fresh=True).unionByName(
        _outlines(earlier, fresh=False).join(_keys(new).distinct(), "key_id", "left_semi")
        if output.manifest["tables"]["documents"]
        else _outlines(new, fresh=True).limit(0)
    )
    outlines = (
        slim.groupBy("key_id")
        .agg(
            f.count(f.lit(1)).alias("records"),
            f.max(f.struct("last_seen", "record")).alias("winner"),
            f.min("place").alias("seat"),
            f.min(f.struct("first_seen", "weakness")).alias("claim"),
            f.max(f.when(f.col("fresh"), f.col("record"))).alias("number"),
            f.collect_list(f.when(~f.col("fresh"), f.col("record"))).alias("replaced"),
        )
        .where("records > 1")
    )
    outlines, counts = output.folder.write_counting(
        outlines,
        {"keys": f.count(f.lit(1)), "replaced": f.sum(f.size("replaced"))},
        WORK,
        "told",
    )
    if not counts["keys"]:
        return output.add("documents", new)
    bases = f.array(*(f.lit(name) for name in reversed(_BASES)))
    changes = outlines.select(
        "key_id",
        f.col("winner.record").alias("winner"),
        f.col("winner.last_seen").alias("now_last"),
        "seat",
        f.col("claim.first_seen").alias("now_first"),
        f.element_at(bases, (f.col("claim.weakness") + 1).cast("int")).alias("now_basis"),
        "number",
    )
    both = _as_stored(new)
    if output.manifest["tables"]["documents"]:
        both = both.unionByName(_as_stored(earlier))
    won = (
        both.withColumnRenamed("record", "winner")
        .join(changes, "winner")
        .withColumns(
            {
                "place": f.col("seat"),
                "record": f.col("number"),
                "first_seen": f.col("now_first"),
                "first_seen_basis": f.col("now_basis"),
                "last_seen": f.col("now_last"),
            }
        )
    )
    single = new.join(
        outlines.select(f.col("key_id").alias("newer")),
        _key_id() == f.col("newer"),
        "left_anti",
    )
    superseded = outlines.select(f.explode("replaced").alias("record"))
    names = both.columns
    added = output.add("documents", _as_stored(single).unionByName(won.select(*names)))
    if counts["replaced"]:
        output.add("superseded", superseded)
    return added


def add_texts(output: Output, read: DataFrame, added: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Write the texts that are new; return those of earlier runs that are still there, and these.

    Args:
        output: Texts of earlier runs.
        read: Records, with the signatures of their texts.
        added: The documents that the run has written.
    """
    from pyspark.sql import functions as f

    earlier, moved = output.texts(), None
    superseded = output.of_run("superseded")
    if superseded is not None:
        moved = output.folder.write(_moved(output, superseded), WORK, "moved-texts")
        earlier = earlier.unionByName(moved)
    held = added.groupBy("digest").agg(f.min("record").alias("text_id"))
    if output.manifest["tables"]["texts"]:
        held = held.join(earlier.select("digest"), "digest", "left_anti")
    signed = read.where("text_digest is not null").select("digest", *_SIGNATURE)
    # All signatures of a digest are equal.
    new = (
        signed.join(held, "digest")
        .groupBy("digest", "text_id")
        .agg(*(f.first(name).alias(name) for name in _SIGNATURE))
        .withColumn("holder", f.col("text_id"))
    )
    if moved is None:
        return earlier, output.add("texts", new)
    new = output.folder.write(new, WORK, "new-texts")
    earlier = output.folder.write(earlier, WORK, "earlier-texts")
    output.add("texts", new.unionByName(moved))
    return earlier, new


def _moved(output: Output, superseded: DataFrame) -> DataFrame:
    """Return the texts that stood, whose holder is gone, and that another document has.

    One that was gone before this run is not among them: it was not compared meanwhile, so it comes
    as a new text.

    Args:
        output: All runs, this one's documents too.
        superseded: ``record`` of what this run superseded.
    """
    from pyspark.sql import functions as f

    superseded_holders = superseded.withColumnRenamed("record", "holder")
    lost = output.table("texts").join(superseded_holders, "holder", "left_semi").drop("holder")
    holders = (
        output.documents()
        .join(lost.select("digest"), "digest", "left_semi")
        .groupBy("digest")
        .agg(f.min("record").alias("holder"))
    )
    return lost.join(holders, "digest")


def _outlines(documents: DataFrame, *, fresh: bool) -> DataFrame:
    from pyspark.sql import functions as f

    weakness = f.array_position(
        f.array(*(f.lit(n) for n in reversed(_BASES))), f.col("first_seen_basis")
    )
    return documents.select(
        _key_id().alias("key_id"),
        "record",
        "place",
        "last_seen",
        "first_seen",
        (weakness - 1).alias("weakness"),
        f.lit(fresh).alias("fresh"),
    )


def _keys(documents: DataFrame) -> DataFrame:
    return documents.select(_key_id().alias("key_id"))


def _key_id() -> Any:
    """Return the bytes of a key."""
    from pyspark.sql import functions as f

    return f.coalesce(f.unbase64("key_base64"), f.encode("key", "UTF-8"))


def _as_stored(documents: DataFrame) -> DataFrame:
    """Return the columns that documents of earlier runs have too."""
    return documents.select(*(column.split()[0] for column in COLUMNS["documents"].split(",")))
