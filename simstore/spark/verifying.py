"""Verify candidate pairs of texts: keep those that are similar enough as edges.

Most candidates are ruled out by 64 bytes of each text. What is left travels once a pair: the second
text of a pair to the first, its hub, which is there once.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from simstore.fingerprint.sketching import unpack_sketches
from simstore.search.all_pairs import resemblances
from simstore.search.resemblance import size_ratios
from simstore.spark.candidates import column, distance_of, word_columns
from simstore.spark.options import Recipe, Sketches
from simstore.spark.reading import arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

# Pairs of texts: number of the one and of the other, larger.
EDGE_COLUMNS = (
    "first bigint, second bigint, resemblance double, distance int, by_fingerprint boolean, "
    "by_sketch boolean"
)
# A text as pairs are judged by it before texts travel: this, and four bits of each value of its
# sketch, sixteen values a column.
_OUTLINE = ("text_id", "feature_count", "w0", "w1")
_LOWEST = 0x1111111111111111
# Pairs that are told to all machines, so that documents stay where they are but for those needed.
_TOLD_PAIRS = 500_000


def _nibbles(sketches: Sketches | None) -> tuple[str, ...]:
    """Return the columns of the low bits of sketches."""
    count = 0 if sketches is None else sketches.sketching.values // 16
    return tuple(f"n{number}" for number in range(count))


def _outline_columns(sketches: Sketches | None) -> str:
    return ", ".join(f"{name} bigint" for name in (*_OUTLINE, *_nibbles(sketches)))


@dataclass(frozen=True, slots=True)
class Outline:
    """Makes outlines of texts.

    Attributes:
        sketches: Their sketches; None: there are none.
    """

    sketches: Sketches | None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield outlines."""
        import pyarrow as pa

        schema = arrow_schema(_outline_columns(self.sketches))
        for batch in batches:
            if not batch.num_rows:
                continue
            fields: dict[str, Any] = {
                name: batch.column(batch.schema.names.index(name)) for name in _OUTLINE
            }
            if self.sketches is not None:
                held = batch.column(batch.schema.names.index(self.sketches.column)).to_pylist()
                low = (unpack_sketches(held, self.sketches.sketching) & 15).astype(np.uint8)
                lows = np.ascontiguousarray(low[:, 0::2] | low[:, 1::2] << 4).view(np.int64)
                names = _nibbles(self.sketches)
                fields |= {name: lows[:, place] for place, name in enumerate(names)}
            yield pa.RecordBatch.from_pydict(fields, schema=schema)


def outlines(texts: DataFrame, recipe: Recipe) -> DataFrame:
    """Return the outline of each text.

    Args:
        texts: All texts, with ``text_id``, ``feature_count``, ``w0``, ``w1`` and sketches.
        recipe: The rule.
    """
    sketches = recipe.sketches()
    needed = _OUTLINE if sketches is None else (*_OUTLINE, sketches.column)
    return texts.select(*needed).mapInArrow(Outline(sketches), _outline_columns(sketches))


def likely(pairs: DataFrame, outlined: DataFrame, recipe: Recipe) -> DataFrame:
    """Return the pairs of texts that may have an edge by their outlines; no text travels for it.

    Values of two sketches that are equal have equal low bits, so of no pair too few are counted.

    Args:
        pairs: Distinct: ``first``, ``second``, ``by_sketch``.
        outlined: Of :func:`outlines`.
        recipe: The rule.
    """
    from pyspark.sql import functions as f

    scheme, channels = recipe.open()
    sketches = recipe.sketches()
    nibbles = _nibbles(sketches)
    words = word_columns(scheme.bits) if channels.has_fingerprints else ()
    for side, number in (("a", "first"), ("b", "second")):
        names = {name: f"{side}_{name}" for name in (*_OUTLINE, *nibbles) if name != "text_id"}
        names["text_id"] = number
        pairs = pairs.join(
            outlined.select(*(f.col(name).alias(new) for name, new in names.items())), number
        )
    fewest = 0 if sketches is None else recipe.rule().fewest_equal
    if fewest:
        different = f.lit(0)
        for name in nibbles:
            apart = f.col(f"a_{name}").bitwiseXOR(f.col(f"b_{name}"))
            halves = apart.bitwiseOR(f.shiftrightunsigned(apart, 1))
            whole = halves.bitwiseOR(f.shiftrightunsigned(halves, 2))
            different = different + f.bit_count(whole.bitwiseAND(f.lit(_LOWEST)))
        pairs = pairs.where(different <= 16 * len(nibbles) - fewest)
    distance = distance_of("a_", "b_", words) if words else f.lit(None)
    within = distance <= recipe.radius if words else f.lit(False)
    return pairs.select(
        "first",
        "second",
        "by_sketch",
        within.alias("by_fingerprint"),
        distance.cast("int").alias("distance"),
        f.least("a_feature_count", "b_feature_count").alias("fewest_features"),
    )


