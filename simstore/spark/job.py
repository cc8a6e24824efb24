"""The deduplication job: read documents, find and verify candidate pairs, build clusters."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from simstore.errors import InvalidParameter
from simstore.sources.files import open_sources
from simstore.sources.streams import STANDARD_INPUT
from simstore.spark.clusters import clusters, order_of_texts
from simstore.spark.documents import distinct_texts, merged_documents
from simstore.spark.folders import Folder
from simstore.spark.options import DedupOptions
from simstore.spark.output import WORK, Output
from simstore.spark.reading import PLACE, PLACE_BITS, READ_COLUMNS, SPLIT_COLUMNS, Reading
from simstore.spark.search import Searched, search
from simstore.spark.session import failures

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Stage = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class DedupSummary:
    """A summary of a run: counts of documents, candidates, edges and clusters.

    Attributes:
        read_count: Records of the inputs that are documents.
        document_count: Documents, each key once.
        text_count: Distinct texts.
        candidate_count: Pairs of texts that share a key and whose sketches were compared; one that
            two rounds looked at counts twice. It measures the work of this version and depends on
            the order of the inputs, never on cores or partitions; so does ``compared_count``.
        compared_count: Pairs of them that the sketches did not rule out, so that their texts were
            compared.
        edge_count: Verified edges that lead to a canonical text, or were met on the way.
        cluster_count: Clusters of two documents or more.
        dropped_count: Documents that are not the canonical one of their cluster.
        rejected_count: Records of the inputs that cannot be used.
        passed_over_count: Parts of them that are no documents.
        detected_count: Documents of them whose encoding was detected.
        keys: How keys were made of fingerprints; None without them.
        rounds: Rounds in which components were found by the cluster; 0: on the driver.
    """

    read_count: int
    document_count: int
    text_count: int
    candidate_count: int
    compared_count: int
    edge_count: int
    cluster_count: int
    dropped_count: int
    rejected_count: int
    passed_over_count: int
    detected_count: int
    keys: str | None
    rounds: int


def dedup(
    spark: SparkSession,
    inputs: Sequence[str],
    output: str,
    options: DedupOptions | None = None,
    *,
    now: int | None = None,
    on_stage: Stage | None = None,
) -> DedupSummary:
    """Find the near-duplicates of sources, and write documents, pairs and clusters.

    Args:
        spark: A session.
        inputs: Files, folders or patterns, which all machines see under these names. Their order is
            that of ingest.
        output: A folder, on any file system that Spark writes to.
        options: How; None: as a new store does by default.
        now: When documents without a date are seen, seconds since 1970; None: now.
        on_stage: Called with what is done next.

    Raises:
        InvalidParameter: An option is out of its range.
        SourceNotFound: An input means nothing.
        Conflict: There is something in ``output``.
    """
    options = options or DedupOptions()
    if STANDARD_INPUT in inputs:
        raise InvalidParameter("standard input is not on other machines; name files")
    names = [source.name for source in open_sources(inputs, options.read)[0]]
    with failures():
        job = _Job(spark, output, options, now=now, on_stage=on_stage)
        if not names:
            raise InvalidParameter(
                "the inputs hold no file whose type is known; --as says how to read"
            )
        table = spark.sparkContext.parallelize(list(enumerate(names)), len(names))
        splits = spark.createDataFrame(table, SPLIT_COLUMNS)
        return job.run(splits.mapInArrow(job.reading.of_splits, READ_COLUMNS), names)


def dedup_frame(
    frame: DataFrame,
    output: str,
    options: DedupOptions | None = None,
    *,
    now: int | None = None,
    on_stage: Stage | None = None,
) -> DedupSummary:
    """Find the near-duplicates of the rows of a DataFrame; otherwise as :func:`dedup`.

    Args:
        frame: Rows with a key and a text; which columns these are, ``options.read`` says, else
            their usual names. The order of ingest is that of its partitions, and of the rows in
            each.
        output: As of :func:`dedup`, as all the others.
        options: See there.
        now: See there.
        on_stage: See there.
    """
    from pyspark.sql import functions as f

    with failures():
        spark = frame.sparkSession
        job = _Job(spark, output, options or DedupOptions(), now=now, on_stage=on_stage)
        inside = f.monotonically_increasing_id().bitwiseAND(f.lit((1 << 33) - 1))
        source = f.spark_partition_id().cast("bigint")
        placed = frame.withColumn(PLACE, f.shiftleft(source, PLACE_BITS) + inside)
        return job.run(placed.mapInArrow(job.reading.of_rows, READ_COLUMNS), [])


class _Job:
    """A run.

    Args:
        spark: A session.
        output: The folder.
        options: How.
        now: When documents without a date are seen.
        on_stage: Called with what is done next.
    """

    def __init__(
        self,
        spark: SparkSession,
        output: str,
        options: DedupOptions,
        *,
        now: int | None,
        on_stage: Stage | None,
    ) -> None:
        self._options = options
        self._recipe = options.recipe()
        self._output = Output.begun(Folder(spark, output), self._recipe)
        self._work = Folder(spark, self._output.folder.of(WORK))
        self._now = int(time.time()) if now is None else now
        self._say = on_stage or (lambda _: None)
        self.reading = Reading(self._recipe, options.read, os.getcwd(), self._now)

    def run(self, read: DataFrame, names: list[str]) -> DedupSummary:
        """Read the records, search them, write tables and manifest; return a summary.

        Args:
            read: Records, ``READ_COLUMNS``.
            names: Of the sources; none where they are rows of a DataFrame.
        """
        from pyspark.sql import functions as f

        output, say = self._output, self._say
        say("reading")
        read, counts = self._work.write_counting(read, _counts_of_records(), "read")
        if counts["rejected_count"]:
            output.write("rejects", read.where("rejected is not null"))
        documents = output.write("documents", merged_documents(read, self._work))
        texts = output.write("texts", distinct_texts(read, documents))
        say("looking for candidates")
        # Each document has a text and each text a document, so the orders count both.
        orders, counts_of_texts = self._work.write_counting(
            order_of_texts(documents, texts),
            {"text_count": f.count(f.lit(1)), "document_count": f.sum("copies")},
            "orders",
        )
        searched = Searched(texts=texts, documents=documents, orders=orders)
        say("comparing candidates")
        found = search(searched, self._recipe, self._options, self._work)
        output.write("pairs", _with_keys(found.edges, documents))
        say("gathering clusters")
        roles = output.write_counting(
            "clusters", clusters(documents, orders, found.starred), _counts_of_clusters()
        )
        summary = DedupSummary(
            read_count=counts["read_count"],
            document_count=counts_of_texts["document_count"],
            text_count=counts_of_texts["text_count"],
            candidate_count=found.candidate_count,
            compared_count=found.compared_count,
            edge_count=found.edge_count,
            **roles,
            rejected_count=counts["rejected_count"],
            passed_over_count=counts["passed_over_count"],
            detected_count=counts["detected_count"],
            keys=found.keys,
            rounds=found.rounds,
        )
        output.finish({"now": self._now, "sources": names, **asdict(summary)})
        return summary


def _with_keys(edges: DataFrame, documents: DataFrame) -> DataFrame:
    """Return edges with a key of each text."""
    from pyspark.sql import functions as f

    for side in ("first", "second"):
        of_side = documents.select(f.col("record").alias(side), f.col("key").alias(f"{side}_key"))
        edges = edges.join(of_side, side)
    return edges


def _counts_of_records() -> dict[str, Any]:
    """Return aggregates of the records."""
    from pyspark.sql import functions as f

    is_document, is_rejected = f.col("text_digest").isNotNull(), f.col("rejected").isNotNull()
    return {
        "read_count": f.count_if(is_document),
        "rejected_count": f.count_if(is_rejected),
        "passed_over_count": f.count_if(~is_document & ~is_rejected),
        "detected_count": f.count_if(f.col("is_detected")),
    }


def _counts_of_clusters() -> dict[str, Any]:
    """Return aggregates of the table of clusters."""
    from pyspark.sql import functions as f

    return {
        "cluster_count": f.count_if(f.col("role") == "canonical"),
        "dropped_count": f.count_if(f.col("role") == "member"),
    }
