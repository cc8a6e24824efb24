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
from simstore.spark.folders import Folder
from simstore.spark.options import DedupOptions
from simstore.spark.output import WORK, Output
from simstore.spark.reading import PLACE, PLACE_BITS, READ_COLUMNS, SPLIT_COLUMNS, Reading
from simstore.spark.session import failures

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
from functools import reduce
from typing import TYPE_CHECKING

from simstore.search.block_keys import block_keys
from simstore.spark.candidates import (
    NearPrints,
    asked_pairs,
    banded,
    groups,
    keyed,
    leader_pairs,
)
from simstore.spark.clusters import stars
from simstore.spark.options import Recipe
from simstore.spark.verifying import likely, outlines, verified

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
from typing import TYPE_CHECKING

from simstore.spark.options import SKETCH_COLUMNS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Sources of the time when a document was first seen, the strongest first.
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


# After so many, all that is left is asked for: texts that are alike in a long row only one by one.
_MOST_ROUNDS = 12
_OF_EDGE = ("first", "second", "resemblance", "distance")


@dataclass(frozen=True, slots=True)
class Found:
    """Edges, stars and counts that a search returns.

    Attributes:
        edges: Verified edges, ``EDGE_COLUMNS``.
        starred: The star of each text that has an edge.
        edge_count: How many edges there are.
        candidate_count: Pairs whose outlines were compared; a pair of two rounds counts twice.
        compared_count: Pairs whose texts were compared, each once.
        keys: How keys were made of fingerprints; None without them.
        rounds: Rounds in which components were found by the cluster; 0: on the driver.
    """

    edges: DataFrame
    starred: DataFrame
    edge_count: int
    candidate_count: int
    compared_count: int
    keys: str | None
    rounds: int


class _Search:
    """The state of one search.

    Args:
        texts: All texts.
        documents: All documents.
        orders: Places of texts in the policy's order.
        recipe: The rule.
        options: How groups are cut.
        work: Where tables are written.
    """

    def __init__(
        self,
        texts: DataFrame,
        documents: DataFrame,
        orders: DataFrame,
        recipe: Recipe,
        options: DedupOptions,
        work: Folder,
    ) -> None:
        self._texts, self._documents, self._orders = texts, documents, orders
        self._recipe, self._options, self._work = recipe, options, work
        self._rule = recipe.rule()
        self._outlines = work.write(outlines(texts, recipe), "outlines")
        self._near: NearPrints | None = None
        self._groups = work.write(groups(self._rows()), "groups")
        self._compared: list[DataFrame] = []
        self._edges: list[DataFrame] = []
        self._edge_count = self._candidate_count = self._compared_count = 0

    def run(self) -> Found:
        """Compare texts with their leaders, then those without an edge, until stars are final."""
        from pyspark.sql import functions as f

        rule, near, cell_rows = self._rule, self._near, self._options.cell_rows
        self._compare(leader_pairs(self._groups, rule, near))
        # A text with an edge to its leader waits: it is likely a member.
        waiting, waiting_count = self._work.write_counted(
            self._every().select(f.col("second").alias("text_id")).distinct(), "waiting-0"
        )
        asked = self._groups.join(waiting, "text_id", "left_anti")
        self._compare(asked_pairs(self._groups, asked, rule, near, cell_rows))
        while True:
            number = len(self._edges)
            every = self._every()
            place = Folder(every.sparkSession, self._work.of(f"components-{number}"))
            rounds, found = stars(
                every, self._edge_count, self._orders, place, self._options.few_edges
            )
            starred = self._work.write(found, f"stars-{number}")
            members = starred.where("text_id != centre").select("text_id")
            if number > _MOST_ROUNDS:
                members = members.limit(0)
            asking = waiting.join(members, "text_id", "left_anti")
            still, still_count = self._work.write_counted(
                waiting.join(members, "text_id", "left_semi"), f"waiting-{number}"
            )
            if still_count == waiting_count:
                break
            asked = self._groups.join(asking, "text_id", "left_semi")
            waiting, waiting_count = still, still_count
            if not self._compare(asked_pairs(self._groups, asked, rule, near, cell_rows)):
                break
        return Found(
            edges=reduce(lambda one, other: one.unionByName(other), self._edges),
            starred=starred,
            edge_count=self._edge_count,
            candidate_count=self._candidate_count,
            compared_count=self._compared_count,
            keys=None if near is None else str(near.keys),
            rounds=rounds,
        )

    def _every(self) -> DataFrame:
        """Return all edges so far, each once."""
        held = (edges.select(*_OF_EDGE) for edges in self._edges)
        return reduce(lambda one, other: one.unionByName(other), held)

    def _rows(self) -> DataFrame:
        """Return the rows of all texts and keys."""
        recipe = self._recipe
        scheme, channels = recipe.open()
        # A text without shingles resembles nothing.
        judged = self._texts.where("shingle_count > 0")
        sketches = recipe.sketches()
        parts = [] if sketches is None else [banded(judged, sketches)]
        if channels.has_fingerprints:
            keys = block_keys(scheme.bits, recipe.radius, judged.count())
            self._near = NearPrints(scheme.bits, recipe.radius, keys)
            parts.append(keyed(judged, self._near))
        return reduce(lambda one, other: one.unionByName(other), parts)

    def _compare(self, pairs: DataFrame) -> int:
        """Compare the pairs that were not compared before; return how many were new edges."""
        number = len(self._edges)
        work = self._work
        written, count = work.write_counted(pairs, f"candidates-{number}")
        self._candidate_count += count
        some = likely(written, self._outlines, self._recipe)
        for before in self._compared:
            some = some.join(before.select("first", "second"), ["first", "second"], "left_anti")
        some, count = work.write_counted(some, f"likely-{number}")
        self._compared.append(some)
        self._compared_count += count
        found = verified(some, count, self._documents, self._recipe)
        edges, count = work.write_counted(found, f"edges-{number}")
        self._edges.append(edges)
        self._edge_count += count
        return count


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
        say("comparing candidates")
        found = _Search(texts, documents, orders, self._recipe, self._options, self._work).run()
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
