"""The deduplication job: read documents, find candidates, verify edges, build clusters."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import reduce
from typing import TYPE_CHECKING

from simstore.errors import InvalidParameter
from simstore.search.block_keys import block_keys
from simstore.sources.files import open_sources
from simstore.sources.streams import STANDARD_INPUT
from simstore.spark.candidates import Bands, NearPrints, by_fingerprints, by_sketches
from simstore.spark.clusters import clusters, order_of_texts, stars
from simstore.spark.components import components
from simstore.spark.current import add_documents, add_texts
from simstore.spark.folders import Folder
from simstore.spark.options import SKETCH_COLUMNS, DedupOptions, Recipe
from simstore.spark.output import WORK, Output
from simstore.spark.reading import PLACE, PLACE_BITS, READ_COLUMNS, SPLIT_COLUMNS, Reading
from simstore.spark.session import failures
from simstore.spark.verifying import likely, verified

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Stage = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class DedupSummary:
    """A summary of a run: counts of documents, candidates, edges and clusters.

    Attributes:
        read_count: Records of the new inputs that are documents.
        document_count: Documents in all, each key once.
        text_count: Distinct texts of all runs.
        candidate_count: Pairs of texts that this run's channels found; those whose sketches rule an
            edge out are not compared.
        edge_count: Verified edges in all.
        cluster_count: Clusters of two documents or more.
        dropped_count: Documents that are not the canonical one of their cluster.
        rejected_count: Records of the new inputs that cannot be used.
        passed_over_count: Parts of them that are no documents.
        detected_count: Documents of them whose encoding was detected.
        keys: How keys were made of fingerprints; None without them.
        rounds: Rounds in which components were found by the cluster; 0: on the driver.
    """

    read_count: int
    document_count: int
    text_count: int
    candidate_count: int
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
    add: bool = False,
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
        add: Add to what earlier runs left in ``output``: only pairs with a new text are looked for,
            and the clusters are what one run over all inputs would give.
        now: When documents without a date are seen, seconds since 1970; None: now.
        on_stage: Called with what is done next.

    Raises:
        InvalidParameter: An option is out of its range, or other than that of earlier runs.
        SourceNotFound: An input means nothing.
        Conflict: There is something in ``output``.
        NotFound: There is nothing to add to.
    """
    options = options or DedupOptions()
    if STANDARD_INPUT in inputs:
        raise InvalidParameter("standard input is not on other machines; name files")
    names = [source.name for source in open_sources(inputs, options.read)[0]]
    with failures():
        job = _Job(spark, output, options, add=add, now=now, on_stage=on_stage)
        if not names:
            raise InvalidParameter(
                "the inputs hold no file whose type is known; --as says how to read"
            )
        rows = [(job.first_source + place, name) for place, name in enumerate(names)]
        table = spark.sparkContext.parallelize(rows, len(rows))
        splits = spark.createDataFrame(table, SPLIT_COLUMNS)
        return job.run(splits.mapInArrow(job.reading.of_splits, READ_COLUMNS), names)