@dataclass(frozen=True, slots=True)
class Verify:
    """Compares texts with their hubs, which stand before them.

    Attributes:
        recipe: The rule.
    """

    recipe: Recipe

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the pairs that have an edge."""
        hub = ""
        for batch in batches:
            if batch.num_rows:
                found, hub = self._verified(batch, hub)
                yield found

    def _verified(self, batch: pa.RecordBatch, hub: str) -> tuple[pa.RecordBatch, str]:
        """Return the edges among the rows, and the text of the last hub.

        Args:
            batch: Rows by hub, its own first.
            hub: The text of the last hub before them.
        """
        import pyarrow as pa

        rule = self.recipe.rule()
        plain = batch.column(batch.schema.names.index("text")).to_pylist()
        coded = batch.column(batch.schema.names.index("text_base64")).to_pylist()
        texts = [hub] + [
            text if data is None else _decoded(data)
            for text, data in zip(plain, coded, strict=True)
        ]
        is_member = column(batch, "is_member")
        rows = np.arange(1, batch.num_rows + 1)
        hubs = np.maximum.accumulate(np.where(is_member, 0, rows))
        other, one = rows[is_member], hubs[is_member]
        sets = self.recipe.compared().sketching.sets(texts)
        share = resemblances(sets, one, other)
        sizes = sets.sizes()
        fewest = column(batch, "fewest_features")[is_member].astype(np.int64)
        kept = rule.holds(share, size_ratios(sizes[one], sizes[other]), fewest)
        chosen = pa.array(np.flatnonzero(is_member)[kept])
        fields = {
            name: batch.column(batch.schema.names.index(held)).take(chosen)
            for name, held in (
                ("first", "hub"),
                ("second", "text_id"),
                ("distance", "distance"),
                ("by_fingerprint", "by_fingerprint"),
                ("by_sketch", "by_sketch"),
            )
        }
        found = pa.RecordBatch.from_pydict(
            fields | {"resemblance": share[kept]}, schema=arrow_schema(EDGE_COLUMNS)
        )
        return found, texts[int(hubs[-1])]


def _decoded(data: str) -> str:
    return base64.b64decode(data).decode("utf-8", "surrogateescape")


def verified(pairs: DataFrame, count: int, documents: DataFrame, recipe: Recipe) -> DataFrame:
    """Return the edges among pairs of texts.

    Args:
        pairs: Distinct, of :func:`likely`.
        count: How many there are.
        documents: All documents, with ``record``, ``text``, ``text_base64``.
        recipe: The rule.
    """
    from pyspark.sql import functions as f

    facts = ("by_sketch", "by_fingerprint", "distance", "fewest_features")
    members = pairs.select(
        f.col("first").alias("hub"),
        f.col("second").alias("text_id"),
        f.lit(True).alias("is_member"),
        *facts,
    )
    hubs = pairs.select(f.col("first").alias("hub")).distinct()
    kinds = dict(pairs.dtypes)
    sent = members.unionByName(
        hubs.select(
            "hub",
            f.col("hub").alias("text_id"),
            f.lit(False).alias("is_member"),
            *(f.lit(None).cast(kinds[name]).alias(name) for name in facts),
        )
    )
    texts = documents.select(f.col("record").alias("text_id"), "text", "text_base64")
    met = texts.join(f.broadcast(sent) if count <= _TOLD_PAIRS else sent, "text_id")
    # With a number, or Spark joins partitions by their bytes, and few bytes may be many pairs.
    tasks = int(documents.sparkSession.conf.get("spark.sql.shuffle.partitions") or 200)
    return (
        met.repartition(tasks, "hub")
        .sortWithinPartitions("hub", "is_member")
        .mapInArrow(Verify(recipe), EDGE_COLUMNS)
    )