def dedup_frame(
    frame: DataFrame,
    output: str,
    options: DedupOptions | None = None,
    *,
    add: bool = False,
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
        add: See there.
        now: See there.
        on_stage: See there.
    """
    from pyspark.sql import functions as f

    with failures():
        spark = frame.sparkSession
        job = _Job(spark, output, options or DedupOptions(), add=add, now=now, on_stage=on_stage)
        inside = f.monotonically_increasing_id().bitwiseAND(f.lit((1 << 33) - 1))
        source = f.lit(job.first_source).cast("bigint") + f.spark_partition_id()
        placed = frame.withColumn(PLACE, f.shiftleft(source, PLACE_BITS) + inside)
        return job.run(placed.mapInArrow(job.reading.of_rows, READ_COLUMNS), [])


class _Job:
    """A run.

    Args:
        spark: A session.
        output: The folder.
        options: How.
        add: Add to what is there.
        now: When documents without a date are seen.
        on_stage: Called with what is done next.
    """

    def __init__(
        self,
        spark: SparkSession,
        output: str,
        options: DedupOptions,
        *,
        add: bool,
        now: int | None,
        on_stage: Stage | None,
    ) -> None:
        self._options = options
        self._recipe = Recipe.of(options.checked())
        self._output = Output.begun(Folder(spark, output), self._recipe, add=add)
        self._work = Folder(spark, self._output.folder.of(WORK))
        self._now = int(time.time()) if now is None else now
        self._say = on_stage or (lambda _: None)
        self.first_source: int = self._output.manifest["next_source"]
        self.reading = Reading(self._recipe, options.read, os.getcwd(), self._now)

    def run(self, read: DataFrame, names: list[str]) -> DedupSummary:
        """Do all stages.

        Args:
            read: Records, ``READ_COLUMNS``.
            names: Of the sources; none where they are rows of a DataFrame.
        """
        output, say = self._output, self._say
        say("reading")
        read = self._work.write(read, "read")
        rejected = read.where("rejected is not null")
        if not rejected.isEmpty():
            output.add("rejects", rejected)
        added = add_documents(output, read)
        earlier, new = add_texts(output, read, added)
        say("looking for candidates")
        texts, keys, pairs = self._candidates(earlier, new)
        say("comparing candidates")
        edges = self._edges(pairs, texts)
        say("gathering clusters")
        rounds, clustered = self._clusters(edges)
        summary = DedupSummary(
            read_count=read.where("text_digest is not null").count(),
            document_count=output.documents().count(),
            text_count=texts.count(),
            candidate_count=pairs.count(),
            edge_count=edges.count(),
            cluster_count=clustered.where("role = 'canonical'").count(),
            dropped_count=clustered.where("role = 'member'").count(),
            rejected_count=rejected.count(),
            passed_over_count=read.where("text_digest is null and rejected is null").count(),
            detected_count=read.where("is_detected").count(),
            keys=keys,
            rounds=rounds,
        )
        facts = {"now": self._now, "sources": names, **asdict(summary)}
        output.finish(facts, max(self._after(read), self.first_source + len(names)))
        return summary

    @staticmethod
    def _after(read: DataFrame) -> int:
        """Return the number that no source of the records has: one above the largest."""
        from pyspark.sql import functions as f

        [largest] = read.agg(f.max("place").alias("place")).collect()
        return 0 if largest.place is None else (int(largest.place) >> PLACE_BITS) + 1

    def _candidates(
        self, earlier: DataFrame, new: DataFrame
    ) -> tuple[DataFrame, str | None, DataFrame]:
        """Return all texts, how keys were made, and the pairs that one of the channels finds."""
        from pyspark.sql import functions as f

        recipe, options = self._recipe, self._options
        scheme, channels = recipe.open()
        texts = earlier.withColumn("fresh", f.lit(False)).unionByName(
            new.withColumn("fresh", f.lit(True))
        )
        # What has no shingle resembles nothing.
        judged = texts.where("shingle_count > 0")
        count = judged.count()
        parts, chosen = [], None
        if channels.has_fingerprints:
            keys = block_keys(scheme.bits, recipe.radius, count)
            near = NearPrints(scheme.bits, recipe.radius, keys)
            found = by_fingerprints(judged, near, recipe.rule(), options.cell_rows, count)
            parts.append(found.select("first", "second", f.lit(1).alias("channel")))
            chosen = str(keys)
        for sketched in channels.sketched:
            bands = Bands(sketched.layout, SKETCH_COLUMNS[sketched.name])
            found = by_sketches(judged, bands, recipe.rule(), options.cell_rows, count)
            parts.append(found.select("first", "second", f.lit(2).alias("channel")))
        every = reduce(lambda one, other: one.unionByName(other), parts)
        pairs = every.groupBy("first", "second").agg(
            (f.max(f.col("channel") % 2) == 1).alias("by_fingerprint"),
            (f.max("channel") == 2).alias("by_sketch"),
        )
        return texts, chosen, self._work.write(pairs, "candidates")

    def _edges(self, pairs: DataFrame, texts: DataFrame) -> DataFrame:
        """Return all verified edges, after those of this run are written."""
        from pyspark.sql import functions as f

        output = self._output
        rows = output.documents().withColumn("place", f.col("record"))
        # Most candidates of templated pages are ruled out by 256 bytes of each.
        some = self._work.write(likely(pairs, texts, self._recipe), "likely")
        found = self._work.write(verified(some, texts, rows, self._recipe), "edges")
        keys = texts.select("text_id", f.col("holder").alias("record")).join(
            output.documents().select("record", "key"), "record"
        )
        for side in ("first", "second"):
            of_side = keys.select(f.col("text_id").alias(side), f.col("key").alias(f"{side}_key"))
            found = found.join(of_side, side)
        output.add("pairs", found)
        return output.edges()

    def _clusters(self, edges: DataFrame) -> tuple[int, DataFrame]:
        output = self._output
        documents = output.documents()
        orders = self._work.write(order_of_texts(documents, output.texts()), "orders")
        joined = components(edges, Folder(edges.sparkSession, self._work.of("components")),
                            self._options.few_edges)  # fmt: skip
        starred = self._work.write(stars(edges, orders, joined.labels), "stars")
        return joined.rounds, output.add("clusters", clusters(documents, orders, starred, edges))
